"""Every model that ships says so where a picture is nothing that it was trained on, with torch and without."""

import numpy as np
import pytest
from numpy.typing import NDArray

import endotransfer
from endotransfer.predict.onnx_predictor import OnnxPredictor
from endotransfer.pretrained import locate_model, shipped_models

NAMES = [model.name for model in shipped_models()]


def foreign_pictures() -> dict[str, NDArray[np.uint8]]:
    draw = np.random.default_rng(0)
    chequers = np.kron(np.indices((8, 8)).sum(0) % 2, np.ones((32, 32)))
    return {
        "black": np.zeros((240, 320, 3), np.uint8),
        "noise": draw.integers(0, 256, (240, 320, 3), dtype=np.uint8),
        "chequers": (255 * np.stack([chequers] * 3, -1)).astype(np.uint8),
    }


@pytest.mark.parametrize("name", NAMES)
def test_foreign_pictures_are_flagged_with_and_without_torch(name: str) -> None:
    by_torch, by_graph = endotransfer.load(name, "cpu"), OnnxPredictor(locate_model(name))
    for kind, picture in foreign_pictures().items():
        found = [predictor.predict(picture).unfamiliarity for predictor in (by_torch, by_graph)]
        scores = [one.score for one in found if one is not None]
        assert len(scores) == 2 and min(scores) > 1, kind
        assert scores[0] == pytest.approx(scores[1], rel=1e-3)
        assert all(one is not None and one.reason for one in found)
