"""A phantom that is drawn once is found again, and never taken for another."""

from pathlib import Path
from typing import Any

import pytest

from endotransfer.data.phantom import draw_once as once
from endotransfer.errors import ConfigError, DataError

SMALL: dict[str, Any] = {"images": 4, "seed": 0, "size": 32}


def test_drawn_once_and_found_again(tmp_path: Path) -> None:
    lines: list[str] = []
    once.draw_once(tmp_path / "phantom", **SMALL, say=lines.append)
    once.draw_once(tmp_path / "phantom", **SMALL, say=lines.append)
    assert len(lines) == 1
    assert once.drawn_with(tmp_path / "phantom") == {**SMALL, "variant": "lesion"}
    with pytest.raises(ConfigError, match=r"was drawn with .* choose another --out"):
        once.draw_once(tmp_path / "phantom", **SMALL | {"seed": 1})
    (tmp_path / "phantom" / once.FILE).write_text("{")
    with pytest.raises(DataError, match="is damaged"):
        once.draw_once(tmp_path / "phantom", **SMALL)
    (tmp_path / "phantom" / once.FILE).unlink()  # drawn by `data phantom`
    once.draw_once(tmp_path / "phantom", **SMALL | {"seed": 1})
    (tmp_path / "phantom" / "capsule" / "labels.csv").unlink()
    with pytest.raises(DataError, match="is not whole"):
        once.draw_once(tmp_path / "phantom", **SMALL)
