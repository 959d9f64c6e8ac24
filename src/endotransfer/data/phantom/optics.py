"""The instrument: light at the camera, the shape of the field, what lens, sensor and compression do to the image."""

import numpy as np
from scipy import fft

from endotransfer.data.phantom.domains import Patient, PhantomDomain
from endotransfer.data.phantom.random_fields import Field, blur, cloud, smoothstep
from endotransfer.data.phantom.scene import Surface, View, crevices

STEEPEST = 3.0  # log-depth per half frame, beyond which a slope is an occluding edge


def frame(shape: str, view: View) -> Field:
    """[H, W]: 1 inside the visible field, 0 outside, with an edge one pixel wide."""
    u, v = np.abs(view.u), np.abs(view.v)
    if shape == "octagon":
        inside = np.minimum(np.float32(1.52) - u - v, np.float32(0.99) - np.maximum(u, v))
    elif shape == "rounded":
        inside = np.float32(0.99) - (u**5 + v**5) ** np.float32(0.2)
    elif shape == "barrel":
        inside = np.minimum(np.float32(1.13) - np.sqrt(u * u + v * v), np.float32(0.99) - u)
    else:
        inside = np.float32(0.97) - np.sqrt(u * u + v * v)
    visible: Field = np.clip(inside * np.float32(view.size / 2) + np.float32(0.5), 0, 1)
    return visible


def illuminate(
    rng: np.random.Generator, domain: PhantomDomain, patient: Patient, view: View, surface: Surface
) -> Field:
    """The surface as the camera sees it [H, W, 3], linear light.

    With depth D = exp(L) along rays r = (f u, f v, 1), the normal is n = (-L_u, -L_v, f (1 + u L_u + v L_v)), and the
    cosine at a lamp a little beside the lens, at (a, b, 0), is (f D + a L_u + b L_v) / (|n| |P|).
    """
    slope_v, slope_u = _slopes(surface.log_depth)
    lens = np.float32(domain.lens)
    depth = np.exp(surface.log_depth)
    side, apart = rng.uniform(0, 2 * np.pi), rng.uniform(0.05, 0.15)
    lamp = np.float32(apart * np.cos(side)) * slope_u + np.float32(apart * np.sin(side)) * slope_v
    facing = lens * (1 + view.u * slope_u + view.v * slope_v)
    normal = np.sqrt(slope_u**2 + slope_v**2 + facing**2)
    away = depth * np.sqrt(1 + lens**2 * (view.u**2 + view.v**2))
    cosine = np.maximum(lens * depth + lamp, 0) / (normal * away)
    light = (np.float32(0.25) + np.float32(0.75) * cosine) * crevices(surface.log_depth) / away**2
    return _expose(rng, domain, patient, view, surface, light) + _glints(rng, domain, view, surface, cosine)


def _slopes(log_depth: Field) -> tuple[Field, Field]:
    """Slopes down and across [H, W].  A jump in depth hides a surface and shows no steep one: slopes saturate."""
    slopes: list[Field] = list(np.gradient(log_depth, np.float32(2 / log_depth.shape[0])))
    down, across = slopes
    tame = np.reciprocal(1 + (down * down + across * across) / np.float32(STEEPEST**2))
    return down * tame, across * tame


def _expose(
    rng: np.random.Generator, domain: PhantomDomain, patient: Patient, view: View, surface: Surface, light: Field
) -> Field:
    """Automatic gain, the lamp's tint, the fall-off towards the edge, and reddish light from the depth."""
    edge = view.u**2 + view.v**2
    seen = light[edge < 0.9]
    gain = np.float32(patient.exposure * rng.uniform(0.9, 1.1) / np.quantile(seen, 0.7))
    light = light * gain * np.exp(np.float32(-domain.dimming) * edge * (1 + edge))
    bright = smoothstep(0.0, 0.6, light)[..., None]
    tint = np.array(domain.shadow, np.float32) ** (1 - bright)
    lamp = np.array(domain.light, np.float32) * np.array([patient.warmth, 1, 1 / patient.warmth], np.float32)
    return surface.albedo**2 * light[..., None] * tint * lamp


def _glints(rng: np.random.Generator, domain: PhantomDomain, view: View, surface: Surface, cosine: Field) -> Field:
    """Mirror images of the lamp on wet mucosa: where a slightly rippled surface faces the camera."""
    ripple = np.float32(0.030) * cloud(rng, 52, view.size) + np.float32(0.022) * cloud(rng, 20, view.size)
    wet = smoothstep(0.5, 2.0, cloud(rng, 5, view.size) + surface.gloss - 1)
    return (np.float32(1.8 * domain.gloss) * wet * smoothstep(1.004, 1.05, cosine + ripple))[..., None]


def photograph(rng: np.random.Generator, domain: PhantomDomain, light: Field, field: Field) -> Field:
    """Linear light [H, W, 3] -> picture in [0, 1]: shoulder, gamma 2, lens blur, sharpening, noise, compression."""
    size = light.shape[0]
    picture = np.sqrt(1 - np.exp(np.float32(-1.1) * light))
    soft = rng.uniform(*domain.blur) * size / 128
    if soft > 0.2:
        picture = blur(picture, soft)
    if domain.sharpen:
        picture = picture + np.float32(domain.sharpen) * (picture - blur(picture, size / 128))
    picture = picture * field[..., None]
    grey, tinted = rng.standard_normal((size, size, 1), np.float32), rng.standard_normal((size, size, 3), np.float32)
    picture = picture + np.float32(domain.noise) * (grey + np.float32(0.5) * tinted) * (field[..., None] * 0.9 + 0.1)
    if domain.blocks:
        picture = compress(picture, domain.blocks)
    clipped: Field = np.clip(picture, 0, 1)
    return clipped


def compress(picture: Field, strength: float) -> Field:
    """JPEG's trace: 8 x 8 blocks whose finer waves, and colours more than brightness, are rounded coarsely."""
    size = picture.shape[0]
    padded = np.pad(picture, ((0, -size % 8), (0, -size % 8), (0, 0)), mode="edge")
    grey = padded.mean(axis=2, keepdims=True)
    planes = np.concatenate([grey, padded - grey], axis=2)
    count = padded.shape[0] // 8
    waves = fft.dctn(planes.reshape(count, 8, count, 8, 4), axes=(1, 3), norm="ortho")
    fineness = np.add.outer(np.arange(8), np.arange(8))[None, :, None, :, None]
    steps = np.float32(strength * 0.02) * (1 + fineness * np.array([0.6, 2, 2, 2], np.float32)).astype(np.float32)
    planes = fft.idctn(np.round(waves / steps) * steps, axes=(1, 3), norm="ortho").reshape((*padded.shape[:2], 4))
    result: Field = (planes[..., :1] + planes[..., 1:])[:size, :size]
    return result
