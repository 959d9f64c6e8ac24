"""The phantom: the same bytes for the same seed, masks that agree with tags, two domains, native folders."""

import csv
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image

from endotransfer.batch import LESION, NORMAL, UNKNOWN_TAG
from endotransfer.data.phantom import CLASSES, DOMAINS, FINDINGS, PhantomImage, lesion_kinds, render, write_phantom
from endotransfer.data.phantom.domains import patient_of
from endotransfer.data.phantom.optics import compress
from endotransfer.data.phantom.random_fields import Wrapping, cloud, smoothstep, stream, stretch
from endotransfer.errors import ConfigError, DataError

SIZE = 48
GASTROSCOPY, CAPSULE = "gastroscopy", "capsule"


@pytest.fixture(scope="module")
def lesion_images() -> dict[str, list[PhantomImage]]:
    return {domain: [render(domain, index, 7, SIZE) for index in range(40)] for domain in DOMAINS}


@pytest.fixture(scope="module")
def five_class_images() -> dict[str, list[PhantomImage]]:
    return {domain: [render(domain, index, 7, SIZE, "five_class") for index in range(30)] for domain in DOMAINS}


def rows_of(folder: Path) -> list[dict[str, str]]:
    with (folder / "labels.csv").open() as file:
        return list(csv.DictReader(file))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# --- one image


@pytest.mark.parametrize("domain", DOMAINS)
def test_an_image_depends_on_its_arguments_and_on_nothing_drawn_before(domain: str) -> None:
    first = render(domain, 5, 3, SIZE)
    np.random.seed(0)
    render(domain, 9, 3, SIZE)
    again = render(domain, 5, 3, SIZE)
    assert np.array_equal(first.image, again.image) and np.array_equal(first.mask, again.mask)
    assert (first.tag, first.finding, first.patient) == (again.tag, again.finding, again.patient)


@pytest.mark.parametrize("change", [{"index": 6}, {"seed": 4}, {"domain": CAPSULE}, {"variant": "five_class"}])
def test_another_index_seed_domain_or_variant_is_another_image(change: dict) -> None:
    arguments = {"domain": GASTROSCOPY, "index": 5, "seed": 3, "size": SIZE, "variant": "lesion"}
    assert not np.array_equal(render(**arguments).image, render(**arguments | change).image)


@pytest.mark.parametrize("size", [32, 50, 128])
@pytest.mark.parametrize("domain", DOMAINS)
def test_any_size_gives_bytes_of_that_size(domain: str, size: int) -> None:
    made = render(domain, 1, 0, size)
    assert made.image.shape == (size, size, 3) and made.image.dtype == np.uint8
    assert made.mask.shape == (size, size) and made.mask.dtype == np.uint8


@pytest.mark.parametrize("domain", DOMAINS)
def test_another_size_shows_the_same_scene(domain: str) -> None:
    for index in range(6):
        small, large = render(domain, index, 1, 64), render(domain, index, 1, 128)
        halved = large.image.reshape(64, 2, 64, 2, 3).mean(axis=(1, 3))
        assert np.corrcoef(small.image.ravel(), halved.ravel())[0, 1] > 0.9
        assert abs(small.mask.mean() - large.mask.mean()) < 0.005


def test_the_images_of_a_patient_share_a_tone_and_show_it(lesion_images: dict[str, list[PhantomImage]]) -> None:
    patients = [patient_of(DOMAINS[GASTROSCOPY], index, 7, "lesion") for index in range(40)]
    assert [made.patient for made in lesion_images[GASTROSCOPY]] == [patient.name for patient in patients]
    assert len({tuple(patient.tone) for patient in patients}) == len({patient.name for patient in patients}) == 10
    normal = [index for index in range(40) if lesion_images[GASTROSCOPY][index].tag == NORMAL]
    tones = [patients[index].tone[2] / patients[index].tone[0] for index in normal]
    middles = [lesion_images[GASTROSCOPY][index].image[10:38, 10:38].reshape(-1, 3) for index in normal]
    seen = [np.median(middle[:, 2]) / np.median(middle[:, 0]) for middle in middles]
    assert np.corrcoef(tones, seen)[0, 1] > 0.5


