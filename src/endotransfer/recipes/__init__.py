"""Complete experiments that ship with the package: the tables of the paper and the public transfers, one YAML each."""

from pathlib import Path

FOLDER = Path(__file__).parent


def recipe_names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def locate(path: Path | str) -> tuple[Path, Path]:
    """The file that `path` means, and the folder from which its relative paths start.

    A file of the user's comes first, and its paths start from its own folder.  Otherwise `phantom`, `phantom.yaml` and
    `recipes/phantom.yaml` all mean the recipe of that name, whose paths start from the working directory.
    """
    path = Path(path)
    shipped = FOLDER / f"{path.stem}.yaml"
    named = path.parent.name in ("", "recipes") and path.suffix in ("", ".yaml")
    if not path.exists() and named and shipped.is_file():
        return shipped, Path.cwd()
    return path, path.resolve().parent
