"""The phantom on disk: what `render` gives, in native folders."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from PIL import Image

from endotransfer.data.phantom import CLASSES, render, write_phantom
from endotransfer.errors import ConfigError, DataError

SIZE = 48
GASTROSCOPY, CAPSULE = "gastroscopy", "capsule"


def rows_of(folder: Path) -> list[dict[str, str]]:
    with (folder / "labels.csv").open() as file:
        return list(csv.DictReader(file))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# --- folders


def test_a_written_folder_is_what_render_gives(tmp_path: Path) -> None:
    folders = write_phantom(tmp_path / "new", 12, seed=7, size=32, processes=1)
    assert folders == [tmp_path / "new" / GASTROSCOPY, tmp_path / "new" / CAPSULE]
    for folder in folders:
        for index, row in enumerate(rows_of(folder)):
            made = render(folder.name, index, 7, 32)
            assert np.array_equal(np.asarray(Image.open(folder / "images" / f"{row['image']}.png")), made.image)
            assert row["label"] == ("lesion" if made.tag else "normal")
            assert (row["finding"], row["patient"]) == (made.finding, made.patient)
    mask = np.asarray(Image.open(folders[1] / "masks" / "0001.png"))
    assert np.array_equal(mask, render(CAPSULE, 1, 7, 32).mask * 255)


def test_two_processes_more_images_and_other_domains_change_no_byte(tmp_path: Path) -> None:
    write_phantom(tmp_path / "one", 10, seed=1, size=32, processes=1)
    write_phantom(tmp_path / "two", 10, seed=1, size=32, processes=2)
    write_phantom(tmp_path / "more", 14, seed=1, size=32, processes=1, domains=(CAPSULE,))
    one, more = contents(tmp_path / "one"), contents(tmp_path / "more")
    assert one == contents(tmp_path / "two")
    assert all(more[name] == one[name] for name in one if name.startswith(f"{CAPSULE}/images"))


def test_many_images_use_two_processes_by_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("endotransfer.data.phantom.write.WORTH_A_POOL", 8)
    (folder,) = write_phantom(tmp_path, 8, seed=0, size=32, domains=(CAPSULE,))
    assert len(rows_of(folder)) == len(list((folder / "masks").iterdir())) == 8


@pytest.mark.parametrize(("share", "missing"), [(0.0, 0), (0.5, 12), (1.0, 24), (0.75, 18)])
def test_a_share_of_the_source_has_a_tag_and_no_mask(tmp_path: Path, share: float, missing: int) -> None:
    source, target = write_phantom(tmp_path, 24, seed=0, size=16, processes=1, tag_only=share)
    masked = {path.stem for path in (source / "masks").iterdir()}
    bare = [row["label"] for row in rows_of(source) if row["image"] not in masked]
    assert len(bare) == missing and bare.count("lesion") == missing / 2
    names = [f"{index:04d}" for index in range(24)]
    assert all((names[k] in masked) == (names[k + 1] in masked) for k in range(0, 24, 2))
    assert len(list((target / "masks").iterdir())) == 24


def test_a_third_is_for_testing_and_no_patient_on_both_sides(tmp_path: Path) -> None:
    rows = rows_of(write_phantom(tmp_path, 36, seed=0, size=16, processes=1)[0])
    assert [row["split"] for row in rows].count("test") == 12
    sides = {(row["patient"], row["split"]) for row in rows}
    assert len(sides) == len({patient for patient, _ in sides})
    assert {row["label"] for row in rows if row["split"] == "test"} == {"lesion", "normal"}


def test_the_five_class_folder_names_its_classes_and_has_no_label(tmp_path: Path) -> None:
    for folder in write_phantom(tmp_path, 8, seed=0, size=32, variant="five_class", processes=1):
        assert list(rows_of(folder)[0]) == ["image", "finding", "patient", "split"]
        assert yaml.safe_load((folder / "classes.yaml").read_text()) == {"classes": list(CLASSES)}
        mask = Image.open(folder / "masks" / "0003.png")
        assert mask.mode == "L"
        assert np.array_equal(np.asarray(mask), render(folder.name, 3, 0, 32, "five_class").mask)
        assert len(list((folder / "masks").iterdir())) == 8


# --- refusals


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(DataError, match="not an empty folder"):
        write_phantom(tmp_path, 2, seed=0, size=32)
    with pytest.raises(DataError, match="not an empty folder"):
        write_phantom(tmp_path / "mine.txt", 2, seed=0, size=32)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"images": 0}, "images = 0"),
        ({"size": 8}, "size = 8"),
        ({"processes": 0}, "processes = 0"),
        ({"tag_only": 1.5}, "tag_only = 1.5"),
        ({"variant": "lesions"}, "did you mean 'lesion'"),
        ({"domains": ("capsul",)}, "did you mean 'capsule'"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_written(
    tmp_path: Path, wrong: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        write_phantom(tmp_path / "new", **{"images": 2, "seed": 0, "size": 32} | wrong)
    assert not (tmp_path / "new").exists()


def test_a_folder_that_cannot_be_made_or_filled_is_a_data_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot make"):
        write_phantom(tmp_path / "file" / "below", 2, seed=0, size=32)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Image.Image, "save", full)
    with pytest.raises(DataError, match="No space left on device; free some space"):
        write_phantom(tmp_path / "new", 2, seed=0, size=32)
