"""Finished runs of two sides, opened and paired by seed."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from endotransfer.compare.drawn_figures import DrawnFigures, draw_figures
from endotransfer.compare.image_counts import ImageCounts, check_same_images, counts_of_run
from endotransfer.compare.seed_pairs import SeedRun
from endotransfer.config import Experiment, read_experiment
from endotransfer.errors import ConfigError
from endotransfer.metrics.collapse import collapse
from endotransfer.metrics.image_parts import split_by_kind
from endotransfer.metrics.rates import Matrices
from endotransfer.results import Results


@dataclass(frozen=True)
class OpenedRun:
    path: Path
    results: Results
    drawn: DrawnFigures

    @property
    def seed(self) -> int:
        return self.results.seed

    @property
    def counts(self) -> ImageCounts:
        return self.drawn.counts

    @property
    def measured(self) -> SeedRun:
        return SeedRun(self.seed, {}, self.drawn)

    @property
    def parts(self) -> Matrices:
        """One matrix an image and kind of image: [N, P, K, K]."""
        return split_by_kind(self.counts.matrices, self.counts.lesions)

    @property
    def collapsed(self) -> str | None:
        return collapse(self.counts.matrices.sum(0), self.counts.classes, self.counts.lesions)

    def experiment(self) -> Experiment | None:
        """As it was trained; None where that is not known any more."""
        try:
            return read_experiment(self.path / "config.yaml")
        except ConfigError:
            return None


RunPair = tuple[OpenedRun, OpenedRun]


def open_run(path: Path, resamples: int) -> OpenedRun:
    counts = counts_of_run(path)
    return OpenedRun(path, Results.read(path / "results.json"), draw_figures(counts, resamples))


def pair_by_seed(first: Sequence[OpenedRun], second: Sequence[OpenedRun]) -> list[RunPair]:
    """Runs of equal seeds; a single run of each side is paired whatever their seeds.  All on the same test images."""
    sides = [_by_seed(side) for side in (first, second)]
    pairs = [(run, sides[1][seed]) for seed, run in sides[0].items() if seed in sides[1]]
    if len(first) == len(second) == 1:
        pairs = [(first[0], second[0])]
    if not pairs:
        seeds = " and ".join(", ".join(map(str, side)) for side in sides)
        raise ConfigError(f"the two sides have no seed in common ({seeds}); train both with the same seeds.")
    start = pairs[0][0]
    for run in (run for pair in pairs for run in pair):
        check_same_images(start.counts, run.counts, lambda run=run: f"{start.path} and {run.path}")  # type: ignore[misc]
    return pairs


def _by_seed(side: Sequence[OpenedRun]) -> dict[int, OpenedRun]:
    found: dict[int, OpenedRun] = {}
    for run in side:
        other = found.setdefault(run.seed, run)
        if other is not run:
            raise ConfigError(
                f"{other.path} and {run.path} both have seed {run.seed}; give one run of a seed for each side, "
                "and the other system behind --against."
            )
    return dict(sorted(found.items()))
