"""The warning for what a model has not seen: one score of an image, above 1 where it is flagged, and the reason.

Two distances, each a Gaussian's that was fitted to target training images: of what the network makes of the image (the
mean of its last feature map, which prediction has anyway), and of thirteen signs of the picture itself, since a network
shrugs at blur.  The score is the larger one, each divided by the limit that few held-out training images exceed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from endotransfer.errors import CheckpointError
from endotransfer.familiarity.gaussian import Gaussian, Values, fit_gaussian
from endotransfer.familiarity.image_signs import SIGNS, Looked, image_signs
from endotransfer.familiarity.reasons import UNLIKE, reason_for

FEWEST = 24  # images; fewer say too little of what is usual
FOLDS = 5  # each image is measured by Gaussians that were fitted without its group (patient, sequence, cluster)
LARGEST_FEATURE = 1e15  # its square is still a number in single precision
ALARMS = 0.015  # of held-out training images; test images come from elsewhere, and up to 5 % of them may alarm


@dataclass(frozen=True)
class Unfamiliarity:
    """Of one image.  `score` above 1: flagged, for `reason`; else that is None."""

    score: float
    reason: str | None


def warning_of(found: Unfamiliarity | None) -> dict[str, float | str | None]:
    """As files have it: nothing where the model cannot tell."""
    return {} if found is None else {"unfamiliarity": round(found.score, 4), "unfamiliar": found.reason}


@dataclass(frozen=True)
class Familiarity:
    """What is usual, and how far from it is too far."""

    seen: tuple[int, int] | None  # (H, W) at which the network sees images; None: at their own
    scale: Values  # [13]: standard deviation of each sign
    signs: Gaussian  # of signs in these units
    signs_limit: float
    features: Gaussian | None  # None where the network gives none
    features_limit: float
    images: int  # that it was fitted to
    held_out: float = 100 * ALARMS  # per cent of training images that are too far from those of other groups

    def assess(self, pixels: Looked, features: Values | None) -> Unfamiliarity:
        """`pixels` uint8 [H, W, 3] of any size; `features` [C]: the mean of the network's last feature map."""
        signs = image_signs(pixels, self.seen)
        score = self.score(signs, features)
        if not score > 1:
            return Unfamiliarity(score, None)
        if self._by_signs(signs) <= 1:
            return Unfamiliarity(score, UNLIKE)
        off = signs / self.scale - self.signs.mean
        named = (dict(zip(SIGNS, map(float, values), strict=True)) for values in (off, signs))
        return Unfamiliarity(score, reason_for(*named))

    def score(self, signs: Values, features: Values | None) -> float:
        """Of `image_signs` and features; above 1 is too far."""
        return max(self._by_signs(signs), self._by_features(features))

    def _by_signs(self, signs: Values) -> float:
        return float(self.signs.distance((signs / self.scale)[None])[0]) / self.signs_limit

    def _by_features(self, features: Values | None) -> float:
        if self.features is None:
            return 0.0
        if features is None or features.shape != self.features.mean.shape:
            width = "none" if features is None else str(features.shape[0])
            raise CheckpointError(
                f"the model's familiarity.safetensors was fitted to {len(self.features.mean)} features and the network "
                f"gives {width}; copy the model again."
            )
        return float(self.features.distance(features[None].astype(np.float64))[0]) / self.features_limit


def fit_familiarity(
    signs: Values, features: Values | None, groups: Sequence[str], seen: tuple[int, int] | None
) -> Familiarity:
    """From signs [N, 13] and features [N, C] of training images; `groups` [N]: images of one are held out together."""
    if features is not None and not np.abs(features).max() < LARGEST_FEATURE:  # not finite is not smaller either
        features = None
    scale = np.maximum(signs.std(0), 1e-3)
    in_units = signs / scale
    by_signs = _held_out(in_units, groups)
    signs_limit = float(np.quantile(by_signs, 0.95))
    largest, features_limit = by_signs / signs_limit, 1.0
    if features is not None:
        by_features = _held_out(features, groups)
        features_limit = float(np.quantile(by_features, 0.95))
        largest = np.maximum(largest, by_features / features_limit)
    both = float(np.quantile(largest, 1 - ALARMS))
    held_out = 100 * float((largest > both).mean())
    return Familiarity(
        seen, scale, fit_gaussian(in_units), signs_limit * both,
        None if features is None else fit_gaussian(features), features_limit * both, len(signs), held_out,
    )  # fmt: skip


def _held_out(values: Values, groups: Sequence[str]) -> Values:
    """Distance of each of the values [N, D] from a Gaussian of other groups; of other images where groups are few."""
    names = sorted(set(groups))
    if len(names) < 2 * FOLDS:
        names, groups = list(map(str, range(len(values)))), list(map(str, range(len(values))))
    order = np.random.default_rng(0).permutation(len(names))
    fold_of = {name: int(place) % FOLDS for name, place in zip(names, order, strict=True)}
    folds = np.array([fold_of[group] for group in groups])
    found = np.zeros(len(values))
    for fold in range(FOLDS):
        out = folds == fold
        if out.any():
            found[out] = fit_gaussian(values[~out]).distance(values[out])
    return np.maximum(found, 1e-6)
