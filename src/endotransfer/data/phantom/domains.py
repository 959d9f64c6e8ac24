"""What defines each kind of endoscopy of the phantom (domains.yaml), and its patients.

Every length is in units of half the frame.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml
from pydantic import TypeAdapter

from endotransfer.data.phantom.random_fields import Field, stream

Range = tuple[float, float]
Colour = tuple[float, float, float]  # as seen on a screen, 0 to 1

IMAGES_PER_PATIENT = 4


@dataclass(frozen=True)
class PhantomDomain:
    """What sets one kind of endoscopy apart: optics, colour, light and texture."""

    name: str
    frames: tuple[str, ...]  # shapes of the visible field, see optics.frame
    lens: float  # tangent of half the angle of view
    wall_views: float  # share of images that look at the wall, with the lumen out of view
    tones: tuple[Colour, ...]  # mucosa of healthy patients; each patient is a mixture
    flush: Colour  # what blood under the mucosa multiplies its colour by
    inflamed: Colour  # the same where the mucosa is ill
    polyps: tuple[Colour, Colour]  # the same on a polyp: usually, and now and then
    thin_blood: Colour
    thick_blood: Colour
    fibrin: Colour  # the coat of an ulcer, fresh
    old_fibrin: Colour
    necrosis: Colour  # the floor of a tumour
    light: Colour  # the lamp's tint
    shadow: Colour  # the tint of what little light comes back from the depth
    exposure: Range
    dimming: float  # how strongly the light falls off towards the edge of the field
    rugae: Range  # height of folds that run along the tube
    rings: Range  # height of folds that run around it
    swell: float  # height of broad, shapeless waves of the wall
    grain_cells: int  # fine texture: bumps from side to side
    grain: float  # and their height
    mottle: float  # uneven colour
    vessels: Range  # visibility of blood vessels
    gloss: float  # strength of reflections of the lamp
    bile: float  # share of images with a pool of bile or mucus
    bile_tones: tuple[Colour, ...]
    murk: Range  # how opaque the pool is
    bubbles: float  # share of images with bubbles
    debris: float  # share of images with flecks of food and mucus
    residue: float  # share of images with lumps of what the bowel still holds
    residue_tones: tuple[Colour, ...]
    blur: Range  # in pixels of a 128-pixel frame
    sharpen: float
    noise: float
    blocks: float  # strength of compression artefacts


def _read_domains() -> dict[str, PhantomDomain]:
    table = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    domains = TypeAdapter(dict[str, PhantomDomain])
    return domains.validate_python({name: {"name": name, **numbers} for name, numbers in table.items()})


DOMAINS = _read_domains()


@dataclass(frozen=True)
class Patient:
    """What the handful of images of one examination have in common."""

    name: str
    tone: Field  # [3], the mucosa's colour
    frame: str
    vessels: float
    exposure: float
    warmth: float  # white balance: above 1 redder, below 1 bluer


def patient_of(domain: PhantomDomain, index: int, seed: int, variant: str) -> Patient:
    """The patient to whom image `index` belongs; `IMAGES_PER_PATIENT` neighbours share one."""
    number = index // IMAGES_PER_PATIENT
    rng = stream(seed, domain.name, variant, "patient", number)
    shares = rng.dirichlet(np.full(len(domain.tones), 0.4))
    return Patient(
        name=f"{domain.name[0]}{number:04d}",
        tone=(shares @ np.array(domain.tones)).astype(np.float32),
        frame=domain.frames[rng.integers(len(domain.frames))],
        vessels=rng.uniform(*domain.vessels),
        exposure=rng.uniform(*domain.exposure),
        warmth=rng.uniform(0.95, 1.05),
    )
