"""classes.yaml: what it says, and one sentence for what it should not say."""

from collections.abc import Callable
from pathlib import Path

import pytest

from endotransfer.data.folders.classes import Classes, read_classes
from endotransfer.errors import DataError


def test_without_the_file_a_folder_is_binary(tmp_path: Path) -> None:
    classes = read_classes(tmp_path)
    assert classes == Classes(("normal", "lesion"))
    assert classes.binary
    assert not classes.keeps_ignore


def test_names_in_index_order_and_ignore(tmp_path: Path) -> None:
    (tmp_path / "classes.yaml").write_text("classes: [sky, road, car]\nignore: 7\n")
    classes = read_classes(tmp_path)
    assert (classes.names, classes.ignore, classes.binary, len(classes)) == (("sky", "road", "car"), 7, False, 3)
    assert classes.keeps_ignore


def test_two_named_classes_keep_255_as_lesion_unless_ignore_is_written(tmp_path: Path) -> None:
    (tmp_path / "classes.yaml").write_text("classes: [normal, polyp]\n")
    assert not read_classes(tmp_path).keeps_ignore
    (tmp_path / "classes.yaml").write_text("classes: [normal, polyp]\nignore: 255\n")
    assert read_classes(tmp_path).keeps_ignore


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("classes: [a]", "2 to 255 classes"),
        ("classes: abc", "2 to 255 classes"),
        ("classes: [a, no]", "quotes"),
        ("classes: [a, '']", "quotes"),
        ("classes: [a, b, a]", "'a' twice"),
        ("classes: [a, b]\nignore: 1", "free one from 2 to 255"),
        ("classes: [a, b]\nignore: yes", "free one"),
        ("classes: [a, b]\nignored: 255", "did you mean 'ignore'"),
        ("- a\n- b", "no list of classes"),
        ("classes: [a, b", "not readable YAML"),
        ("classes: !!python/object/apply:os.system ['true']", "not readable YAML"),
    ],
)
def test_mistakes_are_explained(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "classes.yaml").write_text(text)
    with pytest.raises(DataError, match=said) as caught:
        read_classes(tmp_path)
    assert "classes.yaml" in str(caught.value)


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path, make_folder: Callable[..., Path]) -> None:
    (tmp_path / "elsewhere.yaml").write_text("classes: [a, b]")
    folder = make_folder()
    (folder / "classes.yaml").symlink_to(tmp_path / "elsewhere.yaml")
    with pytest.raises(DataError, match="leaves the folder"):
        read_classes(folder)
