"""Similarity of two thumbnails under small shifts, over tissue alone."""

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_erosion, gaussian_filter

_DARK = 32
_COLD = 60  # green or blue above red by so much is an overlay or dye, not tissue
_COARSE = 3.0  # pixels; light falls off over more than this, structure is finer
_REACH = 2  # pixels of a thumbnail: a sixteenth of the picture
_BLOCK = 4096  # pairs at a time

Texture = NDArray[np.float32]


def texture(thumbnail: NDArray[np.uint8]) -> Texture:
    """Fine structure [S, S] of unit length of a thumbnail [S, S, 3]: grey minus its surroundings, on tissue only.

    Frame, its edge and coloured boxes are left out, since all images of one endoscope share them.
    """
    colour = thumbnail.astype(np.float64)
    cold = np.maximum(colour[..., 1], colour[..., 2]) - colour[..., 0]
    tissue = (colour.max(axis=2) > _DARK) & (cold <= _COLD)
    weight = binary_erosion(tissue, np.ones((3, 3)), border_value=1).astype(np.float64)
    grey = colour @ np.array([0.299, 0.587, 0.114])
    around = gaussian_filter(grey * weight, _COARSE) / np.maximum(gaussian_filter(weight, _COARSE), 1e-3)
    fine = weight * (grey - around)
    unit: Texture = (fine / max(float(np.linalg.norm(fine)), 1e-6)).astype(np.float32)
    return unit


def alikeness(textures: NDArray[np.float32], pairs: NDArray[np.intp]) -> NDArray[np.float32]:
    """[P]: the largest correlation (at most 1) of the two textures of each pair over shifts of up to two pixels."""
    spectra = np.fft.rfft2(textures)
    size = textures.shape[1:]
    shifts = np.arange(-_REACH, _REACH + 1)
    found = [np.empty(0, np.float32)]
    for start in range(0, len(pairs), _BLOCK):
        first, second = pairs[start : start + _BLOCK].T
        correlation = np.fft.irfft2(spectra[first] * spectra[second].conj(), s=size)
        found.append(correlation[:, shifts[:, None], shifts].max(axis=(1, 2)).astype(np.float32))
    return np.concatenate(found)
