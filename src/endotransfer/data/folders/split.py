"""Split a folder into train and test without separating patients or near-duplicate frames."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from endotransfer.data.folders.faults import failure
from endotransfer.data.folders.folder_contents import FolderContents, FolderEntry
from endotransfer.data.folders.group_columns import unknown_patients, with_group
from endotransfer.data.folders.labels_csv import FILE, write_labels
from endotransfer.data.folders.read_folder import read_contents
from endotransfer.data.inspect.prints import components, similar, take_prints
from endotransfer.data.pipeline.threads import in_threads
from endotransfer.data.read.read_image import read_image
from endotransfer.errors import ConfigError, DataError
from endotransfer.io import write_atomically

TRAIN, TEST = "train", "test"
Counts = dict[str, dict[str, int]]


def split_folder(
    path: Path, test_share: float = 1 / 3, seed: int = 0, force: bool = False, group: str | None = None,
    say: Callable[[str], None] | None = None,
) -> Counts:  # fmt: skip
    """Write the columns `split` and `cluster` of `labels.csv`; returns images, groups and tags of each part.

    An existing split is only replaced with `force`; a copy of the old table stays beside it.  `group`: a column whose
    equal values stay together, and which stands for the patient where none is known.  `say` is told what to mind.
    """
    if not 0 < test_share < 1:
        raise ConfigError(f"the test share is {test_share}, but must lie between 0 and 1; write for example 0.33.")
    contents = read_contents(path, "native")
    entries, table = contents.entries, path / FILE
    columns = contents.columns or ["image"]
    if group is not None:
        entries = with_group(entries, columns, group, table)
        columns = columns if "patient" in columns else [*columns, "patient"]
    if any(entry.cell("split") for entry in entries) and not force:
        raise failure("split-exists", table, "already has a split", "add --force to replace it (a copy is kept)")
    clusters = _clusters(entries)
    groups = _tied(entries, clusters, ("patient", "sequence", *([group] if group else [])))
    if groups.max() == 0:
        what = "cannot be divided: all images belong to one patient or are near-duplicates"
        raise failure("one-group", path, what, "add images of other patients")
    tags = [entry.cell("label") or "unknown" for entry in entries]
    in_test = choose_test(groups, tags, test_share, seed)
    _write(table, columns, entries, clusters, in_test)
    if say is not None:
        for sentence in _to_mind(contents, entries):
            say(sentence)
    return _counts(groups, tags, in_test)


def _to_mind(contents: FolderContents, entries: Sequence[FolderEntry]) -> list[str]:
    """Which column was taken for the patient; that none is known."""
    found = [note.what for note in contents.notes if note.code == "group-column"]
    unknown = unknown_patients(entries)
    return [*found, unknown] if unknown else found


def choose_test(groups: NDArray[np.intp], tags: Sequence[str], test_share: float, seed: int) -> NDArray[np.bool_]:
    """Which images [N] go to test: whole groups, as near to `test_share` of each tag as they allow.

    Greedy, largest groups first: each goes to the part that lacks, relative to its size, most of the group's tags.
    """
    kinds = {tag: column for column, tag in enumerate(sorted(set(tags)))}
    content = np.zeros((groups.max() + 1, len(kinds)))
    np.add.at(content, (groups, np.array([kinds[tag] for tag in tags])), 1)
    wanted = np.array([[1 - test_share], [test_share]]) * content.sum(axis=0)  # [train and test, tags]
    lacking, chosen = wanted.copy(), np.zeros(len(content), bool)
    order = np.random.default_rng(seed).permutation(len(content))
    for group in order[np.argsort(-content[order].sum(axis=1), kind="stable")]:
        need = (lacking / wanted) @ content[group]
        # The first group of all meets two parts that lack everything; the larger part takes it.
        part = int(np.argmax(need)) if not np.isclose(*need) else int(test_share > 0.5)
        lacking[part] -= content[group]
        chosen[group] = part == 1
    if chosen.all() or not chosen.any():  # so few groups that one part stayed empty: give it the smallest
        smallest = order[np.argmin(content[order].sum(axis=1))]
        chosen[smallest] = not chosen[smallest]
    return chosen[groups]


def _clusters(entries: Sequence[FolderEntry]) -> NDArray[np.intp]:
    """Number of each image's cluster: near-duplicates, and what the table already called a cluster."""
    prints = in_threads(lambda entry: take_prints(read_image(entry.image)), entries)
    return components(len(entries), np.concatenate([similar(prints), _ties(entries, "cluster")]))


def _tied(entries: Sequence[FolderEntry], clusters: NDArray[np.intp], columns: Sequence[str]) -> NDArray[np.intp]:
    """Clusters joined through equal values in `columns` (patients, sequences): groups that must not be split."""
    _, first = np.unique(clusters, return_index=True)
    together = np.stack([first[clusters], np.arange(len(entries))], axis=1)
    return components(len(entries), np.concatenate([together, *(_ties(entries, column) for column in columns)]))


def _ties(entries: Sequence[FolderEntry], column: str) -> NDArray[np.intp]:
    """Pairs [P, 2] of images with the same text in `column`: each with the first of its kind."""
    first: dict[str, int] = {}
    pairs = [(first.setdefault(entry.cell(column), i), i) for i, entry in enumerate(entries) if entry.cell(column)]
    return np.array(pairs, np.intp).reshape(-1, 2)


def _write(
    table: Path,
    columns: list[str],
    entries: Sequence[FolderEntry],
    clusters: NDArray[np.intp],
    in_test: NDArray[np.bool_],
) -> None:
    if table.exists():
        write_atomically(_free_name(table), table.read_bytes(), DataError)
    columns = columns + [column for column in ("split", "cluster") if column not in columns]
    rows = [
        {"image": entry.name, **entry.cells, "split": TEST if test else TRAIN, "cluster": str(cluster)}
        for entry, cluster, test in zip(entries, clusters, in_test, strict=True)
    ]
    write_labels(table, columns, rows)


def _free_name(table: Path) -> Path:
    """labels.csv.bak, or the next number that nobody uses: an older copy is never overwritten."""
    name, number = table.with_name(f"{table.name}.bak"), 2
    while name.exists():
        name, number = table.with_name(f"{table.name}.bak{number}"), number + 1
    return name


def _counts(groups: NDArray[np.intp], tags: Sequence[str], in_test: NDArray[np.bool_]) -> Counts:
    counts: Counts = {}
    for part, members in ((TRAIN, np.flatnonzero(~in_test).tolist()), (TEST, np.flatnonzero(in_test).tolist())):
        by_tag = Counter(tags[i] for i in members)
        counts[part] = {"images": len(members), "groups": len(set(groups[members])), **dict(sorted(by_tag.items()))}
    return counts
