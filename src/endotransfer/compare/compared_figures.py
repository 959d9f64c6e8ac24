"""The figures that systems are compared by: those of tables that confusion matrices alone decide."""

from collections.abc import Sequence
from dataclasses import dataclass

from endotransfer.metrics.figure import Figure, figures, leading_first
from endotransfer.metrics.rates import Matrices, Rates
from endotransfer.results import Results


@dataclass(frozen=True)
class ComparedFigure:
    """A figure, or the value of one class of a figure by class."""

    figure: Figure
    place: int | None = None  # of the class

    def __call__(self, parts: Matrices) -> Rates:
        """Of matrices with images kept apart by kind: [..., P, K, K] -> [...]."""
        values = self.figure.of_parts(parts)
        return values if self.place is None else values[..., self.place]

    @property
    def sign(self) -> int:
        """1 where larger is better, else -1."""
        return 1 if self.figure.larger_is_better else -1


def compared_figures(classes: Sequence[str], lesions: bool = True) -> dict[str, ComparedFigure]:
    """By name, means over classes first; the IoU of one class is `iou.NAME`."""
    known = [figure for figure in leading_first(figures(classes)) if figure.compared]
    available = [figure for figure in known if lesions or figure.needs != "lesions"]
    named = {figure.name: ComparedFigure(figure) for figure in available if not figure.by_class}
    for figure in available:
        if figure.by_class:
            named |= {f"{figure.name}.{name}": ComparedFigure(figure, k) for k, name in enumerate(classes)}
    return named


def figures_of(results: Results) -> dict[str, float | None]:
    """The values of one run, in per cent, by the same names."""
    known = [figure for figure in leading_first(figures(results.classes)) if figure.compared]
    named = {figure.name: results.figure(figure.name) for figure in known if not figure.by_class}
    for figure in known:
        by_class = results.figures.get(figure.name)
        if figure.by_class and isinstance(by_class, dict):
            named |= {f"{figure.name}.{name}": results.figure(f"{figure.name}.{name}") for name in by_class}
    return named
