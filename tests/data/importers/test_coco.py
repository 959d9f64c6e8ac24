"""COCO files: outlines against slow literal twins, and the importer's choices and complaints."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image
from pycocotools import mask as pycocotools_mask

from endotransfer.data.folders.read_folder import read_folder
from endotransfer.data.importers import import_dataset
from endotransfer.data.importers.outlines import outline_mask, polygon_mask, runs_mask, unpack_runs
from endotransfer.errors import ConfigError, DataError
from tests.properties import examples

SIZE = (10, 14)  # height, width
SQUARE = [[2, 3, 6, 3, 6, 8, 2, 8]]  # x 2 to 6, y 3 to 8


def runs_twin(mask: np.ndarray) -> list[int]:
    """Run lengths down the columns, starting with zeros, one pixel at a time."""
    runs, last = [0], False
    for pixel in mask.T.ravel().tolist():
        if pixel != last:
            runs.append(0)
            last = pixel
        runs[-1] += 1
    return runs


def pack_twin(runs: list[int]) -> str:
    """COCO's text, written from its description: differences, five bits a character, sign kept."""
    text = ""
    for place, run in enumerate(runs):
        rest = run - runs[place - 2] if place > 2 else run
        more = True
        while more:
            bits = rest & 31
            rest >>= 5
            more = rest != (-1 if bits & 16 else 0)
            text += chr(48 + bits + (32 if more else 0))
    return text


def polygon_twin(polygon: list[float], size: tuple[int, int]) -> np.ndarray:
    """Even-odd rule at every pixel's centre."""
    points = list(zip(polygon[::2], polygon[1::2], strict=True))
    mask = np.zeros(size, bool)
    for row in range(size[0]):
        for column in range(size[1]):
            x, y = column + 0.5, row + 0.5
            for (x0, y0), (x1, y1) in zip(points, points[1:] + points[:1], strict=True):
                if (y0 > y) != (y1 > y) and x < x0 + (y - y0) / (y1 - y0) * (x1 - x0):
                    mask[row, column] ^= True
    return mask


@examples(300)
@given(arrays(np.bool_, st.tuples(st.integers(1, 12), st.integers(1, 12))))
def test_run_lengths_listed_or_packed_give_the_mask_back(mask: np.ndarray) -> None:
    runs = runs_twin(mask)
    np.testing.assert_array_equal(runs_mask(runs, mask.shape), mask)
    assert unpack_runs(pack_twin(runs)) == runs
    np.testing.assert_array_equal(outline_mask({"counts": pack_twin(runs)}, mask.shape), mask)


@given(arrays(np.bool_, st.tuples(st.integers(1, 12), st.integers(1, 12))))
def test_what_pycocotools_writes_is_read(mask: np.ndarray) -> None:
    """An independent implementation."""
    packed = pycocotools_mask.encode(np.asfortranarray(mask.astype(np.uint8)))
    np.testing.assert_array_equal(outline_mask({"counts": packed["counts"].decode()}, mask.shape), mask)


@given(st.text(max_size=40))
def test_damaged_run_lengths_are_an_error_or_a_mask_never_a_crash(counts: str) -> None:
    try:
        assert outline_mask({"counts": counts}, SIZE).shape == SIZE
    except DataError as reason:
        assert "do not add up" in str(reason) or "has no end" in str(reason)


@given(st.lists(st.integers(0, 10**6), max_size=12))
def test_packed_numbers_of_any_size_come_back(runs: list[int]) -> None:
    assert unpack_runs(pack_twin(runs)) == runs


# Thirds of odd hundredths never meet a pixel's centre, so that no rule for points on an edge is tested here.
coordinates = st.integers(-600, 4800).map(lambda n: (2 * n + 1) / 300)


@examples(300)
@given(st.lists(st.tuples(coordinates, coordinates), min_size=3, max_size=7, unique=True))
def test_polygons_follow_the_even_odd_rule_at_pixel_centres(points: list[tuple[float, float]]) -> None:
    polygon = [value for point in points for value in point]
    np.testing.assert_array_equal(polygon_mask(polygon, SIZE), polygon_twin(polygon, SIZE))


def test_a_square_of_four_by_five_covers_twenty_pixels() -> None:
    expected = np.zeros(SIZE, bool)
    expected[3:8, 2:6] = True
    np.testing.assert_array_equal(outline_mask(SQUARE, SIZE), expected)


def test_several_polygons_of_one_annotation_are_united() -> None:
    mask = outline_mask([*SQUARE, [5, 3, 9, 3, 9, 8, 5, 8]], SIZE)
    assert mask[3:8, 2:9].all() and mask.sum() == 35


