"""When a difference may be called one: enough seeds, enough groups of test images, and an interval without 0."""

from collections.abc import Sequence

from endotransfer.compare.label_summary import IntervalBasis
from endotransfer.metrics.group_kinds import describe_groups
from endotransfer.metrics.summary import Ends

FEWEST_SEEDS = 2
FEWEST_GROUPS = 10  # below, a bootstrap over groups says little: its intervals are too narrow
ONE_SEED = "seeds not resampled: one seed"


def told_apart(interval: Ends | None, basis: IntervalBasis) -> bool:
    """Whether the two systems differ, as far as seeds and test images can tell."""
    return interval is not None and not contains_zero(interval) and not shortcomings(basis)


def contains_zero(interval: Ends) -> bool:
    return interval[0] <= 0 <= interval[1]


def shortcomings(basis: IntervalBasis) -> list[str]:
    """Why no interval on this basis could call one of two systems better."""
    found = []
    if len(basis.seeds) < FEWEST_SEEDS:
        found.append("one seed each, and other seeds may differ" if basis.seeds else "no seed in common")
    elif basis.over == "images":
        found.append("the interval was drawn over test images alone, not over seeds")
    if basis.groups is not None and basis.groups < 2:
        found.append(f"the test images are one group ({describe_groups(basis.group_kinds) or 'of unknown kind'})")
    elif basis.groups is not None and basis.groups < FEWEST_GROUPS:
        found.append(f"the interval rests on {basis.groups} groups of test images only")
    return found


def conclusion(names: Sequence[str], gain: float | None, interval: Ends | None, basis: IntervalBasis) -> str:
    """One sentence on two systems; `gain`: how much better the first is, so that more is better in any figure."""
    if gain is None:
        return "The figure does not exist for both, so nothing can be said."
    short = shortcomings(basis)
    doubt = f" ({'; '.join(short)})" if short else ""
    if interval is None:
        return f"Not told apart: there is no interval{doubt}."
    if contains_zero(interval):
        return f"Not told apart: the interval contains 0{doubt}."
    ahead = names[0] if gain > 0 else names[1]
    if not short:
        return f"{ahead[:1].upper()}{ahead[1:]} is better, over {len(basis.seeds)} seeds and {_groups(basis)}."
    if len(basis.seeds) == 1 and len(short) == 1:
        return f"Of these two trained models {ahead} is ahead; neither system is called better{doubt}."
    return f"No winner is called{doubt}."


def _groups(basis: IntervalBasis) -> str:
    return "no known groups of test images" if basis.groups is None else f"{basis.groups} groups of test images"
