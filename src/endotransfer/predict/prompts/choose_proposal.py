"""Which of a promptable network's masks is meant.

The network rates its own masks, and cannot be trusted far: 0.98 for a mask of Dice 0.47 has been seen.  A mask that
contradicts a click is worse than any that does not; after the first click the person refines what is shown, so the mask
nearest to it is preferred.  Chosen on PolypGen with the scripted expert of `perf/click_bench.py`.
"""

import numpy as np
from numpy.typing import NDArray

from endotransfer.predict.graph_session import Values
from endotransfer.predict.prompts.prompt import Prompt
from endotransfer.predict.prompts.prompt_model import LOW, Proposals

KEEPING = 1.0  # what the overlap with the mask before is worth, in units of the network's own rating


def choose_proposal(proposals: Proposals, size: tuple[int, int], prompt: Prompt, before: Values | None) -> Values:
    """The logits [256, 256] of the best mask."""
    worth = [
        float(expected) - _contradictions(mask, size, prompt) + (0 if before is None else KEEPING * _iou(mask, before))
        for mask, expected in zip(proposals.logits, proposals.expected_iou, strict=True)
    ]
    chosen: Values = proposals.logits[int(np.argmax(worth))]
    return chosen


def _contradictions(logits: Values, size: tuple[int, int], prompt: Prompt) -> int:
    """How many clicks the mask is at odds with."""
    scale = LOW / size[0], LOW / size[1]
    places = [(int((point.y + 0.5) * scale[0]), int((point.x + 0.5) * scale[1])) for point in prompt.points]
    return sum(
        (logits[min(max(y, 0), LOW - 1), min(max(x, 0), LOW - 1)] > 0) != point.positive
        for (y, x), point in zip(places, prompt.points, strict=True)
    )


def _iou(one: Values, other: Values) -> float:
    a: NDArray[np.bool_] = one > 0
    b: NDArray[np.bool_] = other > 0
    return float((a & b).sum() / max(1, (a | b).sum()))
