"""Tags under another name are read where that is safe, and spoken of where it is not."""

from collections.abc import Callable
from pathlib import Path

import pytest

from endotransfer.batch import LESION, NORMAL, UNKNOWN_TAG
from endotransfer.data.folders.read_folder import read_contents, read_folder
from endotransfer.data.inspect import inspect_folder

MakeFolder = Callable[..., Path]


@pytest.mark.parametrize("column", ["tag", "Befund", "class", "Läsion"])
def test_tags_are_read_under_another_name(make_folder: MakeFolder, column: str) -> None:
    folder = make_folder(labels=f"image,{column},split\na,lesion,train\nb,normal,test\nc,,test\n")
    assert [sample.tag for sample in read_folder(folder).samples] == [LESION, NORMAL, UNKNOWN_TAG]
    assert [sample.key for sample in read_folder(folder, split="test").samples] == ["set/b", "set/c"]
    assert f"the column '{column}' is read as the label" in [note.what for note in inspect_folder(folder).notes]


def test_what_may_be_tags_and_is_not_read_is_said(make_folder: MakeFolder) -> None:
    folder = make_folder(labels="image,Befund,split\na,Polyp,train\nb,o.B.,train\nc,lesion,test\n")
    (fault,) = (fault for fault in read_contents(folder).faults if fault.code == "unread-column")
    assert fault.severity == "warning" and "the tags that 'Befund' may hold are not read" in fault.what
    assert {sample.tag for sample in read_folder(folder).samples} == {UNKNOWN_TAG}


@pytest.mark.parametrize(
    "labels",
    [
        "image,label,tag\na,normal,lesion\nb,,\nc,,\n",
        "image,finding,ward\na,polyp,1\nb,,\nc,,\n",
        "image\na\nb\nc\n",
    ],
)
def test_a_column_of_the_plain_name_goes_before(make_folder: MakeFolder, labels: str) -> None:
    contents = read_contents(make_folder(labels=labels))
    assert contents.faults == [] and not [note for note in contents.notes if note.code == "group-column"]
    assert contents.entries[0].cell("label") in ("normal", "")
