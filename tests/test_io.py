"""Files that are whole or absent, and JSON that explains what is wrong with it."""

import json
import os
from pathlib import Path

import pytest

from endotransfer import io
from endotransfer.errors import DataError
from endotransfer.io import read_json, read_json_object, sync, write_atomically


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    content = {"a": [1, 2.5, None, True], "b": {"c": "é"}}
    write_atomically(tmp_path / "x.json", json.dumps(content), DataError)
    assert read_json(tmp_path / "x.json", DataError) == read_json_object(tmp_path / "x.json", DataError) == content
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 100_000])
def test_damaged_json_is_one_sentence_with_its_fix(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"x\.json is damaged: it is not JSON; begin anew\."):
        read_json(path, DataError, fix="begin anew")


def test_absent_json_and_json_that_is_no_object(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot read .*x\.json: No such file"):
        read_json(tmp_path / "x.json", DataError)
    (tmp_path / "x.json").write_text("[1]")
    with pytest.raises(DataError, match="holds no JSON object"):
        read_json_object(tmp_path / "x.json", DataError)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    def fill(path: Path) -> None:
        path.write_text("half")
        raise OSError(28, "No space left on device")

    path = tmp_path / "x"
    path.write_text("old")
    with pytest.raises(DataError, match="the disk is full"):
        write_atomically(path, fill, DataError)
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["x"]


def test_a_folder_is_not_opened_where_the_system_cannot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sync(tmp_path)

    class Windows:
        name = "nt"
        O_RDWR, fsync, close = os.O_RDWR, staticmethod(os.fsync), staticmethod(os.close)

        @staticmethod
        def open(path: Path, flags: int) -> int:
            assert not path.is_dir() and flags == os.O_RDWR
            return os.open(path, flags)

    monkeypatch.setattr(io, "os", Windows)
    sync(tmp_path)
    (tmp_path / "file").write_text("x")
    sync(tmp_path / "file")
