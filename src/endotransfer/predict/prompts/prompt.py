"""What a person says of an image by pointing at it."""

from dataclasses import dataclass

Box = tuple[float, float, float, float]  # left, top, right, bottom, in pixels


@dataclass(frozen=True)
class Point:
    """A pixel that belongs to the lesion, or one that does not; the centre of the first pixel is (0, 0)."""

    x: float
    y: float
    positive: bool = True


@dataclass(frozen=True)
class Prompt:
    """Points in the order in which they were set, and a box around the lesion."""

    points: tuple[Point, ...] = ()
    box: Box | None = None

    @property
    def empty(self) -> bool:
        """Nothing says where the lesion is."""
        return self.box is None and not any(point.positive for point in self.points)

    def before(self) -> "Prompt":
        """The same without the last point; without points, nothing."""
        return Prompt(self.points[:-1], self.box if self.points else None)
