"""The paper's algorithms and equations word for word: slow loops over plain lists, the tests of the fast ones.

Where the text cannot be executed as printed, the reading is the one that the package's docstrings state.
"""

import math
from decimal import Decimal, getcontext

IGNORE = 255
getcontext().prec = 200  # so that 1 - p is known at p = 1 - e^-400


def softmax(logits: list[float]) -> list[float]:
    powers = [math.exp(x - max(logits)) for x in logits]
    return [power / sum(powers) for power in powers]


def precise_softmax(logits: list[float]) -> list[Decimal]:
    powers = [Decimal(x).exp() for x in logits]
    return [power / sum(powers) for power in powers]


def precise_log_odds(p: Decimal) -> float:
    return math.inf if p == 1 else float((p / (1 - p)).ln())


# -- Algorithm 1 ---------------------------------------------------------------------------------------------------


def log_odds_of_maximum(logits: list[float]) -> float:
    """log M_j / (1 - M_j) at one pixel: the odds are the largest power against the sum of the others."""
    top, *others = sorted(logits, reverse=True)
    return -math.log(sum(math.exp(x - top) for x in others)) if others else math.inf


def maxima_by_class(images: list[list[list[float]]], classes: int) -> list[list[float]]:
    """Lines 1 to 9: images -> pixels -> logits give MP_k, here as log-odds, which are ordered like probabilities."""
    maxima: list[list[float]] = [[] for _ in range(classes)]
    for image in images:
        for logits in image:
            predicted = logits.index(max(logits))
            maxima[predicted].append(log_odds_of_maximum(logits))
    return maxima


def algorithm_1(maxima: list[list[float]], portion: float) -> list[float]:
    """Lines 10 to 14: the value at T_k = floor((1 - p) n), at most n - 1, in ascending order; +inf for nothing."""
    thresholds = []
    for values in maxima:
        ascending = sorted(values)
        rank = min(math.floor((1 - portion) * len(ascending)), len(ascending) - 1)
        thresholds.append(ascending[rank] if ascending else math.inf)
    return thresholds


def pixels_taken(values: list[float], portion: float) -> int:
    """How many of one class's pixels pass: ties go all or none, the nearer to p, but never none at all."""
    if not values:
        return 0
    [threshold] = algorithm_1([values], portion)
    below = sum(value < threshold for value in values)
    up_to = sum(value <= threshold for value in values)
    leave = (1 - portion) * len(values)
    with_ties = up_to == len(values) or leave - below < up_to - leave
    return len(values) - (below if with_ties else up_to)


# -- Equation 5 ----------------------------------------------------------------------------------------------------


def ratios(logits: list[float], thresholds: list[float]) -> list[Decimal]:
    """p_k / exp(-lambda_k) of one pixel.  Thresholds are log-odds; no probability exceeds that of +inf."""
    return [
        Decimal(0) if threshold == math.inf else p * (1 + Decimal(-threshold).exp())
        for p, threshold in zip(precise_softmax(logits), thresholds, strict=True)
    ]


def equation_5(logits: list[float], thresholds: list[float]) -> int:
    """The label of one pixel."""
    found = ratios(logits, thresholds)
    return found.index(max(found)) if max(found) > 1 else IGNORE


# -- Algorithm 2 ---------------------------------------------------------------------------------------------------


def algorithm_2(labels: list[list[int]], superpixels: list[list[int]], classes: int) -> list[list[int]]:
    """In place, as printed: what a pixel receives votes at the pixels after it."""
    return _vote(labels, labels, superpixels, classes)


def algorithm_2_synchronous(labels: list[list[int]], superpixels: list[list[int]], classes: int) -> list[list[int]]:
    """Every pixel from the previous state."""
    return _vote([list(row) for row in labels], labels, superpixels, classes)


