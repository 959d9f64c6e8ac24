"""The healthy organ: a tube seen from inside, its folds as a depth map, its mucosa and vessels as colour."""

from dataclasses import dataclass

import numpy as np

from endotransfer.data.phantom.domains import Patient, PhantomDomain
from endotransfer.data.phantom.random_fields import Field, Wrapping, blur, cloud, clouds, smoothstep

DEEP = 0.14  # distance from the lumen's centre at which the tube fades into the dark


@dataclass(frozen=True)
class View:
    """Where each pixel looks, all [H, W]: position in the frame, and position on the tube around the lumen."""

    u: Field  # -1 left, 1 right
    v: Field  # -1 top, 1 bottom
    rho: Field  # distance from the lumen's centre, bent so that no lumen is a perfect circle
    turn: Field  # angle around the lumen, 1 is a whole turn

    @property
    def size(self) -> int:
        return len(self.u)

    def pixel(self, u: float, v: float) -> tuple[int, int]:
        """Row and column at a position in the frame."""
        return int((v + 1) / 2 * self.size), int((u + 1) / 2 * self.size)

    def window(self, u: float, v: float, radius: float) -> tuple[slice, slice]:
        """Rows and columns around a disc, cut at the frame."""
        (top, left), (bottom, right) = self.pixel(u - radius, v - radius), self.pixel(u + radius, v + radius)
        return slice(max(0, top - 1), max(0, bottom + 2)), slice(max(0, left - 1), max(0, right + 2))


@dataclass
class Surface:
    """What the lamp shines on.  Lesions and fluids are drawn by changing these fields before the light is computed."""

    log_depth: Field  # [H, W]
    albedo: Field  # [H, W, 3], screen colour
    gloss: Field  # [H, W], 1 is ordinary wet mucosa


def look(rng: np.random.Generator, domain: PhantomDomain, size: int) -> View:
    """Point the camera: down the tube, or (a share `wall_views`) at its wall with the lumen out of the frame."""
    axis = (np.arange(size, dtype=np.float32) + 0.5) * np.float32(2 / size) - 1
    v, u = np.meshgrid(axis, axis, indexing="ij")
    wall, bearing = rng.random() < domain.wall_views, rng.uniform(0, 2 * np.pi)
    away = rng.uniform(1.15, 1.9) if wall else 0.55 * np.sqrt(rng.random())
    x = u - np.float32(away * np.cos(bearing)) + np.float32(0.10) * cloud(rng, 4, size)
    y = v - np.float32(away * np.sin(bearing)) + np.float32(0.10) * cloud(rng, 4, size)
    stretch, tilt = np.float32(rng.uniform(0.75, 1.33)), rng.uniform(0, np.pi)
    cos, sin = np.float32(np.cos(tilt)), np.float32(np.sin(tilt))
    x, y = (cos * x + sin * y) * stretch, (cos * y - sin * x) / stretch
    turn = np.arctan2(y, x) * np.float32(0.5 / np.pi) + np.float32(0.5)
    return View(u, v, np.sqrt(x * x + y * y), turn)


def relief(rng: np.random.Generator, domain: PhantomDomain, view: View) -> Field:
    """Log-depth [H, W] of a tube (depth is inverse to the distance from the lumen) with its folds and fine texture."""
    inward = -np.log(np.sqrt(view.rho**2 + np.float32(DEEP**2)))  # about 2 in the lumen, below 0 at the frame's edge
    depth = inward * np.float32(rng.uniform(0.75, 1.05))
    lengthwise = np.float32(
        rng.random() ** 0.5
    )  # some views are ruled by folds along the tube, some by folds around it
    depth = depth + (1 - lengthwise**3) * _rings(rng, domain, view, inward)
    depth = depth - lengthwise * _rugae(rng, domain, view, inward)
    grain = cloud(rng, domain.grain_cells, view.size) * np.float32(domain.grain)
    depth_map: Field = depth + grain + np.float32(domain.swell) * clouds(rng, 3, view.size, 2)
    return depth_map


