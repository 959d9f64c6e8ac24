"""Tags that contradict their masks."""

from pathlib import Path

import numpy as np
import pytest

from endotransfer.data.folders.pairs import check_tag
from endotransfer.errors import DataError
from endotransfer.label_values import IGNORE, LESION, NORMAL, UNKNOWN_TAG
from endotransfer.samples import Sample


@pytest.mark.parametrize(
    ("tag", "values", "contradicts"),
    [
        (NORMAL, [0, 0], False),
        (NORMAL, [0, IGNORE], False),
        (NORMAL, [0, 1], True),
        (NORMAL, [0, 3], True),
        (LESION, [0, 1], False),
        (LESION, [0, 0], True),
        (LESION, [0, IGNORE], False),
        (UNKNOWN_TAG, [0, 1], False),
    ],
)
def test_tags_against_masks(tag: int, values: list[int], contradicts: bool) -> None:
    sample, mask = Sample("set/a", Path("a.png"), tag=tag), np.array([values], np.uint8)
    if contradicts:
        with pytest.raises(DataError, match=r"a\.png: is tagged .*labels\.csv"):
            check_tag(sample, mask)
    else:
        check_tag(sample, mask)
