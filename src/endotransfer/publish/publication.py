"""What its author says of a model that is published."""

from dataclasses import dataclass
from pathlib import Path

from endotransfer.errors import CheckpointError, ConfigError
from endotransfer.io import read_bounded

LARGEST_PICTURE = 2**20  # bytes


@dataclass(frozen=True)
class Publication:
    """Everything but the model itself; what is left out is left unsaid."""

    title: str = ""
    terms: str = "unknown"  # under which others may use it, as hubs abbreviate licences
    datasets: tuple[str, ...] = ()  # that it was trained on
    about: Path | None = None  # Markdown for the card: authors, attribution, limits
    results: tuple[Path, ...] = ()  # files that `evaluate --out` wrote; none: the run's own
    pictures: tuple[Path, ...] = ()  # PNG files for the card
    half: bool = False  # weights in half precision
    graph: bool = False  # an ONNX graph beside the weights
    to: str | None = None  # `owner/name` of a repository

    def about_text(self) -> str:
        return "" if self.about is None else self._bytes_of(self.about, "--about").decode("utf-8", errors="replace")

    def picture_bytes(self, path: Path) -> bytes:
        content = self._bytes_of(path, "--picture")
        if not content.startswith(b"\x89PNG"):
            raise ConfigError(f"{path} is no PNG; give --picture a PNG file.")
        return content

    @staticmethod
    def _bytes_of(path: Path, option: str) -> bytes:
        try:
            return read_bounded(path, CheckpointError, "give a smaller file", LARGEST_PICTURE)
        except FileNotFoundError:
            raise ConfigError(f"there is no {path}; check {option}.") from None
