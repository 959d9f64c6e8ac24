"""The five lesion kinds.  Each has a level field whose zero line is its outline: paint and mask both come from it."""

from collections.abc import Callable

import numpy as np

from endotransfer.data.phantom.domains import Colour, PhantomDomain
from endotransfer.data.phantom.random_fields import Field, cloud, clouds, smoothstep
from endotransfer.data.phantom.scene import Surface, View

AREA = (0.02, 0.25)  # share of the frame that a lesion covers, drawn evenly

# How much longer than wide at most, how ragged, how many bumps from side to side, and how strictly out of the lumen:
# a polyp stands in front of it, what is flat would lie in the dark.
SHAPES = {
    "gastritis": (1.8, 0.55, 7, 3.0),
    "polyp": (1.35, 0.07, 4, 0.3),
    "cancer": (1.5, 0.22, 7, 1.5),
    "bleeding": (2.2, 0.40, 5, 3.0),
    "ulcer": (1.6, 0.12, 6, 3.0),
}


def outline(rng: np.random.Generator, kind: str, view: View, field: Field) -> Field:
    """Level [H, W]: above 0 inside the lesion, 1 at its heart.

    The level is a bent distance from the lesion's centre, cut where as many pixels lie above as the area asks for.
    Outside the visible `field` and deep in the lumen nothing is marked: the mask is what one can see.
    """
    longest, ragged, cells, shy = SHAPES[kind]
    area = rng.uniform(*AREA)
    radius = float(np.sqrt(4 * area / np.pi))
    x, y = _centred(rng, view, radius)
    longer, tilt = np.float32(rng.uniform(1, longest)), rng.uniform(0, np.pi)
    cos, sin = np.float32(np.cos(tilt)), np.float32(np.sin(tilt))
    distance = np.sqrt(((cos * x + sin * y) / longer) ** 2 + (cos * y - sin * x) ** 2 * longer) / np.float32(radius)
    level = np.float32(ragged) * clouds(rng, cells, view.size, 3) - distance
    level = level - np.float32(shy) * np.exp(-((view.rho / np.float32(0.22)) ** 2)) - 9 * (field < 1)
    outside = level.size - max(4, round(area * level.size))
    edge = np.partition(level, outside, axis=None)[outside]
    scaled: Field = (level - edge) / (level.max() - edge)
    return scaled


def _centred(rng: np.random.Generator, view: View, radius: float) -> tuple[Field, Field]:
    """Coordinates around a centre inside the field and, where a few tries find room, beside the lumen."""
    for _ in range(12):
        away, bearing = 0.62 * np.sqrt(rng.random()), rng.uniform(0, 2 * np.pi)
        x, y = away * np.cos(bearing), away * np.sin(bearing)
        if view.rho[view.pixel(x, y)] > 0.35 + 0.5 * radius:
            break
    return view.u - np.float32(x), view.v - np.float32(y)


def tinted(colour: Field, towards: Field | Colour, share: Field) -> Field:
    """Blend [H, W, 3] with a colour (or [H, W, 3]) by a share [H, W]."""
    return colour + share[..., None] * (np.asarray(towards, np.float32) - colour)


def stained(colour: Field, factor: Colour, strength: Field) -> Field:
    """Multiply [H, W, 3] by a colour, raised to a strength [H, W], as a deeper layer of dye would."""
    return colour * np.exp(strength[..., None] * np.log(np.array(factor, np.float32)))


def _levelled(log_depth: Field, level: Field, inside: Field) -> Field:
    """Depth without the folds under a mass, which hides them."""
    flattened: Field = log_depth + np.float32(0.8) * inside * (log_depth[level > 0].mean() - log_depth)
    return flattened


def gastritis(rng: np.random.Generator, domain: PhantomDomain, level: Field, surface: Surface) -> Surface:
    """Diffuse reddening in patches, swollen a little, with darker spots where blood has leaked."""
    size = level.shape[0]
    inside = smoothstep(-0.12, 0.32, level)
    spots = smoothstep(0.9, 1.8, cloud(rng, 26, size)) * inside
    colour = stained(surface.albedo, domain.inflamed, np.float32(1.1) * inside + np.float32(0.9) * spots)
    height = np.float32(0.02) * inside * (1 + np.float32(0.5) * cloud(rng, 20, size))
    return Surface(surface.log_depth - height, colour, surface.gloss + np.float32(0.5) * inside)