@pytest.mark.parametrize(
    ("segmentation", "complaint"),
    [
        (None, "a box but no outline"),
        ([], "a box but no outline"),
        ([[1, 2, 3, 4]], "three or more x, y pairs"),
        ([[1, 2, 3, 4, 5, 6, 7]], "three or more x, y pairs"),
        ([5, 6], "three or more x, y pairs"),
        ([[1, "a", 2, 3, 4, 5]], "not numbers"),
        ({"counts": [3, 4]}, "do not add up to 14x10"),
        ({"counts": [-1, 141]}, "do not add up to 14x10"),
        ({"counts": "5"}, "do not add up to 14x10"),
        ({"counts": ["a"]}, "not numbers"),
        ({"counts": "o" * 3_000_000}, "one of them has no end"),
    ],
)
def test_an_outline_that_is_none_is_said(segmentation: Any, complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        outline_mask(segmentation, SIZE)


def write_coco(source: Path, **changes: Any) -> Path:
    """Images a (polyp over ulcer), ward/b (ulcer) and c (bare)."""
    content = {
        "images": [{"id": n, "file_name": name} for n, name in enumerate(("a.png", "ward/b.png", "c.png"))],
        "categories": [{"id": 7, "name": "polyp"}, {"id": 3, "name": "ulcer"}],
        "annotations": [
            {"image_id": 0, "category_id": 7, "segmentation": SQUARE},
            {"image_id": 0, "category_id": 3, "segmentation": [[5, 3, 9, 3, 9, 8, 5, 8]]},
            {"image_id": 1, "category_id": 3, "segmentation": {"counts": [30, 4, 106]}},
        ],
        **changes,
    }
    for name in ("a.png", "ward/b.png", "c.png"):
        (source / "images" / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", SIZE[::-1], (len(name), 9, 9)).save(source / "images" / name)
    (source / "labels.json").write_text(json.dumps(content))
    return source


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return tmp_path / "download"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "native"


def mask_of(out: Path, name: str) -> np.ndarray:
    return np.asarray(Image.open(out / "masks" / f"{name}.png"))


def test_categories_are_merged_and_kept_as_finding(source: Path, out: Path) -> None:
    report = import_dataset("coco", write_coco(source), out)
    assert (report.images, report.masks, report.lesion, report.normal) == (3, 3, 2, 1)
    found = {sample.key.split("/", 1)[1]: sample.finding for sample in read_folder(out).samples}
    assert found == {"a": "polyp+ulcer", "ward_b": "ulcer", "c": ""}
    assert mask_of(out, "a").sum() == 35 * 255
    assert np.argwhere(mask_of(out, "ward_b")).tolist() == [[0, 3], [1, 3], [2, 3], [3, 3]]
    assert report.conversions["outlines were drawn as a mask"] == 2


def test_categories_can_be_kept_apart(source: Path, out: Path) -> None:
    report = import_dataset("coco", write_coco(source), out, classes="separate")
    assert read_folder(out).classes.names == ("normal", "polyp", "ulcer")
    mask = mask_of(out, "a")
    assert (mask[3:8, 2:5] == 1).all() and (mask[3:8, 5:9] == 2).all() and np.count_nonzero(mask) == 35
    assert report.conversions["where classes overlap, the later one was kept"] == 1


def test_an_image_without_annotation_may_be_unknown(source: Path, out: Path) -> None:
    report = import_dataset("coco", write_coco(source), out, bare="unknown")
    assert (report.images, report.masks, report.normal) == (3, 2, 0)


def test_images_that_are_missing_or_outside_are_named(source: Path, out: Path) -> None:
    files = ["a.png", "gone.png", "../secret.png", ""]
    write_coco(source, images=[{"id": n, "file_name": name} for n, name in enumerate(files)])
    Image.new("RGB", SIZE[::-1]).save(source / "secret.png")
    report = import_dataset("coco", source, out)
    assert report.skipped == [
        *(f"{name}: no such image in images" for name in files[1:]),
        "images: 2 pictures in it are not listed in the json (first: c.png)",
        "images/ward: is a sub-folder with pictures, which are not read here",
    ]
    assert report.images == 1


def test_an_image_with_only_a_box_is_named(source: Path, out: Path) -> None:
    write_coco(source, annotations=[{"image_id": 0, "category_id": 7, "bbox": [1, 2, 3, 4]}])
    report = import_dataset("coco", source, out)
    assert report.skipped == ["images/a.png: an annotation has a box but no outline"]


def test_a_file_that_is_not_coco_is_refused(source: Path, out: Path) -> None:
    write_coco(source)
    (source / "labels.json").write_text('{"images": [{"id": 1}], "annotations": [], "categories": []}')
    with pytest.raises(DataError, match=r"labels.json is no COCO file \(images.0.file_name: Field required\)"):
        import_dataset("coco", source, out)
    (source / "labels.json").write_text("{")
    with pytest.raises(DataError, match=r"labels.json is no COCO file \(.*JSON"):
        import_dataset("coco", source, out)


def test_a_category_that_is_not_listed_is_refused(source: Path, out: Path) -> None:
    write_coco(source, categories=[{"id": 7, "name": "polyp"}])
    with pytest.raises(DataError, match="uses category 3, which it does not list"):
        import_dataset("coco", source, out)


def test_two_json_files_need_a_choice(source: Path, out: Path) -> None:
    write_coco(source)
    (source / "other.json").write_text("{}")
    with pytest.raises(DataError, match=r"should hold one json file but holds labels.json, other.json"):
        import_dataset("coco", source, out)
    assert import_dataset("coco", source, out, file="labels.json").images == 3


def test_a_missing_json_is_said(source: Path, out: Path) -> None:
    source.mkdir()
    with pytest.raises(DataError, match="should hold one json file but holds none"):
        import_dataset("coco", source, out)
    with pytest.raises(DataError, match=r"there is no .*gone.json"):
        import_dataset("coco", source, out, file="gone.json")


def test_unknown_choices_are_refused(source: Path, out: Path) -> None:
    with pytest.raises(ConfigError, match="option bare cannot be 'ill'"):
        import_dataset("coco", write_coco(source), out, bare="ill")
