"""Super-pixels: the right number, stored exactly, recomputed only when they must be."""

import multiprocessing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from endotransfer.config import SuperpixelConfig
from endotransfer.data.pipeline import superpixel_cache as module
from endotransfer.data.pipeline.superpixel_cache import SuperpixelCache, cache_folder
from endotransfer.data.pipeline.superpixel_file import decode_regions, encode_regions
from endotransfer.data.pipeline.superpixels import Regions, compute_superpixels
from endotransfer.errors import DataError
from tests.properties import examples

shapes = st.tuples(st.integers(1, 9), st.integers(1, 9))
maps = shapes.flatmap(lambda shape: arrays(np.int32, shape, elements=st.integers(0, 3)))


def scene(seed: int = 0, height: int = 64, width: int = 64) -> NDArray[np.uint8]:
    """A smooth picture with a few blobs and some noise, uint8 [H, W, 3]."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width] / max(height, width)
    waves = [np.sin(rng.uniform(4, 12) * x + rng.uniform(4, 12) * y + rng.uniform(0, 6)) for _ in range(3)]
    return np.clip(128 + 90 * np.stack(waves, -1) + rng.normal(0, 6, (height, width, 3)), 0, 255).astype(np.uint8)


@pytest.fixture
def cache(tmp_path: Path) -> SuperpixelCache:
    return SuperpixelCache(tmp_path / "superpixels", SuperpixelConfig(segments_at_512=1600))


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by one with every image that SLIC is run on in this process."""
    calls: list[int] = []

    def counted(image: NDArray[np.uint8], settings: SuperpixelConfig) -> Regions:
        calls.append(1)
        return compute_superpixels(image, settings)

    monkeypatch.setattr(module, "compute_superpixels", counted)
    return calls


def flood(regions: Regions) -> NDArray[np.int64]:
    """The literal twin of encoding and decoding: 4-connected parts of equal value, numbered in raster order."""
    height, width = regions.shape
    numbers, count = np.full(regions.shape, -1), 0
    for start in np.ndindex(height, width):
        if numbers[start] >= 0:
            continue
        numbers[start], stack = count, [start]
        while stack:
            y, x = stack.pop()
            for there in ((y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)):
                inside = 0 <= there[0] < height and 0 <= there[1] < width
                if inside and numbers[there] < 0 and regions[there] == regions[y, x]:
                    numbers[there] = count
                    stack.append(there)
        count += 1
    return numbers


@examples(300)
@given(regions=maps)
def test_the_file_keeps_every_region(regions: Regions) -> None:
    stored = decode_regions(encode_regions(regions), *regions.shape)
    assert stored is not None
    assert stored.dtype == np.int32
    assert np.array_equal(stored, flood(regions))


@pytest.mark.parametrize("image", [scene(), np.random.default_rng(0).integers(0, 256, (48, 40, 3), np.uint8)])
def test_keeping_changes_no_region_of_slic(cache: SuperpixelCache, image: NDArray[np.uint8]) -> None:
    fresh, stored = compute_superpixels(image, cache.settings), cache.get(image)
    pairs = np.unique(np.stack([fresh.ravel(), stored.ravel()]), axis=1)
    assert pairs.shape[1] == len(np.unique(fresh)) == len(np.unique(stored))


@pytest.mark.parametrize(("height", "width"), [(128, 128), (96, 160)])
def test_there_are_about_as_many_as_asked_for_at_any_size(height: int, width: int) -> None:
    asked = SuperpixelConfig(segments_at_512=1000)
    count = len(np.unique(compute_superpixels(scene(0, height, width), asked)))
    assert count == pytest.approx(1000 * height * width / 512**2, rel=0.3)


def test_more_are_made_where_more_are_asked_for() -> None:
    settings = [SuperpixelConfig(segments_at_512=count) for count in (500, 2000, 8000)]
    counts = [len(np.unique(compute_superpixels(scene(), one))) for one in settings]
    assert counts == sorted(set(counts))


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (5, 3), (32, 32)])
def test_constant_and_tiny_images_have_superpixels_too(cache: SuperpixelCache, shape: tuple[int, int]) -> None:
    regions = cache.get(np.full((*shape, 3), 90, np.uint8))
    assert regions.shape == shape
    assert regions.min() == 0


