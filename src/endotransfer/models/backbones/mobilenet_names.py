"""torchvision's names of the parameters of MobileNetV2, told in timm's."""

import re
from itertools import accumulate

REPEATS = (
    1,
    2,
    3,
    4,
    3,
    3,
    1,
)  # blocks a stage; torchvision counts them through, from 1 to 17
ENDS = tuple(accumulate(REPEATS))

OUTSIDE = {
    "features.0.0": "conv_stem",
    "features.0.1": "bn1",
    "features.18.0": "conv_head",
    "features.18.1": "bn2",
    "classifier.1": "classifier",
}
FIRST_BLOCK = {"conv.0.0": "conv_dw", "conv.0.1": "bn1", "conv.1": "conv_pw", "conv.2": "bn2"}
OTHER_BLOCKS = {
    "conv.0.0": "conv_pw",
    "conv.0.1": "bn1",
    "conv.1.0": "conv_dw",
    "conv.1.1": "bn2",
    "conv.2": "conv_pwl",
    "conv.3": "bn3",
}


def timm_name(name: str) -> str:
    """`features.2.conv.1.0.weight` -> `blocks.1.0.conv_dw.weight`; names of other forms come back unchanged."""
    module, _, parameter = name.rpartition(".")
    if module in OUTSIDE:
        return f"{OUTSIDE[module]}.{parameter}"
    found = re.fullmatch(r"features\.(\d+)\.(.+)", module)
    if found is None or not 1 <= int(found[1]) <= ENDS[-1]:
        return name
    block = int(found[1])
    inside = (FIRST_BLOCK if block == 1 else OTHER_BLOCKS).get(found[2])
    return f"blocks.{_position(block)}.{inside}.{parameter}" if inside else name


def _position(block: int) -> str:
    """Running number from 1 -> "stage.index", both from 0."""
    stage = next(stage for stage, end in enumerate(ENDS) if block <= end)
    return f"{stage}.{block - 1 - (ENDS[stage] - REPEATS[stage])}"
