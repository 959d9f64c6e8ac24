"""The five lesion kinds.  Each has a level field whose zero line is its outline: it is drawn from that and so is its mask."""

from collections.abc import Callable

import numpy as np

from endotransfer.data.phantom.domains import Domain
from endotransfer.data.phantom.noise import Field, cloud, clouds, smoothstep
from endotransfer.data.phantom.scene import Surface, View

Paint = Callable[[np.random.Generator, Domain, Field, Surface], Surface]

AREA = (0.02, 0.25)  # share of the frame that a lesion covers


def outline(rng: np.random.Generator, kind: str, view: View, field: Field) -> Field:
    """Level [H, W]: above 0 inside the lesion, 1 at its heart.  It covers exactly the drawn share of the frame.

    The level is a bent distance from the lesion's centre, cut where as many pixels lie above as the area asks for.
    """
    area = rng.uniform(*AREA)
    x, y = _centred(rng, view, np.sqrt(4 * area / np.pi))
    longer, ragged, cells = SHAPES[kind]
    a, tilt = np.float32(rng.uniform(1, longer)), rng.uniform(0, np.pi)
    cos, sin = np.float32(np.cos(tilt)), np.float32(np.sin(tilt))
    reach = np.float32(np.sqrt(4 * area / np.pi))
    q = np.sqrt(((cos * x + sin * y) / a) ** 2 + (cos * y - sin * x) ** 2 * a) / reach
    raw = np.float32(ragged) * clouds(rng, cells, view.size, 3) - q
    raw = raw - 3 * np.exp(-((view.rho / np.float32(0.22)) ** 2)) - 9 * (field < 1)
    pixels = raw.size - max(4, round(area * raw.size))
    edge = np.partition(raw, pixels, axis=None)[pixels]
    return (raw - edge) / (raw.max() - edge + np.float32(1e-6))


def _centred(rng: np.random.Generator, view: View, radius: float) -> tuple[Field, Field]:
    """Coordinates around a centre inside the field and, where there is room, beside the lumen."""
    dark = view.rho < 0.35 + 0.5 * radius
    for _ in range(12):
        away, bearing = 0.62 * np.sqrt(rng.random()), rng.uniform(0, 2 * np.pi)
        x, y = away * np.cos(bearing), away * np.sin(bearing)
        if not dark[int((y + 1) / 2 * view.size), int((x + 1) / 2 * view.size)]:
            break
    return view.u - np.float32(x), view.v - np.float32(y)


# How much longer than wide, how ragged, and how many bumps from side to side.
SHAPES = {
    "gastritis": (1.8, 0.55, 7),
    "polyp": (1.35, 0.07, 4),
    "cancer": (1.5, 0.22, 7),
    "bleeding": (2.2, 0.40, 5),
    "ulcer": (1.6, 0.12, 6),
}


def tinted(colour: Field, towards: Field | tuple[float, float, float], share: Field) -> Field:
    """Blend [H, W, 3] with a colour by a share [H, W]."""
    return colour + share[..., None] * (np.asarray(towards, np.float32) - colour)


def gastritis(rng: np.random.Generator, domain: Domain, level: Field, surface: Surface) -> Surface:
    """Diffuse reddening in patches, swollen a little, with darker spots where blood has leaked."""
    size = level.shape[0]
    inside = smoothstep(-0.08, 0.25, level)
    spots = smoothstep(0.9, 1.8, cloud(rng, 26, size)) * inside
    red = np.array(domain.inflamed, np.float32) ** (np.float32(1.1) * inside + np.float32(0.9) * spots)[..., None]
    height = np.float32(0.02) * inside * (1 + np.float32(0.5) * cloud(rng, 20, size))
    return Surface(surface.log_depth - height, surface.albedo * red, surface.gloss + np.float32(0.5) * inside)