def _rings(rng: np.random.Generator, domain: PhantomDomain, view: View, inward: Field) -> Field:
    """Folds around the tube.  Behind each edge the depth jumps and then comes back slowly: a saw tooth going inward."""
    height = rng.uniform(*domain.rings)
    wobble, strength = Wrapping(rng, 5, 4), Wrapping(rng, 6, 6)
    along = inward * np.float32(0.25) + np.float32(0.4)
    phase = inward * np.float32(rng.uniform(1.6, 2.8)) + np.float32(0.35) * wobble.at(view.turn, along)
    phase = phase + np.float32(rng.random())
    step = np.floor(phase)
    behind = phase - step
    tooth = (1 - behind * behind) * smoothstep(0.0, 0.05, behind)
    fading = smoothstep(-0.6, 0.8, strength.at(view.turn, step * np.float32(0.13) + np.float32(0.3)))
    rings: Field = np.float32(height) * tooth * fading
    return rings


def _rugae(rng: np.random.Generator, domain: PhantomDomain, view: View, inward: Field) -> Field:
    """Folds along the tube: rounded backs and sharp valleys, the absolute value of noise stretched lengthwise."""
    height = rng.uniform(*domain.rugae)
    backs = Wrapping(rng, int(rng.integers(9, 24)), 4)
    twist = np.float32(rng.uniform(-0.12, 0.12))
    lying = backs.at(view.turn + twist * inward, inward * np.float32(0.2) + np.float32(0.35))
    near = view.rho / (view.rho + np.float32(0.25))  # folds of one tube shrink towards the lumen
    folds: Field = np.float32(height) * np.sqrt(lying * lying + np.float32(0.004)) * near
    return folds


def mucosa(rng: np.random.Generator, domain: PhantomDomain, patient: Patient, view: View) -> Field:
    """Colour [H, W, 3] of healthy mucosa: the patient's tone, uneven, with vessels under it."""
    flush = np.array(domain.flush, np.float32)
    uneven = clouds(rng, 3, view.size, 3)
    redness = np.float32(0.35) + np.float32(domain.mottle * 3) * (uneven - uneven.mean())  # the mean is the patient's
    pallor = 1 + np.float32(domain.mottle * 0.5) * clouds(rng, 5, view.size, 2)
    colour = patient.tone * np.exp(np.clip(redness, -0.6, 1.6)[..., None] * np.log(flush)) * pallor[..., None]
    return _with_vessels(rng, domain, patient, view, colour)


def _with_vessels(
    rng: np.random.Generator, domain: PhantomDomain, patient: Patient, view: View, colour: Field
) -> Field:
    """Three generations of vessels: thin lines where smooth noise changes sign, coming and going in patches."""
    seen = np.zeros_like(view.u)
    for cells, width, strength in ((3, 0.020, 1.0), (6, 0.013, 0.8), (11, 0.009, 0.6)):
        patches = smoothstep(-0.1, 1.2, cloud(rng, cells + 1, view.size))
        seen = np.maximum(seen, np.float32(strength) * patches * _lines(clouds(rng, cells, view.size, 3), width))
    blood = np.log(np.array((0.78, 0.50, 0.52), np.float32))
    veined: Field = colour * np.exp(np.float32(patient.vessels) * seen[..., None] * blood)
    return veined


def _lines(noise: Field, width: float) -> Field:
    """1 on the zero line of a smooth field, 0 beyond `width` (units of half the frame), whatever the field's slope."""
    down, across = np.gradient(noise, np.float32(2 / noise.shape[0]))
    away = noise * noise / (down * down + across * across + np.float32(1e-3))
    return np.exp(-away / np.float32(width**2))


def crevices(log_depth: Field) -> Field:
    """How little ambient light reaches a point [H, W]: 1 on open wall, towards 0 behind a fold's edge."""
    size = log_depth.shape[0]
    near, wide = blur(log_depth, size * 0.02), blur(log_depth, size * 0.06)
    hidden = np.maximum(log_depth - near, 0) + np.maximum(log_depth - wide, 0)
    reached: Field = np.exp(-np.float32(2.2) * hidden)
    return reached