def polyp(rng: np.random.Generator, domain: PhantomDomain, level: Field, surface: Surface) -> Surface:
    """A raised dome, redder or paler than its surroundings, with a fine pattern of pits."""
    size = level.shape[0]
    inside, height = smoothstep(-0.03, 0.05, level), np.clip(level, 0, 1)
    dome = np.float32(rng.uniform(0.22, 0.36)) * np.sqrt(height * (2 - height))
    dome = dome + np.float32(0.006) * cloud(rng, 44, size) * inside
    patchy = inside * (1 + np.float32(0.25) * clouds(rng, 9, size, 2))
    colour = stained(surface.albedo, domain.polyps[int(rng.random() < 0.3)], patchy)
    depth = _levelled(surface.log_depth, level, inside) - dome
    return Surface(depth, colour, surface.gloss + np.float32(0.7) * inside)


def cancer(rng: np.random.Generator, domain: PhantomDomain, level: Field, surface: Surface) -> Surface:
    """An irregular mass: a lumpy raised wall around an ulcerated floor, whitish, dark red and brown side by side."""
    size = level.shape[0]
    inside = smoothstep(-0.04, 0.08, level)
    floor = smoothstep(0.45, 0.7, level + np.float32(0.12) * cloud(rng, 10, size))
    lumps = np.float32(0.20) * np.sqrt(np.clip(level, 0, 1)) + np.float32(0.05) * clouds(rng, 12, size, 3)
    pale = smoothstep(0.1, 0.9, clouds(rng, 9, size, 2)) * floor
    bloody = smoothstep(0.3, 1.1, clouds(rng, 8, size, 2)) * inside * (1 - pale)
    colour = stained(surface.albedo, domain.inflamed, inside)
    colour = tinted(colour, domain.necrosis, np.float32(0.6) * floor)
    colour = tinted(colour, domain.fibrin, np.float32(0.8) * pale)
    colour = tinted(colour, domain.thick_blood, np.float32(0.75) * bloody)
    depth = _levelled(surface.log_depth, level, inside) - lumps * inside * (1 - np.float32(0.8) * floor)
    return Surface(depth, colour, surface.gloss + np.float32(0.3) * inside)


def bleeding(rng: np.random.Generator, domain: PhantomDomain, level: Field, surface: Surface) -> Surface:
    """Blood: a dark glossy pool, brighter and streaky where it is thin."""
    size = level.shape[0]
    inside = smoothstep(-0.04, 0.08, level)
    thick = smoothstep(0.05, 0.75, level + np.float32(0.2) * clouds(rng, 7, size, 3)) * inside
    streaks = np.clip(np.float32(0.80) + np.float32(0.12) * clouds(rng, 12, size, 2), 0.5, 1)
    colour = tinted(surface.albedo, domain.thin_blood, streaks * inside)
    colour = tinted(colour, domain.thick_blood, np.float32(0.9) * thick)
    return Surface(surface.log_depth - np.float32(0.03) * thick, colour, surface.gloss + inside)


def ulcer(rng: np.random.Generator, domain: PhantomDomain, level: Field, surface: Surface) -> Surface:
    """A crater: a base coated with whitish fibrin, fresh and old, inside a swollen red rim."""
    size = level.shape[0]
    inside = smoothstep(-0.10, 0.14, level)
    base = smoothstep(0.22, 0.45, level + np.float32(0.09) * clouds(rng, 9, size, 2))
    coat = tinted(np.ones_like(surface.albedo), domain.fibrin, np.ones_like(level))
    coat = tinted(coat, domain.old_fibrin, smoothstep(-0.6, 1.0, clouds(rng, 8, size, 3)))
    colour = tinted(stained(surface.albedo, domain.inflamed, inside * (1 - base)), coat, np.float32(0.9) * base)
    rim = np.float32(0.07) * np.sin(np.clip(level / np.float32(0.4), 0, 1) * np.float32(np.pi))
    return Surface(surface.log_depth - rim + np.float32(0.10) * base, colour, surface.gloss)


KINDS: dict[str, Callable[[np.random.Generator, PhantomDomain, Field, Surface], Surface]] = {
    "gastritis": gastritis,
    "polyp": polyp,
    "cancer": cancer,
    "bleeding": bleeding,
    "ulcer": ulcer,
}
