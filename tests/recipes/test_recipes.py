"""Where a recipe's name leads."""

from pathlib import Path

import pytest

from endotransfer.recipes import FOLDER, locate, recipe_summaries


@pytest.mark.parametrize("name", ["phantom", "phantom.yaml", "recipes/phantom.yaml"])
def test_a_folder_of_the_same_name_does_not_hide_a_recipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "phantom").mkdir()  # as `endotransfer data phantom phantom` leaves it
    assert locate(name) == (FOLDER / "phantom.yaml", tmp_path)


def test_a_file_of_the_user_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("phantom.yaml").touch()
    assert locate("phantom.yaml") == (Path("phantom.yaml"), tmp_path)


def test_summaries_are_whole_sentences() -> None:
    assert {name for name, line in recipe_summaries().items() if not line.endswith(".")} == set()
