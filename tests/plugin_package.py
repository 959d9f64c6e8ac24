"""A package that was pip-installed, as importlib.metadata sees it: a module and a folder with entry points."""

from pathlib import Path


def install(site: Path, name: str, module: str, entry_points: str) -> None:
    """Put the distribution `name` with the module `name` (its code: `module`) into the folder `site`."""
    info = site / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_points)
    (site / f"{name}.py").write_text(module)
