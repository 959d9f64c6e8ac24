"""What lies on healthy mucosa and may be taken for a lesion: bile, mucus, bubbles, debris."""

import numpy as np

from endotransfer.data.phantom.domains import Domain
from endotransfer.data.phantom.lesions import tinted
from endotransfer.data.phantom.noise import Field, cloud, clouds, smoothstep
from endotransfer.data.phantom.scene import Surface, View


def pool(rng: np.random.Generator, view: View) -> Field:
    """Level [H, W] of a fluid that gathers on the side where gravity pulls: above 0 under the fluid."""
    down = rng.uniform(0, 2 * np.pi)
    low = view.u * np.float32(np.cos(down)) + view.v * np.float32(np.sin(down))
    shore = np.float32(rng.uniform(0.15, 0.65))
    return low - shore + np.float32(0.16) * clouds(rng, 4, view.size, 4)


def flood(rng: np.random.Generator, domain: Domain, level: Field, free: Field, surface: Surface) -> Surface:
    """Cover the surface with bile or mucus where `level` > 0; `free` [H, W] is 0 where a lesion lies bare."""
    wet = (np.float32(0.4) * smoothstep(-0.02, 0.04, level) + np.float32(0.6) * smoothstep(0.0, 0.45, level)) * free
    tone = np.array(domain.bile_tones[rng.integers(len(domain.bile_tones))], np.float32)
    opacity = np.float32(rng.uniform(*domain.murk)) * wet * (1 + np.float32(0.12) * cloud(rng, 8, level.shape[0]))
    colour = tinted(surface.albedo, tone, np.clip(opacity, 0, 0.95))
    smooth = surface.log_depth - np.float32(0.02) * wet
    return Surface(smooth, colour, surface.gloss + np.float32(0.6) * wet)


def scatter(rng: np.random.Generator, domain: Domain, free: Field, surface: Surface) -> Surface:
    """Flecks of food and dried mucus in one part of the frame."""
    size = free.shape[0]
    flecks = smoothstep(2.0, 2.5, cloud(rng, 36, size) + np.float32(0.7) * cloud(rng, 4, size)) * free
    tone = np.array(domain.bile_tones[rng.integers(len(domain.bile_tones))], np.float32)
    tone = tone * np.float32(rng.choice((0.55, 0.95)))
    return Surface(surface.log_depth - np.float32(0.02) * flecks, tinted(surface.albedo, tone, np.float32(0.8) * flecks), surface.gloss)


def litter(rng: np.random.Generator, domain: Domain, free: Field, surface: Surface) -> Surface:
    """Lumps of residue as large as lesions, and no lesions."""
    size = free.shape[0]
    level = clouds(rng, int(rng.integers(3, 7)), size, 3) - np.float32(rng.uniform(1.0, 1.7))
    lump = smoothstep(-0.05, 0.12, level) * free
    tone = np.array(domain.residue_tones[rng.integers(len(domain.residue_tones))], np.float32)
    colour = tone * (1 + np.float32(0.15) * clouds(rng, 16, size, 2))[..., None]
    height = lump * (np.float32(0.03) + np.float32(0.02) * cloud(rng, 18, size))
    return Surface(surface.log_depth - height, tinted(surface.albedo, colour, np.float32(0.9) * lump), surface.gloss)


def cluster(rng: np.random.Generator, view: View, avoid: Field) -> list[tuple[float, float, float]]:
    """Centres and radii (u, v, r) of a cluster of bubbles, none with its centre where `avoid` [H, W] is true."""
    spread = rng.uniform(0.15, 0.5)
    hub = rng.uniform(-0.5, 0.5, 2)
    found = []
    for _ in range(int(rng.integers(6, 26))):
        u, v = np.clip(hub + spread * rng.standard_normal(2), -0.95, 0.95)
        r = float(np.exp(rng.uniform(np.log(0.03), np.log(0.13))))
        if not avoid[int((v + 1) / 2 * view.size), int((u + 1) / 2 * view.size)]:
            found.append((float(u), float(v), r))
    return found


def blow(light: Field, view: View, found: list[tuple[float, float, float]]) -> Field:
    """Draw bubbles into linear light, in place; returns their coverage [H, W].  One small window for each bubble."""
    size = view.size
    covered = np.zeros((size, size), np.float32)
    for u, v, r in found:
        rows = slice(max(0, int((v - r + 1) / 2 * size) - 1), int((v + r + 1) / 2 * size) + 2)
        columns = slice(max(0, int((u - r + 1) / 2 * size) - 1), int((u + r + 1) / 2 * size) + 2)
        x, y = (view.u[rows, columns] - np.float32(u)) / r, (view.v[rows, columns] - np.float32(v)) / r
        q = np.sqrt(x * x + y * y)
        inside = np.clip((1 - q) * np.float32(r * size / 2) + np.float32(0.5), 0, 1)
        rim = np.exp(-(((q - np.float32(0.88)) / np.float32(0.13)) ** 2))
        lit = np.float32(0.55) + np.float32(0.45) * np.clip(-(x + y), -1, 1)
        spark = np.exp(-((x + np.float32(0.4)) ** 2 + (y + np.float32(0.4)) ** 2) / np.float32(0.02))
        patch = light[rows, columns]
        mean = patch.mean(axis=(0, 1))
        shell = patch * (np.float32(0.9) - np.float32(0.25) * q**2)[..., None]
        shell = shell + (rim * lit)[..., None] * (mean * np.float32(0.7) + np.float32(0.06)) + spark[..., None] * np.float32(0.8)
        light[rows, columns] = patch + inside[..., None] * (shell - patch)
        covered[rows, columns] = np.maximum(covered[rows, columns], inside)
    return covered
