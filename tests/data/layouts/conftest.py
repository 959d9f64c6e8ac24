"""Miniatures of the published sets."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.street_trees import (
    write_camvid,
    write_cityscapes,
    write_gta5,
    write_synthia,
)

WRITERS: dict[str, Callable[[Path], Path]] = {
    "cityscapes": write_cityscapes,
    "gta5": write_gta5,
    "synthia": write_synthia,
    "camvid": write_camvid,
}


@pytest.fixture
def tree(tmp_path: Path) -> Callable[[str], Path]:
    return lambda name: WRITERS[name](tmp_path / name)
