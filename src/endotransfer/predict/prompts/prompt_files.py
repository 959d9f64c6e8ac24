"""Where a promptable network lies that was named: a folder, one of its two files, or a repository of a model hub."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from endotransfer.errors import CheckpointError, ConfigError
from endotransfer.paths import AnyPath, as_path
from endotransfer.pretrained.hub_name import HubName, hub_name

PARTS = ("encoder", "decoder")
FIX = "name a folder with an encoder and a decoder of SAM 2, one of these two files, or hf://owner/name"
_PART = re.compile(r"[-_. ]*(?:encoder|decoder)", re.IGNORECASE)


@dataclass(frozen=True)
class PromptFiles:
    """The two graphs of a network, and what it is called."""

    encoder: Path
    decoder: Path
    name: str


def find_prompt_files(named: AnyPath) -> PromptFiles:
    """What `named` means, in this order: a file, a folder, a repository of a hub."""
    path = as_path(named, "the promptable network")
    if path.is_file():
        return _beside(path.parent, path.name, _PART.sub("", path.stem) or path.resolve().parent.name)
    if path.is_dir():
        return _beside(path, None, path.resolve().name)
    hub = hub_name(path)
    if hub is None:
        raise ConfigError(f"there is no {path}; {FIX}.")
    return _of_hub(hub)


def _beside(folder: Path, known: str | None, name: str) -> PromptFiles:
    encoder, decoder = pair_in(str(folder), (one.name for one in folder.glob("*.onnx")), known)
    return PromptFiles(folder / encoder, folder / decoder, name)


def pair_in(place: str, files: Iterable[str], known: str | None = None) -> tuple[str, str]:
    """The encoder and the decoder among `files` of `place`; where there are several pairs, that of the file `known`."""
    graphs = sorted(file for file in files if file.endswith(".onnx"))
    if known is not None:
        return _pair_of(place, graphs, known)
    found = [[file for file in graphs if part in Path(file).name] for part in PARTS]
    for part, ones in zip(PARTS, found, strict=True):
        if len(ones) != 1:
            several = " (the name of one says which pair)" if ones else ""
            counted = f"{len(ones) or 'no'} files called *{part}*.onnx where one is needed{several}"
            raise CheckpointError(f"{place} holds {counted}; {FIX}.")
    return found[0][0], found[1][0]


def _pair_of(place: str, graphs: list[str], known: str) -> tuple[str, str]:
    name = Path(known).name
    part = next((one for one in PARTS if one in name), None)
    if part is None or known not in graphs:
        raise CheckpointError(f"{known} is not called *encoder*.onnx or *decoder*.onnx; {FIX}.")
    other = PARTS[1 - PARTS.index(part)]
    twin = (Path(known).parent / name.replace(part, other)).as_posix()
    beside = [file for file in graphs if other in Path(file).name and Path(file).parent == Path(known).parent]
    if twin not in graphs and len(beside) != 1:
        raise CheckpointError(f"{place} holds no {twin}, which goes with {known}; {FIX}.")
    chosen = {part: known, other: twin if twin in graphs else beside[0]}
    return chosen["encoder"], chosen["decoder"]


def _of_hub(named: HubName) -> PromptFiles:
    from endotransfer.predict.graph_session import LARGEST_GRAPH
    from endotransfer.pretrained.hub_download import Sizes, Wanted, check_sizes, fetch, sizes_in

    def choose(name: str, sizes: Sizes) -> list[str]:
        pair = pair_in(name, sizes, named.file)
        check_sizes(name, sizes, dict.fromkeys(pair, LARGEST_GRAPH))
        return [*pair]

    folder = fetch(named.repository, named.revision, Wanted(("*.onnx",), choose))
    encoder, decoder = pair_in(str(folder), sizes_in(folder), named.file)
    return PromptFiles(folder / encoder, folder / decoder, named.repository)