# --- lesions


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_mask_has_pixels_exactly_where_the_tag_says_lesion(
    domain: str, lesion_images: dict[str, list[PhantomImage]]
) -> None:
    for made in lesion_images[domain]:
        assert set(np.unique(made.mask)) == ({0} if made.tag == NORMAL else {0, 1})
        assert (made.finding == "normal") == (made.tag == NORMAL)
    assert [made.tag for made in lesion_images[domain]].count(LESION) == 20


@pytest.mark.parametrize("domain", DOMAINS)
def test_ten_images_hold_every_kind_once(domain: str, lesion_images: dict[str, list[PhantomImage]]) -> None:
    for start in range(0, 40, 10):
        findings = [made.finding for made in lesion_images[domain][start : start + 10]]
        assert sorted(findings) == sorted([*FINDINGS, *["normal"] * 5])


@pytest.mark.parametrize("domain", DOMAINS)
def test_lesions_cover_two_to_twenty_five_per_cent(domain: str, lesion_images: dict[str, list[PhantomImage]]) -> None:
    areas = np.array([made.mask.mean() for made in lesion_images[domain] if made.tag == LESION])
    low, high = lesion_kinds.AREA
    assert areas.min() > low - 0.002 and areas.max() < high + 0.002
    assert areas.max() > 4 * areas.min()


@pytest.mark.parametrize("domain", DOMAINS)
def test_lesions_lie_inside_the_visible_field(domain: str, lesion_images: dict[str, list[PhantomImage]]) -> None:
    for made in lesion_images[domain]:
        corners = made.mask[[0, 0, -1, -1], [0, -1, 0, -1]]
        assert not corners.any()
        assert made.image[made.mask == 1].max(axis=-1).min(initial=255) > 4


