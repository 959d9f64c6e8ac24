"""A table of tags, with the images, and perhaps masks, anywhere below its folder."""

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from endotransfer.data.folders.listing import printable
from endotransfer.data.importers.importer import importer
from endotransfer.data.importers.intake import Facts, Intake, say_masks, say_patients
from endotransfer.data.importers.mask_index import MaskIndex, mask_files
from endotransfer.data.importers.patients import patient_by
from endotransfer.data.importers.records import FROM_MASK, Published
from endotransfer.data.importers.tag_table import TagTable, read_tag_table
from endotransfer.data.importers.tag_words import TagWords, finding_of, same_word, tag_words
from endotransfer.data.importers.tree import Tree, walk
from endotransfer.errors import DataError

Row = tuple[int, Mapping[str, str]]


@importer(
    "table",
    summary="your own images, with tags in a CSV file of any make",
    url="docs/data-sets.md",
    terms="your own",
    cite="your own",
    takes_file=True,
)
def table(
    source: Path,
    images: str = "",
    masks: str = "",
    image: str = "",
    label: str = "",
    lesion: str = "",
    normal: str = "",
    patient: str = "",
    patient_pattern: str = "",
    suffix: str = "",
    separator: str = "",
    frames: str = "1",
) -> Published:
    """`images`: the folder of the images (default: that of the table); `masks`: of masks (default: any called so).
    `image`, `label`, `patient`: columns of file names, tags and patients (default: usual names, in any language).
    `lesion`, `normal`: words of the column `label`, separated by commas (0/1, yes/no, ja/nein are known).
    `patient_pattern`: finds the patient in a path, as in '(P[0-9]+)_'; without it the sub-folder, if no column does.
    `suffix`: what a mask's name has after its image's.  `separator`: of the table (default: found out).
    `frames`: of a video, how many a second, or `change`: one whenever the view has changed.
    """
    content = read_tag_table(source, separator)
    columns = content.image_column(image), content.label_column(label), content.patient_column(patient)
    tree = walk(_folder(source, images), source.parent, used=(source,))
    own = _folder(source, masks) if masks else None
    drawn = {file for file in tree.files if file.is_relative_to(own)} if own else mask_files(tree, suffix)
    pictures = [file for file in tree.files if file not in drawn]
    published = Published(skipped=[*content.left, *tree.left], guesses=content.guesses, base=source.parent)
    rows = _rows_by_file(content, columns[0], columns[2], tree, pictures, published)
    words = tag_words(lesion, normal)
    by_path = patient_by(patient_pattern, rows)

    def facts(relative: Path) -> Facts:
        _, cells = rows[relative]
        found = by_path(relative) if patient_pattern or not columns[2] else cells.get(columns[2], "")
        return _facts(cells.get(columns[1], ""), words, found, cells.get("split", ""))

    index = MaskIndex(((tree.relative(file), file) for file in tree.files if file in drawn), suffix)
    Intake(published, tree, index, facts, frames=frames).add([f for f in pictures if tree.relative(f) in rows])
    say_masks(published, index, tree)
    if patient_pattern or not columns[2]:
        say_patients(published, f"the pattern {patient_pattern}" if patient_pattern else "the sub-folder")
    published.guesses += words.guesses()
    return published


def _facts(cell: str, words: TagWords, patient: str, split: str) -> Facts:
    return Facts(words.tag(cell) or FROM_MASK, finding_of(cell), patient, split)


def _folder(source: Path, name: str) -> Path:
    folder = source.parent / name
    if not folder.is_dir():
        raise DataError(f"there is no folder {folder}; name one that is seen from the folder of {source.name}.")
    return folder


def _rows_by_file(
    content: TagTable, column: str, patient: str, tree: Tree, pictures: list[Path], published: Published
) -> dict[Path, Row]:
    """Path below the root -> its row.  Rows without a file, and files without a row, are named."""
    places: defaultdict[str, list[Path]] = defaultdict(list)
    for file in pictures:
        for name in _spellings(tree.relative(file)):
            places[name].append(tree.relative(file))
    folders = {same_word(part) for file in pictures for part in tree.relative(file).parent.parts}
    rows: dict[Path, Row] = {}
    contradicted: set[Path] = set()
    for line, cells in content.rows:
        where = f"{content.path.name}, line {line}"
        owner = same_word(cells.get(patient, ""))
        found = _find(cells.get(column, ""), owner if owner in folders else "", places)
        if isinstance(found, str):
            published.skipped.append(f"{where}: {found}")
        elif found in rows and rows[found][1] != cells:
            contradicted.add(found)
            published.skipped.append(f"{where}: names {found.name}, as line {rows[found][0]} does, and says otherwise")
        else:
            rows[found] = (line, cells)
    for file in pictures:
        if tree.relative(file) in contradicted:
            published.skipped.append(f"{tree.shown(file)}: two lines of the table contradict each other")
            del rows[tree.relative(file)]
        elif tree.relative(file) not in rows:
            published.skipped.append(f"{tree.shown(file)}: has no line in {content.path.name}")
    return rows


def _spellings(relative: Path) -> set[str]:
    """Every way to write a file: with or without ending, and with as many of its folders as one likes."""
    parts = [same_word(part) for part in relative.parts]
    tails = ["/".join(parts[start:]) for start in range(len(parts))]
    return {*tails, *(tail.removesuffix(same_word(relative.suffix)) for tail in tails)}


def _find(cell: str, owner: str, places: Mapping[str, list[Path]]) -> Path | str:
    """The file that a cell means, or why there is none.  `owner`: the patient, where a folder is called so."""
    if not cell:
        return "names no image"
    written = PurePosixPath(same_word(cell).replace("\\", "/"))
    for name in (written.as_posix(), written.with_suffix("").as_posix(), written.name, written.stem):
        found = places.get(name, [])
        fitting = [path for path in found if owner in map(same_word, path.parts)] if owner else found
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            return f"names '{printable(cell)}', and {len(found)} files are called so; write the sub-folder too"
        if found:
            return f"names '{printable(cell)}', which does not lie in the folder of its patient"
    return f"names '{printable(cell)}', and there is no such file"
