"""What lies on healthy mucosa and may be taken for a lesion: bile, flecks, residue, bubbles."""

import numpy as np
from numpy.typing import NDArray

from endotransfer.data.phantom.domains import Colour, PhantomDomain
from endotransfer.data.phantom.lesion_kinds import tinted
from endotransfer.data.phantom.random_fields import Field, cloud, clouds, smoothstep
from endotransfer.data.phantom.scene import Surface, View

Bubble = tuple[float, float, float]  # centre u, centre v, radius


def pool(rng: np.random.Generator, view: View) -> Field:
    """Level [H, W] of a fluid that collects on the side where gravity pulls: above 0 under the fluid."""
    down = rng.uniform(0, 2 * np.pi)
    low = view.u * np.float32(np.cos(down)) + view.v * np.float32(np.sin(down))
    shore = np.float32(rng.uniform(-0.05, 0.5))
    return low - shore + np.float32(0.16) * clouds(rng, 4, view.size, 4)


def flood(rng: np.random.Generator, domain: PhantomDomain, level: Field, free: Field, surface: Surface) -> Surface:
    """Cover the surface with bile or mucus where `level` > 0, denser where it is deeper; `free` is 0 on a lesion."""
    wet = np.float32(0.6) * smoothstep(-0.02, 0.03, level) + np.float32(0.4) * smoothstep(0.0, 0.4, level)
    shore = np.float32(0.15) * np.exp(-((level / np.float32(0.03)) ** 2)) * free  # a meniscus catches the light
    murk = np.float32(rng.uniform(*domain.murk)) * wet * (1 + np.float32(0.12) * cloud(rng, 8, level.shape[0]))
    colour = tinted(surface.albedo, _one_of(rng, domain.bile_tones), np.clip(murk, 0, 0.95) * free)
    colour = colour * (1 + shore)[..., None]
    depth = surface.log_depth - np.float32(0.02) * wet * free
    return Surface(depth, colour, surface.gloss + np.float32(0.6) * wet * free)


def scatter(rng: np.random.Generator, domain: PhantomDomain, free: Field, surface: Surface) -> Surface:
    """Flecks of food and dried mucus in some part of the frame."""
    size = free.shape[0]
    density = cloud(rng, 36, size) + np.float32(0.7) * cloud(rng, 4, size)
    flecks = smoothstep(2.0, 2.5, density) * free
    tone = _one_of(rng, domain.bile_tones) * np.float32(rng.choice((0.55, 0.95)))
    colour = tinted(surface.albedo, tone, np.float32(0.8) * flecks)
    return Surface(surface.log_depth - np.float32(0.02) * flecks, colour, surface.gloss)


def litter(rng: np.random.Generator, domain: PhantomDomain, free: Field, surface: Surface) -> Surface:
    """Lumps of residue as large as lesions, and no lesions."""
    size = free.shape[0]
    level = clouds(rng, int(rng.integers(3, 7)), size, 3) - np.float32(rng.uniform(1.0, 1.7))
    lump = smoothstep(-0.05, 0.12, level) * free
    tone = _one_of(rng, domain.residue_tones) * (1 + np.float32(0.15) * clouds(rng, 16, size, 2))[..., None]
    height = lump * (np.float32(0.03) + np.float32(0.02) * cloud(rng, 18, size))
    return Surface(surface.log_depth - height, tinted(surface.albedo, tone, np.float32(0.9) * lump), surface.gloss)


def _one_of(rng: np.random.Generator, tones: tuple[Colour, ...]) -> Field:
    return np.array(tones[rng.integers(len(tones))], np.float32)


def cluster(rng: np.random.Generator, view: View, avoid: NDArray[np.bool_]) -> list[Bubble]:
    """A few to two dozen bubbles around one place, none with its centre where `avoid` [H, W] is true."""
    spread, hub = rng.uniform(0.15, 0.5), rng.uniform(-0.5, 0.5, 2)
    found: list[Bubble] = []
    for _ in range(int(rng.integers(6, 26))):
        u, v = np.clip(hub + spread * rng.standard_normal(2), -0.95, 0.95)
        radius = np.exp(rng.uniform(np.log(0.035), np.log(0.14)))
        if not avoid[view.pixel(u, v)]:
            found.append((float(u), float(v), float(radius)))
    return found


def blow(light: Field, view: View, found: list[Bubble]) -> Field:
    """Draw bubbles into linear light [H, W, 3], in place, each in its own small window; returns their cover [H, W]."""
    cover = np.zeros_like(view.u)
    for u, v, radius in found:
        window = view.window(u, v, radius)
        x = (view.u[window] - np.float32(u)) / np.float32(radius)
        y = (view.v[window] - np.float32(v)) / np.float32(radius)
        inside = np.clip((1 - np.sqrt(x * x + y * y)) * np.float32(radius * view.size / 2) + np.float32(0.5), 0, 1)
        light[window] = tinted(light[window], _film(light[window], x, y), inside)
        cover[window] = np.maximum(cover[window], inside)
    return cover


def _film(behind: Field, x: Field, y: Field) -> Field:
    """A soap film [h, w, 3] before what is `behind`, x and y from -1 to 1: a bright rim, a dim inside, one spark."""
    edge = np.sqrt(x * x + y * y)
    rim = np.exp(-(((edge - np.float32(0.88)) / np.float32(0.13)) ** 2))
    lit = rim * (np.float32(0.55) + np.float32(0.45) * np.clip(-(x + y), -1, 1))
    spark = np.exp(-((x + np.float32(0.4)) ** 2 + (y + np.float32(0.4)) ** 2) / np.float32(0.02))
    glow = np.float32(0.7) * behind.mean(axis=(0, 1)) + np.float32(0.06)
    through = behind * (np.float32(0.9) - np.float32(0.25) * edge**2)[..., None]
    drawn: Field = through + lit[..., None] * glow + np.float32(0.8) * spark[..., None]
    return drawn