@pytest.mark.parametrize("kind", FINDINGS)
@pytest.mark.parametrize("domain", DOMAINS)
def test_the_mask_is_where_the_picture_changes(domain: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same image painted with and without its lesion differs inside the mask, hardly outside it."""
    index = next(i for i in range(20) if render(domain, i, 2, 32).finding == kind)
    ill = render(domain, index, 2, SIZE)
    monkeypatch.setitem(lesion_kinds.KINDS, kind, lambda rng, domain, level, surface: surface)
    healthy = render(domain, index, 2, SIZE)
    change = np.abs(ill.image.astype(int) - healthy.image).mean(axis=-1)
    assert change[ill.mask == 1].mean() > 3 * change[ill.mask == 0].mean()


# --- domains


def test_the_domains_differ_in_light_colour_and_sharpness(lesion_images: dict[str, list[PhantomImage]]) -> None:
    def statistics(domain: str) -> tuple[float, float, float]:
        pictures = np.stack([made.image for made in lesion_images[domain]]).astype(float)
        red, green, blue = pictures.mean(axis=(0, 1, 2))
        centre, rim = pictures[:, 16:32, 16:32].mean(), pictures[:, SIZE // 2, 3:6].mean()
        return pictures[:, 16:32, 16:32].mean(), green / red - blue / red, rim / centre

    (bright, yellow, rim), (dim, yellower, darker_rim) = statistics(GASTROSCOPY), statistics(CAPSULE)
    assert bright > 1.2 * dim
    assert yellower > yellow + 0.1
    assert darker_rim < 0.75 * rim


def test_the_capsule_has_a_round_field_and_the_gastroscope_cut_corners(
    lesion_images: dict[str, list[PhantomImage]],
) -> None:
    def black(domain: str) -> np.ndarray:
        return np.stack([made.image.max(axis=-1) < 25 for made in lesion_images[domain]]).mean(axis=0)

    assert black(CAPSULE)[2:5, 2:5].all() and black(CAPSULE)[5, 5] == 1
    assert black(GASTROSCOPY)[0, 0] == 1 and black(GASTROSCOPY)[6, 6] < 0.5


# --- five classes


@pytest.mark.parametrize("domain", DOMAINS)
def test_five_classes_are_all_common_and_nothing_is_tagged(
    domain: str, five_class_images: dict[str, list[PhantomImage]]
) -> None:
    present = np.array([[(made.mask == k).any() for k in range(5)] for made in five_class_images[domain]])
    assert present[:, 0].all() and (present.mean(axis=0) > 0.35).all()
    assert max(made.mask.max() for made in five_class_images[domain]) == len(CLASSES) - 1
    assert {made.tag for made in five_class_images[domain]} == {UNKNOWN_TAG}


def test_outside_the_round_field_everything_is_class_zero(five_class_images: dict[str, list[PhantomImage]]) -> None:
    axis = (np.arange(SIZE) + 0.5) * 2 / SIZE - 1
    outside = np.hypot(axis[:, None], axis[None]) > 1.05
    assert all(not made.mask[outside].any() for made in five_class_images[CAPSULE])


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_lumen_is_the_dark_part(domain: str, five_class_images: dict[str, list[PhantomImage]]) -> None:
    lumen, mucosa = [], []
    for made in five_class_images[domain]:
        lumen.append(made.image[made.mask == CLASSES.index("lumen")])
        middle = made.image[12:36, 12:36]
        mucosa.append(middle[made.mask[12:36, 12:36] == 0])
    assert np.concatenate(lumen).mean() < 0.6 * np.concatenate(mucosa).mean()


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
def test_what_cannot_be_meant_is_refused_before_anything_is_written(tmp_path: Path, wrong: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        write_phantom(**{"out": tmp_path / "new", "images": 2, "seed": 0, "size": 32} | wrong)
    assert not (tmp_path / "new").exists()


def test_render_refuses_unknown_names_and_tiny_sizes() -> None:
    for arguments in (("colonoscopy", 0, 0, 32), (CAPSULE, 0, 0, 8), (CAPSULE, 0, 0, 32, "seven")):
        with pytest.raises(ConfigError, match="phantom"):
            render(*arguments)


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


# --- parts


def test_streams_follow_their_names() -> None:
    assert stream(1, "a").random() == stream(1, "a").random()
    assert len({stream(*key).random() for key in [(1, "a"), (1, "b"), (2, "a"), (11, "a"), (-1, "a")]}) == 5


def test_stretch_equals_the_spline_written_out() -> None:
    """Against B(t) summed over every knot, pixel by pixel."""

    def basis(t: float) -> float:
        t = abs(t)
        return (4 - 6 * t**2 + 3 * t**3) / 6 if t < 1 else (2 - t) ** 3 / 6 if t < 2 else 0.0

    knots = np.random.default_rng(0).standard_normal((6, 8)).astype(np.float32)
    height, width, expected = 7, 9, np.zeros((7, 9))
    for row in range(height):
        for column in range(width):
            y, x = (row + 0.5) / height * 3 + 1, (column + 0.5) / width * 5 + 1
            expected[row, column] = sum(knots[j, i] * basis(y - j) * basis(x - i) for j in range(6) for i in range(8))
    np.testing.assert_allclose(stretch(knots, height, width), expected, atol=1e-5)


def test_clouds_have_about_unit_variance_and_no_mean() -> None:
    fields = np.stack([cloud(stream(k), 12, 64) for k in range(40)])
    assert abs(fields.mean()) < 0.1 and 0.85 < fields.std() < 1.15


def test_wrapping_noise_closes_around_the_tube() -> None:
    noise = Wrapping(stream("tube"), 8, 4)
    along = np.linspace(0, 1, 5, dtype=np.float32)[None]
    before, after = noise.at(np.full_like(along, 0.001), along), noise.at(np.full_like(along, 1.001), along)
    np.testing.assert_allclose(before, after, atol=1e-4)
    assert np.abs(noise.at(np.full_like(along, 0.0), along) - noise.at(np.full_like(along, 0.999), along)).max() < 0.1


def test_smoothstep_rises_from_zero_to_one() -> None:
    x = np.array([-1, 0, 0.5, 1, 2], np.float32)
    np.testing.assert_allclose(smoothstep(0, 1, x), [0, 0, 0.5, 1, 1])


@pytest.mark.parametrize("size", [16, 21])
def test_compression_keeps_the_picture_and_loses_the_fine_waves(size: int) -> None:
    picture = 0.5 + 0.1 * stream("noise").standard_normal((size, size, 3)).astype(np.float32)
    squeezed = compress(picture, 1.0)
    assert squeezed.shape == picture.shape
    assert abs(squeezed.mean() - picture.mean()) < 0.01
    assert squeezed.std() < picture.std()
    np.testing.assert_allclose(compress(picture, 1e-4), picture, atol=1e-3)
