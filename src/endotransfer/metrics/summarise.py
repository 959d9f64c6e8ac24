"""From scored images to every registered figure, with bootstrap intervals."""

from collections.abc import Iterable

from endotransfer.metrics import rates
from endotransfer.metrics.bootstrap import percentiles, resampled_sums
from endotransfer.metrics.figure import Figure, FigureValue, Scalar, figures, leading_first
from endotransfer.metrics.group_kinds import count_kinds
from endotransfer.metrics.percent import percents
from endotransfer.metrics.scored_images import ScoredImages
from endotransfer.metrics.summary import Ends, Intervals, Summary


def summarise(scores: ScoredImages, resamples: int, seed: int, level: float) -> Summary:
    known = figures(scores.classes)
    # A finding that means "nothing here" has no lesion pixel, so its IoU of the lesion is 0 or does not exist.
    of_finding = [figure for figure in known if figure.by_finding]
    return Summary(
        images=len(scores.images),
        unlabelled_images=len(scores.images) - len(scores.labelled),
        figures=values_of(known, scores),
        by_finding={
            finding: Summary(images=len(some.images), figures=values_of(of_finding, some))
            for finding, some in scores.by_finding().items()
        },
        intervals=intervals_of(known, scores, resamples, seed, level),
    )


def values_of(wanted: Iterable[Figure], scores: ScoredImages) -> dict[str, FigureValue]:
    """By key, those of a section under its name.  A section without an available figure is None."""
    values: dict[str, FigureValue] = {}
    for figure in wanted:
        if not figure.section:
            values[figure.key] = figure.value(scores)
        elif figure.available(scores):
            values[figure.section] = {**_section(values, figure), figure.key: _scalar(figure.value(scores))}
        else:
            values.setdefault(figure.section, None)
    return values


def intervals_of(known: Iterable[Figure], scores: ScoredImages, resamples: int, seed: int, level: float) -> Intervals:
    groups = [image.resampled_with for image in scores.labelled]
    sums = resampled_sums(scores.parts, groups, resamples, seed)  # [R, P, K, K]
    ends: dict[str, Ends | dict[str, Ends | None] | None] = {}
    for figure in leading_first(figure for figure in known if figure.interval):
        if not figure.available(scores):
            ends[figure.name] = None
            continue
        drawn = figure.of_parts(sums)
        if figure.by_class:
            ends[figure.name] = {name: _ends(drawn[..., k], level) for k, name in enumerate(scores.classes)}
        else:
            ends[figure.name] = _ends(drawn, level)
    kinds = count_kinds((image.key, image.group) for image in scores.labelled)
    return Intervals(
        level=100.0 * level, resamples=resamples, groups=len(set(groups)), group_kinds=kinds, ends=ends
    )  # fmt: skip


def _ends(drawn: rates.Rates, level: float) -> Ends | None:
    found = percents(percentiles(drawn, level))
    return None if found is None else (found[0], found[1])


def _section(values: dict[str, FigureValue], figure: Figure) -> dict[str, Scalar]:
    found = values.get(figure.section)
    return found if isinstance(found, dict) else {}


def _scalar(value: FigureValue) -> Scalar:
    assert not isinstance(value, list | dict)
    return value
