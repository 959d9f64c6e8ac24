"""Images and label files of a published set, found by the names they were published under."""

from collections.abc import Callable, Mapping
from pathlib import Path

from endotransfer.data.folders.faults import Fault, failure
from endotransfer.data.folders.folder_contents import FolderContents, FolderEntry
from endotransfer.data.folders.listing import list_files

Files = dict[str, Path]  # name -> file
SHOWN = 12  # names in a message


def require(root: Path, *folders: str) -> None:
    """Refuse a folder that lacks one of the `folders` of its layout."""
    for folder in folders:
        if not (root / folder).is_dir():
            holds = " and ".join(f"{name}/" for name in folders)
            raise failure("no-folder", root, f"has no folder {folder}/", f"name the folder that holds {holds}")


def find(contents: FolderContents, folder: Path, ending: str) -> Files:
    """The files right inside `folder` whose names end in `ending`, by what stands before it."""
    listing = list_files(folder, contents.path)
    contents.faults += [fault for fault in listing.faults if fault.severity == "error"]
    found = [path for path in listing.files.values() if path.name.endswith(ending)]
    return {path.name.removesuffix(ending): path for path in found}


def pair(
    contents: FolderContents, images: Files, labels: Files, expected: Callable[[str], tuple[Path, Path]],
    cells: Mapping[str, str] | None = None,
) -> None:  # fmt: skip
    """An entry for each name that has both; `expected` says where its image and its label should lie."""
    for place, (have, lack, partner) in enumerate(((labels, images, "label"), (images, labels, "image"))):
        missing = [expected(name)[place] for name in sorted(have.keys() - lack.keys())]
        if missing:
            more = f", and so are {len(missing) - 1} others" if len(missing) > 1 else ""
            what = f"is missing, though its {partner} is there{more}"
            contents.faults.append(Fault("missing-file", str(missing[0]), what, f"add it, or remove the {partner}"))
    both = sorted(images.keys() & labels.keys())
    contents.entries += [FolderEntry(name, images[name], labels[name], dict(cells or {})) for name in both]


def require_images(contents: FolderContents, folder: str) -> None:
    if not contents.entries and not contents.faults:
        what, fix = "holds no image under its published name", "unpack the set again, or name another folder"
        contents.faults.append(Fault("no-images", str(contents.path / folder), what, fix))
