"""The two kinds of endoscopy as numbers, and a patient's share of them.  Every length is in units of half the frame."""

from dataclasses import dataclass

import numpy as np

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
    wall_views: float  # share of images that look at the wall, with the lumen out of sight
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


GASTROSCOPY = PhantomDomain(
    name="gastroscopy",
    frames=("octagon", "rounded", "barrel"),
    lens=1.1,
    wall_views=0.35,
    tones=((0.88, 0.53, 0.46), (0.87, 0.49, 0.34), (0.88, 0.62, 0.61), (0.80, 0.40, 0.34)),
    flush=(0.96, 0.72, 0.72),
    inflamed=(0.96, 0.56, 0.54),
    polyps=((1.02, 0.66, 0.62), (1.06, 0.84, 0.74)),
    thin_blood=(0.62, 0.12, 0.09),
    thick_blood=(0.36, 0.04, 0.04),
    fibrin=(0.92, 0.86, 0.70),
    old_fibrin=(0.78, 0.62, 0.40),
    necrosis=(0.50, 0.28, 0.20),
    light=(1.0, 0.98, 0.95),
    shadow=(0.95, 0.42, 0.34),
    exposure=(1.1, 1.6),
    dimming=0.15,
    rugae=(0.08, 0.34),
    rings=(0.0, 0.32),
    swell=0.06,
    grain_cells=56,
    grain=0.006,
    mottle=0.10,
    vessels=(0.0, 0.65),
    gloss=1.0,
    bile=0.35,
    bile_tones=((0.86, 0.78, 0.50), (0.86, 0.79, 0.60), (0.80, 0.66, 0.34)),
    murk=(0.35, 0.75),
    bubbles=0.35,
    debris=0.1,
    residue=0.0,
    residue_tones=((0.60, 0.50, 0.30),),
    blur=(0.0, 0.5),
    sharpen=0.5,
    noise=0.008,
    blocks=0.0,
)

CAPSULE = PhantomDomain(
    name="capsule",
    frames=("circle",),
    lens=1.25,
    wall_views=0.4,
    tones=((0.76, 0.57, 0.34), (0.70, 0.58, 0.28), (0.76, 0.42, 0.25), (0.64, 0.55, 0.32)),
    flush=(0.98, 0.73, 0.56),
    inflamed=(0.93, 0.61, 0.74),
    polyps=((1.00, 0.68, 0.78), (1.06, 0.90, 0.96)),
    thin_blood=(0.52, 0.16, 0.125),
    thick_blood=(0.32, 0.06, 0.075),
    fibrin=(0.88, 0.84, 0.63),
    old_fibrin=(0.72, 0.65, 0.39),
    necrosis=(0.44, 0.29, 0.24),
    light=(1.0, 0.90, 0.72),
    shadow=(0.85, 0.52, 0.22),
    exposure=(0.55, 0.95),
    dimming=0.75,
    rugae=(0.03, 0.12),
    rings=(0.1, 0.5),
    swell=0.06,
    grain_cells=72,
    grain=0.016,
    mottle=0.18,
    vessels=(0.0, 0.7),
    gloss=0.45,
    bile=0.65,
    bile_tones=((0.62, 0.56, 0.12), (0.50, 0.48, 0.12), (0.42, 0.44, 0.16), (0.72, 0.64, 0.28)),
    murk=(0.55, 0.95),
    bubbles=0.55,
    debris=0.5,
    residue=0.65,
    residue_tones=((0.36, 0.34, 0.08), (0.62, 0.34, 0.10), (0.42, 0.22, 0.08), (0.64, 0.52, 0.14), (0.52, 0.27, 0.08)),
    blur=(0.5, 1.1),
    sharpen=0.0,
    noise=0.015,
    blocks=1.0,
)

DOMAINS = {domain.name: domain for domain in (GASTROSCOPY, CAPSULE)}


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
