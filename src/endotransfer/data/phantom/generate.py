"""One image of the phantom: `render` puts organ, lesion, clutter and camera together."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from endotransfer.data.phantom import clutter, optics, scene
from endotransfer.data.phantom import lesion_kinds as lesions
from endotransfer.data.phantom.domains import DOMAINS, Patient, PhantomDomain, patient_of
from endotransfer.data.phantom.random_fields import Field, stream
from endotransfer.errors import ConfigError
from endotransfer.label_values import UNKNOWN_TAG
from endotransfer.registry import nearest

T = TypeVar("T")
Draw = Callable[[str], np.random.Generator]  # part of the image -> its own random stream
Mask = NDArray[np.bool_]

CLASSES = ("mucosa", "lumen", "lesion", "fluid", "bubbles")  # of the variant `five_class`, in index order
VARIANTS = {"lesion": ("normal", "lesion"), "five_class": CLASSES}
FINDINGS = tuple(lesions.KINDS)
NORMAL = "normal"
SMALLEST = 16
DARK = 1.15  # log-depth beyond which the tube is called lumen
MANY = 0.6  # the least share of five-class images with fluid, and with bubbles


@dataclass(frozen=True)
class PhantomImage:
    """One image with its mask, tag and finding."""

    image: NDArray[np.uint8]  # [H, W, 3]
    mask: NDArray[np.uint8]  # [H, W]: 0 normal, 1 lesion; in the variant `five_class` the index into CLASSES
    tag: int  # 0 normal, 1 lesion, UNKNOWN_TAG where the variant has no tags
    finding: str  # one of FINDINGS, or NORMAL
    patient: str


def render(domain: str, index: int, seed: int, size: int, variant: str = "lesion") -> PhantomImage:
    """Image `index` of a domain.  The arguments alone decide every byte; `size` (pixels a side) only the resolution."""
    kind = known("domain", domain, DOMAINS)
    known("variant", variant, VARIANTS)
    if size < SMALLEST:
        raise ConfigError(f"the phantom cannot be {size} pixels wide; ask for at least {SMALLEST}.")
    patient = patient_of(kind, index, seed, variant)
    finding = finding_of(domain, index, seed, variant)
    least = MANY if variant == "five_class" else 0.0
    image, layers = _paint(partial(stream, seed, domain, variant, index), kind, patient, finding, size, least)
    mask = layers["lesion"].astype(np.uint8) if variant == "lesion" else _index(layers)
    tag = int(finding != NORMAL) if variant == "lesion" else UNKNOWN_TAG
    return PhantomImage(image, mask, tag, finding, patient.name)


def finding_of(domain: str, index: int, seed: int, variant: str) -> str:
    """Of two neighbours one is normal, and of ten five show the five kinds: balanced at any number of images."""
    pair = index // 2
    if index % 2 == stream(seed, domain, variant, "pair", pair).integers(2):
        return NORMAL
    order = stream(seed, domain, variant, "kinds", pair // len(FINDINGS)).permutation(len(FINDINGS))
    finding: str = FINDINGS[order[pair % len(FINDINGS)]]
    return finding


def _paint(
    draw: Draw, domain: PhantomDomain, patient: Patient, finding: str, size: int, least: float
) -> tuple[NDArray[np.uint8], dict[str, Mask]]:
    """The picture [H, W, 3] and where each structure is visible in it."""
    view = scene.look(draw("view"), domain, size)
    field = optics.frame(patient.frame, view)
    depth = scene.relief(draw("relief"), domain, view)
    colour = scene.mucosa(draw("mucosa"), domain, patient, view)
    surface = scene.Surface(depth, colour, np.ones_like(depth))
    surface, lesion = _with_lesion(draw, domain, finding, view, field, surface)
    surface, fluid = _with_fluid(draw, domain, view, lesion, surface, least)
    light = optics.illuminate(draw("light"), domain, patient, view, surface)
    lumen = depth > DARK
    foam = _with_bubbles(draw, domain, view, lesion | lumen, light, least)
    picture = optics.photograph(draw("sensor"), domain, light, field)
    layers = {"fluid": fluid, "lumen": lumen, "lesion": lesion, "bubbles": foam}
    return np.round(picture * 255).astype(np.uint8), {name: where & (field > 0.5) for name, where in layers.items()}


def _with_lesion(
    draw: Draw, domain: PhantomDomain, finding: str, view: scene.View, field: Field, surface: scene.Surface
) -> tuple[scene.Surface, Mask]:
    if finding == NORMAL:
        return surface, np.zeros(field.shape, bool)
    level = lesions.outline(draw("outline"), finding, view, field)
    return lesions.KINDS[finding](draw("lesion"), domain, level, surface), level > 0


def _with_fluid(
    draw: Draw, domain: PhantomDomain, view: scene.View, lesion: Mask, surface: scene.Surface, least: float
) -> tuple[scene.Surface, Mask]:
    """Bile and flecks beside the lesion, never on it: its mask must stay what one sees."""
    rng, fluid, free = draw("clutter"), np.zeros_like(lesion), np.float32(1) - lesion
    if rng.random() < max(domain.bile, least):
        level = clutter.pool(draw("pool"), view)
        surface, fluid = clutter.flood(draw("flood"), domain, level, free, surface), level > 0
    if rng.random() < domain.debris:
        surface = clutter.scatter(draw("debris"), domain, free, surface)
    if rng.random() < domain.residue:
        surface = clutter.litter(draw("residue"), domain, free, surface)
    return surface, fluid


def _with_bubbles(draw: Draw, domain: PhantomDomain, view: scene.View, avoid: Mask, light: Field, least: float) -> Mask:
    """Bubbles drawn into `light` in place."""
    rng = draw("bubbles")
    if rng.random() >= max(domain.bubbles, least):
        return np.zeros_like(avoid)
    return clutter.blow(light, view, clutter.cluster(rng, view, avoid)) > 0.5


def _index(layers: dict[str, Mask]) -> NDArray[np.uint8]:
    """Class index [H, W]; where structures overlap the last of `layers` is in front."""
    mask = np.zeros(layers["lesion"].shape, np.uint8)
    for name, where in layers.items():
        mask[where] = CLASSES.index(name)
    return mask


def known(what: str, name: str, table: dict[str, T]) -> T:
    if name not in table:
        raise ConfigError(f"the phantom has no {what} called '{name}'; {nearest(name, list(table))}")
    return table[name]
