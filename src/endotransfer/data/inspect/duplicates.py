"""Duplicate images: harmless within a split, a leak across splits."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from typing import TypedDict

from endotransfer.data.folders.faults import Fault, Severity
from endotransfer.data.folders.folder_contents import FolderEntry
from endotransfer.data.inspect.image_survey import Reading
from endotransfer.data.inspect.prints import components, similar
from endotransfer.samples import GROUPINGS

_AGAIN = "make the parts again with `endotransfer data split --force`"
Group = list[FolderEntry]


class DuplicateCounts(TypedDict):
    """Groups of equal (exact) and of similar (near) images, the images in them, and the groups across splits."""

    exact_groups: int
    exact_images: int
    exact_across_splits: int
    near_groups: int
    near_images: int
    near_across_splits: int


def find_duplicates(readings: Sequence[Reading]) -> tuple[DuplicateCounts, list[Fault]]:
    """Counts for the fingerprint, and a fault for each group that matters."""
    seen = [reading for reading in readings if reading.prints is not None]
    prints = [reading.prints for reading in seen if reading.prints is not None]
    near_label = components(len(seen), similar(prints))
    exact = _grouped(zip((one.digest for one in prints), (reading.entry for reading in seen), strict=True))
    near = _grouped(zip(near_label.tolist(), (reading.entry for reading in seen), strict=True))
    exact_members = {frozenset(entry.name for entry in group) for group in exact}
    only_near = [group for group in near if frozenset(entry.name for entry in group) not in exact_members]
    numbers: DuplicateCounts = {
        "exact_groups": len(exact),
        "exact_images": sum(map(len, exact)),
        "exact_across_splits": sum(len(_splits(group)) > 1 for group in exact),
        "near_groups": len(near),
        "near_images": sum(map(len, near)),
        "near_across_splits": sum(len(_splits(group)) > 1 for group in near),
    }
    faults = [fault for group in exact for fault in _exact_faults(group)]
    return numbers, faults + [_near_fault(group) for group in only_near if len(_splits(group)) > 1]


def split_groups(entries: Sequence[FolderEntry], column: str | None = None) -> list[Fault]:
    """Patients, sequences, clusters and values of `column` that stand in more than one split; of a sequence
    that is a warning, since some published sets divide them so."""
    faults = []
    for kind in dict.fromkeys([*GROUPINGS, *([column] if column else [])]):
        named = ((entry.cell(kind), entry) for entry in entries if entry.cell(kind))
        for group in _grouped(named):
            if len(splits := _splits(group)) > 1:
                what = f"puts the {kind} '{group[0].cell(kind)}' into {' and '.join(splits)}"
                severity: Severity = "warning" if kind == "sequence" else "error"
                faults.append(Fault("group-across-splits", "labels.csv", what, _AGAIN, severity))
    return faults


def _grouped(members: Iterable[tuple[Hashable, FolderEntry]]) -> list[Group]:
    """Groups of two and more."""
    groups: dict[Hashable, Group] = defaultdict(list)
    for key, entry in members:
        groups[key].append(entry)
    return [group for group in groups.values() if len(group) > 1]


def _splits(group: Group) -> list[str]:
    return sorted({entry.cell("split") for entry in group} - {""})


def _exact_faults(group: Group) -> list[Fault]:
    first, others = str(group[0].image), _spell(group)
    faults = []
    if len({entry.cell("label") for entry in group} - {""}) > 1:
        what = f"has the same pixels as {others}, but another label"
        faults.append(Fault("duplicate-label", first, what, "decide which label is right, and keep one image"))
    if len(splits := _splits(group)) > 1:
        what = f"has the same pixels as {others}, in the splits {' and '.join(splits)}"
        faults.append(Fault("duplicate-across-splits", first, what, f"remove one, or {_AGAIN}"))
    elif not faults:
        patients = sorted({entry.cell("patient") for entry in group} - {""})
        whose = f", but belongs to another patient ({', '.join(patients[:3])})" if len(patients) > 1 else ""
        fix = "find out whose it is, and keep one of them" if whose else "keep one of them"
        faults.append(Fault("duplicate", first, f"has the same pixels as {others}{whose}", fix, "warning"))
    return faults


def _near_fault(group: Group) -> Fault:
    what = f"looks like {_spell(group)}, in the splits {' and '.join(_splits(group))}"
    return Fault("near-duplicate-across-splits", str(group[0].image), what, _AGAIN, "warning")


def _spell(group: Group) -> str:
    named = ", ".join(entry.image.name for entry in group[1:4])
    return named + (f" and {len(group) - 4} more" if len(group) > 4 else "")
