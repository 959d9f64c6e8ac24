"""Domains made of several folders."""

from collections.abc import Callable
from pathlib import Path

import pytest

from endotransfer.data.folders.classes import Classes
from endotransfer.data.folders.domain import FolderPart, distinct_names, read_domain
from endotransfer.errors import DataError

MakeFolder = Callable[..., Path]
TABLE = "image,split,cluster\na,train,1\nb,test,1\nc,train,\n"


def test_a_domain_is_a_list_of_folders(make_folder: MakeFolder) -> None:
    parts = [FolderPart(make_folder("one", labels=TABLE), "train"), FolderPart(make_folder("two"))]
    domain = read_domain(parts)
    assert [s.key for s in domain.samples] == ["one/a", "one/c", "two/a", "two/b", "two/c"]
    assert domain.classes == Classes()


def test_folders_of_one_name_are_told_apart_by_their_parents(make_folder: MakeFolder) -> None:
    parts = [FolderPart(make_folder(f"{parent}/train", labels=TABLE)) for parent in ("x", "y")]
    samples = read_domain(parts).samples
    assert len({s.key for s in samples}) == 6
    assert samples[0].key == "x/train/a"
    assert samples[0].group == "x/train/cluster 1"
    assert samples[3].group == "y/train/cluster 1"


def test_distinct_names_take_as_many_parents_as_needed(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("x/m/train", "y/m/train", "z")]
    assert list(distinct_names(paths).values()) == ["x/m/train", "y/m/train", "z"]


def test_two_parts_of_one_folder(make_folder: MakeFolder) -> None:
    folder = make_folder(labels=TABLE)
    assert len(read_domain([FolderPart(folder, "train"), FolderPart(folder, "test")]).samples) == 3
    with pytest.raises(DataError, match="chosen twice"):
        read_domain([FolderPart(folder, "train"), FolderPart(folder)])


def test_a_domain_needs_equal_classes(make_folder: MakeFolder) -> None:
    parts = [FolderPart(make_folder("one")), FolderPart(make_folder("two", classes="classes: [a, b, c]"))]
    with pytest.raises(
        DataError, match=r"two: has the classes \[a, b, c\] \(ignore 255\), but .*one has \[normal, lesion\]"
    ):
        read_domain(parts)
    with pytest.raises(DataError, match="lists no folder"):
        read_domain([])
