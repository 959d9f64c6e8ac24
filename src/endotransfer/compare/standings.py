"""Who is best in each figure, and who cannot be told apart from the best: what the marks of a table say."""

from collections.abc import Sequence

from endotransfer.compare.decision import FEWEST_SEEDS, told_apart
from endotransfer.compare.label_summary import FigureDifference, Standing
from endotransfer.compare.seed_pairs import MeasuredRow, SeedPairs

PLACES = (1, 2)  # best, runner-up
Signs = dict[str, int]  # figure -> 1 where larger is better, else -1


def standings(rows: Sequence[MeasuredRow], signs: Signs) -> dict[str, dict[str, Standing]]:
    """Label -> figure -> where the row stands among those that are ranked and have at least two seeds.

    The leader of a figure has the best mean.  It shares its place with every row that is not told apart from it, and
    with one that is told apart to its own favour (over fewer seeds, say).  Among the others the same is done for the
    second place.  A place that all would share is nobody's.
    """

    found: dict[str, dict[str, Standing]] = {row.label: {} for row in rows}
    pairs = RowPairing(rows)
    for name, sign in signs.items():
        means = {
            n: sign * mean
            for n, row in enumerate(rows)
            if row.ranked and len(row.runs) >= FEWEST_SEEDS and (mean := row.mean(name)) is not None
        }
        if len(means) < 2:
            continue
        leader = max(means, key=means.__getitem__)
        places = _places(means, pairs, name, sign)
        for n in means:
            behind = FigureDifference(mean=0.0) if n == leader else pairs.of(n, leader).estimate(name)
            found[rows[n].label][name] = Standing(
                place=places.get(n), leader=rows[leader].label, mean=behind.mean, interval=behind.interval
            )
    return found


class RowPairing:
    """Rows by number, each two paired once for all figures."""

    def __init__(self, rows: Sequence[MeasuredRow]) -> None:
        self._rows = rows
        self._known: dict[tuple[int, int], SeedPairs] = {}

    def of(self, one: int, other: int) -> SeedPairs:
        if (one, other) not in self._known:
            self._known[one, other] = SeedPairs.of_rows(self._rows[one], self._rows[other])
        return self._known[one, other]

    def is_behind(self, one: int, other: int, name: str, sign: int) -> bool:
        pairs = self.of(one, other)
        found = pairs.estimate(name)
        return found.mean is not None and sign * found.mean < 0 and told_apart(found.interval, pairs.basis)


def _places(means: dict[int, float], pairs: RowPairing, name: str, sign: int) -> dict[int, int]:
    """Row -> 1 or 2; rows without a place are left out."""
    places: dict[int, int] = {}
    rest = list(means)
    for place in PLACES:
        if not rest:
            break
        leader = max(rest, key=means.__getitem__)
        together = [n for n in rest if n == leader or not pairs.is_behind(n, leader, name, sign)]
        if len(together) < len(rest) or (place > 1 and len(rest) == 1):
            places |= dict.fromkeys(together, place)
        rest = [n for n in rest if n not in together]
    return places