def polyp(rng: np.random.Generator, domain: Domain, level: Field, surface: Surface) -> Surface:
    """A raised dome, redder or paler than its surroundings, with a fine pattern of pits."""
    size = level.shape[0]
    inside = smoothstep(-0.03, 0.05, level)
    dome = np.sqrt(np.clip(level, 0, 1) * (2 - np.clip(level, 0, 1)))
    pits = cloud(rng, 44, size)
    height = np.float32(rng.uniform(0.18, 0.32)) * dome + np.float32(0.006) * pits * inside
    base = _levelled(surface.log_depth, level, inside)
    hue = np.array(domain.polyps[int(rng.random() < 0.3)], np.float32)
    patchy = inside * (1 + np.float32(0.25) * clouds(rng, 9, size, 2))
    return Surface(base - height, surface.albedo * hue ** patchy[..., None], surface.gloss + inside * 0.7)


def _levelled(log_depth: Field, level: Field, inside: Field) -> Field:
    """Depth without the folds under a mass: it hides them."""
    return log_depth + np.float32(0.8) * inside * (log_depth[level > 0].mean() - log_depth)


def cancer(rng: np.random.Generator, domain: Domain, level: Field, surface: Surface) -> Surface:
    """An irregular mass: a lumpy raised wall around an ulcerated floor, whitish, dark red and brown side by side."""
    size = level.shape[0]
    inside = smoothstep(-0.04, 0.08, level)
    floor = smoothstep(0.45, 0.7, level + np.float32(0.12) * cloud(rng, 10, size))
    lumps = clouds(rng, 12, size, 3)
    height = (np.float32(0.20) * np.sqrt(np.clip(level, 0, 1)) + np.float32(0.05) * lumps) * inside
    height = height * (1 - np.float32(0.8) * floor)
    wall = surface.albedo * np.array(domain.inflamed, np.float32)
    colour = tinted(surface.albedo, wall, inside)
    pale = smoothstep(0.1, 0.9, clouds(rng, 9, size, 2)) * floor
    bloody = smoothstep(0.3, 1.1, clouds(rng, 8, size, 2)) * inside * (1 - pale)
    colour = tinted(colour, domain.necrosis, np.float32(0.6) * floor)
    colour = tinted(colour, domain.fibrin, np.float32(0.8) * pale)
    colour = tinted(colour, domain.thick_blood, np.float32(0.75) * bloody)
    base = _levelled(surface.log_depth, level, inside)
    return Surface(base - height, colour, surface.gloss + np.float32(0.3) * inside)


def bleeding(rng: np.random.Generator, domain: Domain, level: Field, surface: Surface) -> Surface:
    """Blood: a dark glossy pool, brighter red where it is thin."""
    size = level.shape[0]
    inside = smoothstep(-0.04, 0.08, level)
    thick = smoothstep(0.05, 0.75, level + np.float32(0.2) * clouds(rng, 7, size, 3))
    streaks = np.float32(0.80) + np.float32(0.12) * clouds(rng, 12, size, 2)
    thin = tinted(surface.albedo, domain.thin_blood, np.clip(streaks, 0.5, 1) * inside)
    colour = tinted(thin, domain.thick_blood, np.float32(0.9) * thick * inside)
    return Surface(surface.log_depth - np.float32(0.03) * thick * inside, colour, surface.gloss + inside)


def ulcer(rng: np.random.Generator, domain: Domain, level: Field, surface: Surface) -> Surface:
    """A crater: whitish base of fibrin, a swollen red rim."""
    size = level.shape[0]
    inside = smoothstep(-0.10, 0.14, level)
    base = smoothstep(0.22, 0.45, level + np.float32(0.09) * clouds(rng, 9, size, 2))
    rim = inside * (1 - base)
    height = np.float32(0.07) * np.sin(np.clip(level / 0.4, 0, 1) * np.float32(np.pi)) - np.float32(0.10) * base
    colour = surface.albedo * np.array(domain.inflamed, np.float32) ** rim[..., None]
    patchy = smoothstep(-0.6, 1.0, clouds(rng, 8, size, 3))
    fibrin = tinted(np.broadcast_to(np.array(domain.fibrin, np.float32), colour.shape), domain.old_fibrin, patchy)
    return Surface(surface.log_depth - height, tinted(colour, fibrin, np.float32(0.9) * base), surface.gloss)


KINDS: dict[str, Paint] = {
    "gastritis": gastritis,
    "polyp": polyp,
    "cancer": cancer,
    "bleeding": bleeding,
    "ulcer": ulcer,
}
