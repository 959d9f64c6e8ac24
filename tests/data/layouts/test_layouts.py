"""Published layouts, read as they are: who is in which part, what each number means, what is wrong in one sentence."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from endotransfer.batch import IGNORE
from endotransfer.config.class_lists import CAMVID, CITYSCAPES, CITYSCAPES13, CITYSCAPES16, PROTOCOLS, protocol_of
from endotransfer.data.folders.read_folder import Folder, read_folder
from endotransfer.data.layouts import LAYOUTS, is_data_folder
from endotransfer.data.read.checked_mask import check_masks
from endotransfer.data.read.read_mask import read_mask
from endotransfer.data.read.wide_png import first_channel, png_size
from endotransfer.errors import DataError
from tests.street_trees import (
    read_wide_png,
    stripes,
    write_wide_png,
)

ROOT = Path(__file__).parents[3]
# The official train ids of Cityscapes' label ids 0 to 33, written down once more.
TRAIN_IDS = (7 * [255] + [0, 1, 255, 255, 2, 3, 4, 255, 255, 255, 5, 255, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]
             + [255, 255, 16, 17, 18])  # fmt: skip
# SYNTHIA's numbers 0 to 22 as train ids of the 19 classes.
SYNTHIA_IDS = [255, 10, 2, 0, 1, 4, 8, 5, 13, 7, 11, 18, 17, 255, 255, 6, 9, 12, 14, 15, 16, 3, 255]


def masks_of(folder: Folder) -> list[NDArray[np.uint8]]:
    return [read_mask(sample.mask, folder.classes).mask for sample in folder.samples if sample.mask]


def in_protocol(train_ids: list[int], names: tuple[str, ...]) -> NDArray[np.uint8]:
    """Train ids of 19 classes -> indices into `names`."""
    wanted = [names.index(CITYSCAPES[i]) if i != 255 and CITYSCAPES[i] in names else IGNORE for i in train_ids]
    return np.array(wanted, np.uint8)


# -- what is read ---------------------------------------------------------------------------------------------------


def test_protocols_have_the_official_order() -> None:
    assert [len(names) for names in (CITYSCAPES, CITYSCAPES16, CITYSCAPES13, CAMVID)] == [19, 16, 13, 11]
    assert (*CITYSCAPES[:9], "sky", "person", "rider", "car", "bus", "motorcycle", "bicycle") == CITYSCAPES16
    assert (*CITYSCAPES[:3], *CITYSCAPES16[6:]) == CITYSCAPES13
    assert protocol_of(list(CITYSCAPES16)) is PROTOCOLS.get("cityscapes16")
    assert protocol_of(["normal", "lesion"]) is None


@pytest.mark.parametrize("name", ["cityscapes", "gta5", "synthia", "camvid"])
def test_a_tree_is_recognised_and_has_its_usual_classes(tree: Callable[[str], Path], name: str) -> None:
    path = tree(name)
    layout = LAYOUTS.get(name)
    assert layout is not None and is_data_folder(path)
    folder = read_folder(path)
    assert folder.classes.names == PROTOCOLS.get(layout.protocol).classes
    assert folder.samples == read_folder(path, layout=name).samples
    assert check_masks(folder.samples, folder.classes) == {}  # every mask is read, and nothing is converted


def test_cityscapes_has_two_parts_by_city(tree: Callable[[str], Path]) -> None:
    path = tree("cityscapes")
    train, val = read_folder(path, split="train"), read_folder(path, split="val")
    assert [sample.key for sample in train.samples] == [f"cityscapes/aachen_{n:06d}_000019" for n in range(4)]
    assert val.samples == read_folder(path, where={"city": "frankfurt"}).samples
    assert len(read_folder(path).samples) == 7  # nothing of the test set, whose labels are not public
    with pytest.raises(DataError, match=r"cityscapes: has no column 'town'; .*image, split, city"):
        read_folder(path, where={"town": "aachen"})


@pytest.mark.parametrize("classes", ["cityscapes19", "cityscapes16", "cityscapes13"])
@pytest.mark.parametrize("name", ["cityscapes", "gta5", "synthia"])
def test_numbers_become_the_classes_of_every_protocol(tree: Callable[[str], Path], name: str, classes: str) -> None:
    folder = read_folder(tree(name), classes=classes)
    names = PROTOCOLS.get(classes).classes
    assert folder.classes.names == names
    raw = {"cityscapes": TRAIN_IDS, "gta5": [*TRAIN_IDS, 255], "synthia": SYNTHIA_IDS}[name]
    for sample, mask in zip(folder.samples, masks_of(folder), strict=True):
        assert sample.mask is not None
        numbers = read_wide_png(sample.mask)[..., 0] if name == "synthia" else np.asarray(Image.open(sample.mask))
        assert np.array_equal(mask, in_protocol(raw, names)[numbers])
        assert set(mask.ravel()) == {*range(len(names)), IGNORE}


def test_camvid_has_day_and_dusk(tree: Callable[[str], Path]) -> None:
    folder = read_folder(tree("camvid"), where={"lighting": "dusk"}, split="test")
    assert [sample.key for sample in folder.samples] == ["camvid/0001TP_000005"]
    assert folder.samples[0].group == "camvid/sequence 0001TP"  # one drive: its frames look alike
    (mask,) = masks_of(folder)
    assert set(mask.ravel()) == {*range(11), IGNORE}


def test_camvid_as_it_lies_among_the_shared_data() -> None:
    shared = Path(os.environ.get("ENDOTRANSFER_SHARED", ROOT.parent / "shared")) / "data" / "camvid"
    if not shared.is_dir():
        pytest.skip("no camvid (set ENDOTRANSFER_SHARED to the folder that holds data/)")
    counts = {light: len(read_folder(shared, where={"lighting": light}).samples) for light in ("day", "dusk")}
    assert counts == {"day": 577, "dusk": 124}
    folder = read_folder(shared, where={"lighting": "dusk"}, split="test")
    assert folder.classes.names == CAMVID
    assert folder.samples[0].mask is not None
    assert read_mask(folder.samples[0].mask, folder.classes).mask.shape == (360, 480)


def test_a_part_of_cityscapes_without_labels_is_a_target_without_masks(tree: Callable[[str], Path]) -> None:
    path = tree("cityscapes")
    (path / "gtFine" / "train").rename(path / "elsewhere")
    folder = read_folder(path)
    assert {(sample.split, sample.mask is None) for sample in folder.samples} == {("train", True), ("val", False)}


def test_a_native_folder_stays_native(tmp_path: Path, make_folder: Callable[..., Path]) -> None:
    folder = make_folder()
    (folder / "labels").mkdir()
    (folder / "labels" / "a.txt").write_text("0 0.5 0.5 0.1 0.1")
    assert read_folder(folder).classes.names == ("normal", "lesion")
    assert not is_data_folder(tmp_path / "nowhere")


def test_a_native_folder_may_hold_the_indices_of_a_protocol(make_folder: Callable[..., Path]) -> None:
    mask = stripes(range(19), 0, (48, 64))
    folder = make_folder("plain", ["a"], {"a": mask})
    read = read_folder(folder, classes="cityscapes19")
    assert read.classes.names == CITYSCAPES
    assert np.array_equal(masks_of(read)[0], mask)
    other = make_folder("named", ["a"], classes="classes: [a, b, c]\n")
    with pytest.raises(DataError, match=r"classes\.yaml: does not list the classes of cityscapes19"):
        read_folder(other, classes="cityscapes19")


# -- 16 bits --------------------------------------------------------------------------------------------------------


def test_wide_labels_are_read_to_the_last_bit(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 2**16, (7, 5, 3)).astype(np.uint16)
    write_wide_png(tmp_path / "a.png", pixels)
    assert np.array_equal(read_wide_png(tmp_path / "a.png"), pixels)
    assert np.array_equal(first_channel(tmp_path / "a.png"), pixels[..., 0])
    assert png_size(tmp_path / "a.png") == (7, 5)
    assert png_size(tmp_path / "b.png") is None


def test_pillow_reads_them_wrongly_which_is_why_it_is_not_used(tree: Callable[[str], Path]) -> None:
    label = tree("synthia") / "GT" / "LABELS" / "0000000.png"
    assert not np.asarray(Image.open(label))[..., 0].any()
    assert set(first_channel(label).ravel()) == {*range(23)}


@pytest.mark.parametrize("fault", ["eight bits", "cut short", "no file"])
def test_a_label_of_another_kind_is_named(tree: Callable[[str], Path], fault: str) -> None:
    folder = read_folder(tree("synthia"))
    label = folder.samples[0].mask
    assert label is not None
    if fault == "eight bits":
        Image.fromarray(stripes(range(23), 0)).save(label)
    elif fault == "cut short":
        label.write_bytes(label.read_bytes()[:60])
    else:
        label.unlink()
    words = {"eight bits": "16 bits", "cut short": "cut short", "no file": "does not exist"}[fault]
    with pytest.raises(DataError, match=rf"LABELS/0000000\.png: .*{words}"):
        read_mask(label, folder.classes)