def test_a_second_look_is_a_reading_and_no_computation(cache: SuperpixelCache, computed: list[int]) -> None:
    first = cache.get(scene())
    assert np.array_equal(SuperpixelCache(cache.folder, cache.settings).get(scene()), first)
    assert len(computed) == 1


def test_a_file_in_the_cache_is_believed(cache: SuperpixelCache) -> None:
    path = cache.path(scene())
    path.parent.mkdir(parents=True)
    planted = np.arange(64 * 64, dtype=np.int32).reshape(64, 64) // 2048
    path.write_bytes(encode_regions(planted))
    assert np.array_equal(cache.get(scene()), planted)


def test_pixels_shape_and_every_setting_name_the_file(tmp_path: Path) -> None:
    image = scene(0, 32, 64)
    paths = [SuperpixelCache(tmp_path).path(image)]
    for other in (SuperpixelConfig(segments_at_512=999), SuperpixelConfig(compactness=9)):
        paths.append(SuperpixelCache(tmp_path, other).path(image))
    changed = image.copy()
    changed[5, 5, 1] ^= 1
    paths += [SuperpixelCache(tmp_path).path(other) for other in (changed, image.reshape(64, 32, 3))]
    assert len(set(paths)) == 5
    view = np.ascontiguousarray(image.transpose(2, 0, 1)).transpose(1, 2, 0)  # the same image, laid out by channel
    assert SuperpixelCache(tmp_path).path(view) == paths[0]


@pytest.mark.parametrize("damage", ["short", "empty", "flipped", "other"])
def test_a_damaged_file_is_made_again(cache: SuperpixelCache, computed: list[int], damage: str) -> None:
    expected, path = cache.get(scene()), cache.path(scene())
    data = path.read_bytes()
    flipped = bytes([*data[:-9], data[-9] ^ 4, *data[-8:]])
    path.write_bytes({"short": data[:-5], "empty": b"", "flipped": flipped, "other": b"x" * 500}[damage])
    assert np.array_equal(cache.get(scene()), expected)
    assert len(computed) == 2
    assert path.read_bytes() == data


@pytest.mark.parametrize("processes", [1, 2])
def test_build_computes_what_is_missing(cache: SuperpixelCache, computed: list[int], processes: int) -> None:
    images = [scene(seed, 32, 32) for seed in range(9)]
    cache.get(images[3])
    seen: list[tuple[int, int]] = []
    assert cache.build(images, lambda done, total: seen.append((done, total)), processes) == 8
    assert seen == [(done, 9) for done in range(1, 10)]
    assert cache.build(images, processes=processes) == 0
    computed.clear()
    for image in images:
        assert np.array_equal(cache.get(image), flood(compute_superpixels(image, cache.settings)))
    assert not computed


def test_build_of_nothing_is_nothing(cache: SuperpixelCache) -> None:
    assert cache.build([]) == 0


def test_two_runs_may_build_one_cache_at_once(cache: SuperpixelCache) -> None:
    images = [scene(seed, 24, 24) for seed in range(30)]
    fork = multiprocessing.get_context("fork")
    runs = [fork.Process(target=cache.build, args=(images, None, 1)) for _ in range(3)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert [run.exitcode for run in runs] == [0, 0, 0]
    files = {path for path in cache.folder.rglob("*") if path.is_file()}
    assert files == {cache.path(image) for image in images}  # and nothing half-written beside them
    assert cache.build(images, processes=1) == 0


def test_a_file_takes_under_a_tenth_of_the_image(cache: SuperpixelCache) -> None:
    cache.get(scene(0, 128, 128))
    assert cache.path(scene(0, 128, 128)).stat().st_size < 0.1 * 128 * 128 * 3


def test_a_folder_that_cannot_be_made_is_named_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DataError, match="set ENDOTRANSFER_CACHE"):
        SuperpixelCache(tmp_path / "file" / "cache").get(scene())


def test_the_folder_is_the_user_s_choice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENDOTRANSFER_CACHE", str(tmp_path))
    assert SuperpixelCache().folder == cache_folder() == tmp_path / "superpixels"
    monkeypatch.delenv("ENDOTRANSFER_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "endotransfer" / "superpixels"
