"""Dependencies stay above the versions whose advisories concern what we do with them."""

import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
FLOORS = {
    "pillow": "12.3",  # a gzip bomb in FITS, loops in EPS, reads beyond the file
    "pydicom": "3.0.2",  # DICOMDIR that leads out of its folder
    "python-multipart": "0.0.27",  # files written anywhere, endless parts
    "starlette": "1.0",  # unlimited parts, an upload that blocks everybody
    "torch": "2.10",  # code run by loading weights; we load none of its files, others in the process may
}


def declared() -> dict[str, Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = [*project["dependencies"], *(line for extra in project["optional-dependencies"].values() for line in extra)]
    return {canonicalize_name(requirement.name): requirement for requirement in map(Requirement, lines)}


def pinned() -> dict[str, Version]:
    lines = (ROOT / "constraints.txt").read_text().split()
    return {canonicalize_name(name): Version(number) for name, number in (line.split("==") for line in lines)}


@pytest.mark.parametrize("name", FLOORS)
def test_no_version_with_a_known_hole_fits(name: str) -> None:
    floor = Version(FLOORS[name])
    (bound,) = [one for one in declared()[name].specifier if one.operator == ">="]
    assert Version(bound.version) >= floor
    assert pinned()[name] >= floor
    try:
        assert Version(version(name)) >= floor
    except PackageNotFoundError:
        pytest.skip(f"{name} is not installed")


def test_every_dependency_is_pinned_at_or_above_its_bound() -> None:
    below = {
        name: pinned().get(name)
        for name, one in declared().items()
        if name != "endotransfer"
        and (name not in pinned() or not one.specifier.contains(pinned()[name], prereleases=True))
    }
    assert below == {}
