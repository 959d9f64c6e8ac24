"""What an export wrote, and what it left out with the reason."""

from dataclasses import dataclass, field


@dataclass
class ExportReport:
    """`left_out`: name -> reason.  `notes`: sentences about the export as a whole."""

    form: str
    images: int = 0
    left_out: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        count = f"{self.images} reviewed image{'' if self.images == 1 else 's'}"
        left = [f"- {name}: {reason}" for name, reason in self.left_out.items()]
        parts = [f"{count} exported as {self.form}", *(f"note: {note}" for note in self.notes)]
        return "\n".join([*parts, *([f"left out: {len(left)}", *left] if left else [])])
