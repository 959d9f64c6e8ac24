"""What a bootstrap draws as one, in words: patients, sequences, clusters of near-duplicates, or single images."""

from collections.abc import Iterable, Mapping

from endotransfer.samples import group_kind

GroupKinds = dict[str, dict[str, int]]  # test set (its folder) -> kind -> number of groups
WORDS = {
    "patient": "patient", "sequence": "sequence", "cluster": "near-duplicate cluster", "image": "single image",
    "group": "group of unknown kind",
}  # fmt: skip


def count_kinds(groups: Iterable[tuple[str, str]]) -> GroupKinds:
    """From (key, group) of every image: how many groups of which kind each test set has."""
    members: dict[str, dict[str, set[str]]] = {}
    for key, group in groups:
        of_set = members.setdefault(key.rpartition("/")[0], {})
        of_set.setdefault(group_kind(group, key), set()).add(group or key)
    return {name: {kind: len(some) for kind, some in kinds.items()} for name, kinds in members.items()}


def describe_groups(kinds: Mapping[str, Mapping[str, int]]) -> str:
    """`12 patients (ours), 40 near-duplicate clusters (polypgen); patients are not known everywhere`."""
    parts = [
        f"{count} {_plural(WORDS[kind], count)}{f' ({name})' if name else ''}"
        for name, of_set in kinds.items()
        for kind, count in of_set.items()
    ]
    everywhere = {kind for of_set in kinds.values() for kind in of_set}
    if everywhere <= {"patient", "group"}:
        return ", ".join(parts)
    unknown = "patients are not known everywhere" if "patient" in everywhere else "patients are not known"
    return f"{', '.join(parts)}; {unknown}"


def _plural(word: str, count: int) -> str:
    first, space, rest = word.partition(" of ")
    return word if count == 1 else f"{first}s{space}{rest}"
