"""The maps of a few images outlive the passes that made them."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from endotransfer.batch import IGNORE, LESION, NORMAL, Sample
from endotransfer.data.class_colours import CLASS_COLOURS, colour_table
from endotransfer.engine.map_store import MapStore
from endotransfer.engine.propagation_maps import copy_maps, propagation_keys
from endotransfer.engine.run import train
from endotransfer.errors import CheckpointError
from endotransfer.predict.overlay import COLOURS
from endotransfer.testing.fixtures import MakeExperiment


def samples(tags: list[int]) -> list[Sample]:
    return [Sample(f"set/{place}", Path(f"{place}.png"), tag=tag) for place, tag in enumerate(tags)]


def test_images_tagged_lesion_are_watched_spread_over_the_set() -> None:
    assert propagation_keys(samples([NORMAL, LESION] * 10)) == ("set/1", "set/7", "set/13", "set/19")


@pytest.mark.parametrize(("tags", "keys"), [([NORMAL] * 2, ("set/0", "set/1")), ([LESION], ("set/0",)), ([], ())])
def test_a_small_or_untagged_set_is_watched_as_far_as_it_goes(tags: list[int], keys: tuple[str, ...]) -> None:
    assert propagation_keys(samples(tags)) == keys


def test_a_kept_map_has_the_same_labels_in_colour_and_stays_when_its_pass_goes(tmp_path: Path) -> None:
    store = MapStore(tmp_path / "maps")
    labels = torch.tensor([[[0, 1], [IGNORE, 2]]], dtype=torch.uint8)
    store.open_pass(3)
    store.store(["set/a"], labels)
    store.flush()
    stored = store.close_pass(3)
    copy_maps(stored, tmp_path / "propagation", 3, ["set/a", "set/not stored"])
    store.forget_before(9)
    assert not (tmp_path / "maps" / "epoch-0003").exists()
    kept = [path.relative_to(tmp_path) for path in (tmp_path / "propagation").rglob("*.png")]
    assert kept == [Path("propagation/epoch-003/set/a.png")]
    with Image.open(tmp_path / kept[0]) as image:
        assert np.array_equal(np.asarray(image), labels[0].numpy())
        shown = np.asarray(image.convert("RGBA"))
    assert shown[0, 1].tolist() == [*COLOURS[0], 255]
    assert shown[1, 0, 3] == 0  # what carries no label is transparent


def test_a_run_keeps_a_map_of_each_watched_image_and_pass(tmp_path: Path, make_experiment: MakeExperiment) -> None:
    train(make_experiment("tagged", "tag_transfer", checkpoint_every=1), tmp_path / "run")
    kept = sorted((tmp_path / "run" / "propagation").glob("*"))
    assert [folder.name for folder in kept] == ["epoch-001", "epoch-002"]  # that of warm-up has no labels
    names = [sorted(path.relative_to(folder) for path in folder.rglob("*.png")) for folder in kept]
    assert names[0] == names[1]
    assert 1 <= len(names[0]) <= 4


def test_a_map_that_cannot_be_kept_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"no picture")
    with pytest.raises(CheckpointError, match=r"cannot write .*epoch-001.*resume"):
        copy_maps(tmp_path, tmp_path / "propagation", 1, ["a"])


def test_every_value_of_a_mask_has_a_colour_and_predictions_have_the_same() -> None:
    table = colour_table()
    assert np.array_equal(table[1 : 1 + len(COLOURS)], COLOURS)
    assert np.array_equal(table[1 + len(COLOURS)], CLASS_COLOURS[1])
    assert table[IGNORE].tolist() == [128, 128, 128]
