"""Labels over grey images, whatever is missing or of another shape."""

from pathlib import Path

import numpy as np
from PIL import Image

from endotransfer.batch import IGNORE
from endotransfer.data.class_colours import colour_table
from endotransfer.report.propagation_figure import propagation_section, read_maps, spread, spread_labels
from endotransfer.report.run_images import RunImages
from endotransfer.report.study import Run, Study
from endotransfer.report.tiles import SIDE


def write_map(folder: Path, epoch: str, values: list[list[int]]) -> None:
    path = folder / "propagation" / epoch / "set" / "a.png"
    path.parent.mkdir(parents=True)
    Image.fromarray(np.array(values, np.uint8)).save(path)


def test_maps_are_read_by_image_and_epoch_and_damage_is_passed_over(tmp_path: Path) -> None:
    write_map(tmp_path, "epoch-001", [[0, IGNORE]])
    write_map(tmp_path, "epoch-012", [[0, 1]])
    write_map(tmp_path, "epoch-x", [[0, 1]])
    (tmp_path / "propagation" / "epoch-012" / "set" / "b.png").write_bytes(b"no picture")
    maps = read_maps(Run("a", 0, tmp_path))
    assert {key: list(by_epoch) for key, by_epoch in maps.items()} == {"set/a": [1, 12]}
    assert maps["set/a"][12].tolist() == [[0, 1]]


def test_colour_is_where_there_is_a_label() -> None:
    labels = np.array([[0, IGNORE], [1, IGNORE]], np.uint8)
    pixels = np.full((20, 40, 3), [200, 100, 0], np.uint8)  # twice as wide as the map
    shown = spread_labels(labels, pixels)
    assert shown.shape == (SIDE // 2, SIDE, 3)
    assert np.ptp(shown[10, -10].astype(int)) == 0  # grey
    assert np.ptp(shown[10, 10].astype(int)) > 0
    assert not np.array_equal(shown[10, 10], shown[-10, 10])


def test_without_an_image_the_map_is_its_colours() -> None:
    labels = np.array([[1]], np.uint8)
    assert (spread_labels(labels, None) == colour_table()[1]).all()


def test_epochs_are_spread_from_first_to_last() -> None:
    assert spread(list(range(1, 10)), 5) == [1, 3, 5, 7, 9]
    assert spread([4], 5) == [4]


def test_maps_stand_alone_where_the_images_are_gone(tmp_path: Path) -> None:
    write_map(tmp_path, "epoch-001", [[0, 1], [IGNORE, IGNORE]])
    (tmp_path / "config.yaml").write_text("data: {source: nowhere, target: nowhere}")
    out = tmp_path / "report"
    out.mkdir()
    body = propagation_section(Study(tmp_path, runs=[Run("a", 0, tmp_path)]), RunImages(), out).body
    assert "The maps stand alone" in body
    assert (out / "propagation-a.csv").read_text().splitlines() == [
        "image,epoch,labelled,share_class 0,share_class 1",
        "set/a,1,0.5,0.25,0.25",
    ]
