"""The phantom: the same bytes for the same seed, masks that agree with tags, two domains, native folders."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from endotransfer.batch import LESION, NORMAL, UNKNOWN_TAG
from endotransfer.data.phantom import CLASSES, DOMAINS, FINDINGS, PhantomImage, lesion_kinds, render
from endotransfer.data.phantom.domains import patient_of
from endotransfer.errors import ConfigError

SIZE = 48
GASTROSCOPY, CAPSULE = "gastroscopy", "capsule"


@pytest.fixture(scope="module")
def lesion_images() -> dict[str, list[PhantomImage]]:
    return {domain: [render(domain, index, 7, SIZE) for index in range(40)] for domain in DOMAINS}


@pytest.fixture(scope="module")
def five_class_images() -> dict[str, list[PhantomImage]]:
    return {domain: [render(domain, index, 7, SIZE, "five_class") for index in range(30)] for domain in DOMAINS}


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
def test_another_index_seed_domain_or_variant_is_another_image(change: dict[str, Any]) -> None:
    arguments: dict[str, Any] = {"domain": GASTROSCOPY, "index": 5, "seed": 3, "size": SIZE, "variant": "lesion"}
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
    def black(domain: str) -> NDArray[np.float64]:
        dark = np.stack([made.image.max(axis=-1) < 25 for made in lesion_images[domain]])
        return np.asarray(dark.mean(axis=0), np.float64)

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


def test_render_refuses_unknown_names_and_tiny_sizes() -> None:
    for arguments in (("colonoscopy", 0, 0, 32), (CAPSULE, 0, 0, 8), (CAPSULE, 0, 0, 32, "seven")):
        with pytest.raises(ConfigError, match="phantom"):
            render(*arguments)