def _vote(write: list[list[int]], read: list[list[int]], superpixels: list[list[int]], classes: int) -> list[list[int]]:
    height, width = len(read), len(read[0])
    for h in range(height):
        for w in range(width):
            if read[h][w] == IGNORE:
                counts = []
                for k in range(classes):
                    count = 0
                    for x in range(h - 1, h + 2):
                        for y in range(w - 1, w + 2):
                            inside = 0 <= x < height and 0 <= y < width
                            if inside and read[x][y] == k and superpixels[h][w] == superpixels[x][y]:
                                count += 1
                    counts.append(count)
                winner = counts.index(max(counts))
                if counts[winner] > 4:
                    write[h][w] = winner
    return write


def fill_superpixels(labels: list[list[int]], superpixels: list[list[int]], classes: int) -> list[list[int]]:
    """Not in the paper: a segment's commonest label fills it, if it covers at least half of it."""
    members: dict[int, list[int]] = {}
    for label_row, segment_row in zip(labels, superpixels, strict=True):
        for label, segment in zip(label_row, segment_row, strict=True):
            members.setdefault(segment, []).append(label)
    filling = {}
    for segment, inside in members.items():
        counts = [inside.count(k) for k in range(classes)]
        enough = 2 * max(counts) >= len(inside)
        filling[segment] = counts.index(max(counts)) if enough else IGNORE
    return [
        [filling[segment] if label == IGNORE else label for label, segment in zip(row, segment_row, strict=True)]
        for row, segment_row in zip(labels, superpixels, strict=True)
    ]


# -- Algorithm 3 and Equation 7 ------------------------------------------------------------------------------------


def newest_centroid(features: list[list[float]], labels: list[int], k: int, over: str) -> list[float]:
    """Line 7 or 8: pixels -> channels; the sum is divided by the number of `all_pixels`, or of other ones."""
    total = [0.0] * len(features[0])
    count = 0
    for feature, label in zip(features, labels, strict=True):
        if label == k:
            count += 1
            total = [a + b for a, b in zip(total, feature, strict=True)]
    labelled = sum(label != IGNORE for label in labels)
    divisor = {"class_pixels": count, "labelled_pixels": labelled, "all_pixels": len(features)}[over]
    return [value / max(1, divisor) for value in total]


def algorithm_3_sum(newest: list[list[float]], gamma: float) -> list[float]:
    """Line 9 or 10: C_k = sum_x C_k^x gamma^(n - x), over the centroids of all steps so far."""
    n = len(newest)
    return [
        sum(newest[x - 1][channel] * gamma ** (n - x) for x in range(1, n + 1)) for channel in range(len(newest[0]))
    ]


def equation_7(source: list[list[float]], target: list[list[float]], alpha: float) -> float:
    loss = 0.0
    for c_s, c_t in zip(source, target, strict=True):
        loss += sum((s - t) ** 2 for s, t in zip(c_s, c_t, strict=True))
        loss += alpha * sum(abs(s - t) for s, t in zip(c_s, c_t, strict=True))
    return loss


# -- Equations 2, 3 and 6 ------------------------------------------------------------------------------------------


def cross_entropy(logits: list[float], label: int) -> float:
    return -math.log(softmax(logits)[label])


def equation_3(images: list[tuple[list[list[float]], list[int]]]) -> float:
    """One domain's expectation over images of the sum over pixels; images are (pixels -> logits, labels)."""
    sums = [
        sum(cross_entropy(logits, label) for logits, label in zip(pixels, labels, strict=True) if label != IGNORE)
        for pixels, labels in images
    ]
    return sum(sums) / max(1, len(sums))


def equation_6(source: list[float], target: list[float]) -> float:
    """E[log D(target)] + E[log(1 - D(source))], D's scores as logits of "is target"."""
    on_target = sum(math.log(1 / (1 + math.exp(-score))) for score in target) / len(target)
    on_source = sum(math.log(1 - 1 / (1 + math.exp(-score))) for score in source) / len(source)
    return on_target + on_source
