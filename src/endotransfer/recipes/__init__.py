"""Complete experiments that ship with the package: the paper's tables and every public transfer, one YAML each."""

from pathlib import Path

FOLDER = Path(__file__).parent


def recipe_names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def recipe_summaries() -> dict[str, str]:
    """Name -> the first line of the recipe's comment."""
    first = {name: (FOLDER / f"{name}.yaml").read_text(encoding="utf-8").partition("\n")[0] for name in recipe_names()}
    return {name: line.removeprefix("#").strip() for name, line in first.items()}


def locate(path: Path | str) -> tuple[Path, Path]:
    """The file that `path` means, and the folder from which its relative paths start.

    A file of the user's comes first, and its paths start from its own folder.  Otherwise `phantom`, `phantom.yaml` and
    `recipes/phantom.yaml` all mean the recipe of that name, whose paths start from the working directory.
    """
    path = Path(path)
    shipped = FOLDER / f"{path.stem}.yaml"
    named = path.parent.name in ("", "recipes") and path.suffix in ("", ".yaml")
    if not path.is_file() and named and shipped.is_file():  # a folder of that name may hold the data
        return shipped, Path.cwd()
    return path, path.resolve().parent
