"""Pixels counted by true and predicted class: the one thing from which every pixel figure is derived."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from endotransfer.batch import IGNORE
from endotransfer.errors import DataError

Labels = Tensor | NDArray[np.generic]
Counts = NDArray[np.int64]

_BYTE = 256  # class numbers are bytes, as in an index mask


def confusion(prediction: Labels, truth: Labels, classes: int, image: str = "") -> Counts:
    """How many pixels of each true class (rows) were given each class (columns): int64 [K, K].

    `prediction` and `truth` are integers of one shape, torch (counted on their own device) or numpy.  Pixels
    whose truth is IGNORE are passed over.  A prediction may not be IGNORE where the truth is known, or a model
    that skips the difficult pixels would score higher.  `image` names the image in messages.
    """
    of_image = f" of {image}" if image else ""
    predicted = _class_numbers(prediction, classes, f"prediction{of_image}")
    true = _class_numbers(truth, classes, f"mask{of_image}").to(predicted.device)
    if predicted.shape != true.shape:
        shapes = f"{list(predicted.shape)}, but its mask has {list(true.shape)}"
        raise DataError(f"the prediction{of_image} has shape {shapes}; resize one to the other before scoring.")
    # Counting every pair of bytes and cutting the table afterwards is quicker than selecting pixels first.
    pairs = torch.bincount((true * _BYTE + predicted).flatten(), minlength=_BYTE * _BYTE)
    table = pairs.reshape(_BYTE, _BYTE).cpu().numpy()[:IGNORE]
    _refuse_unknown_classes(np.flatnonzero(table.any(1)), classes, f"mask{of_image}")
    _refuse_unknown_classes(np.flatnonzero(table.any(0)), classes, f"prediction{of_image}")
    return table[:classes, :classes].copy()


def confusions(predictions: Tensor, truths: Tensor, classes: int, images: Sequence[str]) -> Counts:
    """`confusion` of N images at once: two uint8 [N, H, W] on one device -> int64 [N, K, K]."""
    if len(images) == 1:
        return confusion(predictions[0], truths[0], classes, images[0])[None]
    number = torch.arange(len(images), device=truths.device)[:, None, None]
    pairs = (number * _BYTE + truths) * _BYTE + predictions
    table = torch.bincount(pairs.flatten(), minlength=len(images) * _BYTE**2).reshape(-1, _BYTE, _BYTE)
    counted = table[:, :classes, :classes]
    unknown = table[:, :IGNORE].sum((1, 2)) - counted.sum((1, 2))
    found: Counts = torch.cat([counted.flatten(1), unknown[:, None]], 1).cpu().numpy()  # one look at the device
    for index in np.flatnonzero(found[:, -1]).tolist():
        confusion(predictions[index], truths[index], classes, images[index])  # says what is wrong with it
    return found[:, :-1].reshape(-1, classes, classes)


def _class_numbers(labels: Labels, classes: int, name: str) -> Tensor:
    """`labels` as int64, proven to be bytes."""
    dtype = labels.dtype
    whole = not dtype.is_floating_point if isinstance(dtype, torch.dtype) else dtype.kind in "biu"
    if not whole:
        raise TypeError(f"the {name} holds {dtype}; confusion() counts class numbers, so take argmax first.")
    # A copy, since torch takes neither read-only nor flipped arrays, and images come as both.
    numbers = labels.long() if isinstance(labels, Tensor) else torch.from_numpy(labels.astype(np.int64))
    outside = (numbers < 0) | (numbers >= _BYTE)
    if bool(outside.any()):
        _refuse_unknown_classes(numbers[outside].cpu().numpy(), classes, name)
    return numbers


def _refuse_unknown_classes(present: Counts, classes: int, name: str) -> None:
    unknown = present[(present < 0) | (present >= classes)]
    if unknown.size:
        raise DataError(
            f"the {name} holds class {unknown[0]}, but the classes are 0 to {classes - 1}; "
            "correct it, or list the class among the classes of the data."
        )
