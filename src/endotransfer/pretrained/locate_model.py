"""Where a model lies that was named: a folder, a model that ships with the package, or a repository of a model hub."""

import re
import sys
from pathlib import Path

from endotransfer.errors import CheckpointError
from endotransfer.paths import AnyPath, as_path
from endotransfer.pretrained.hub_name import HubName, hub_name
from endotransfer.pretrained.shipped_models import FOLDER, shipped_names
from endotransfer.registry import nearest

_SHIPPED = re.compile(r"shipped:/{0,3}(.*)")


def locate_model(named: AnyPath, what: str = "the model") -> Path:
    """The folder that `named` means, in this order: a folder, a shipped model, a repository of a hub.

    `shipped:NAME` and `hf://OWNER/NAME@REVISION` leave no doubt.  A folder that hides a shipped model is said.
    """
    path = as_path(named, what)
    text = path.as_posix()
    if found := _SHIPPED.fullmatch(text):
        return _shipped(found[1])
    if (hub := hub_name(path)) is not None:
        return _of_hub(hub)
    if path.exists():
        if text in shipped_names():
            print(f"note: {text} is the folder {path.resolve()}; `shipped:{text}` is the model of that name.",
                  file=sys.stderr)  # fmt: skip
        return path
    if text in shipped_names():
        return FOLDER / text
    raise CheckpointError(
        f"there is no {path}: no run, model folder or bundle, and no model that is shipped; {_known(text)}"
    )


def shown_name(folder: Path) -> str:
    """What a model is called that lies in `folder`: a hub's cache names folders by commits."""
    folder = folder.resolve()
    repository = folder.parents[1].name if len(folder.parents) > 1 and folder.parent.name == "snapshots" else ""
    if repository.startswith("models--"):
        return repository.removeprefix("models--").replace("--", "/")
    return folder.name


def _shipped(name: str) -> Path:
    if name not in shipped_names():
        raise CheckpointError(f"no model called '{name[:100]}' is shipped; {_known(name)}")
    return FOLDER / name


def _of_hub(named: HubName) -> Path:
    if named.file is not None:
        raise CheckpointError(
            f"{named.repository}/{named.file} is a file of a hub; a model is all of hf://{named.repository}."
        )
    from endotransfer.pretrained.hub_download import fetch_model

    return fetch_model(named.repository, named.revision)


def _known(name: str) -> str:
    shipped = nearest(name[:100], shipped_names()) if shipped_names() else "none is shipped."
    return f"{shipped} A model of a hub is hf://owner/name."
