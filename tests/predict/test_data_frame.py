"""Predictions as a table of pandas, which need not be installed."""

import sys
from pathlib import Path

import pytest

from endotransfer.errors import ConfigError
from endotransfer.predict.data_frame import prediction_row, predictions_frame
from endotransfer.predict.image_predictor import ImagePredictor

ROW = {
    "width": 6, "height": 8, "lesion_probability": 0.75, "confidence": pytest.approx(0.8), "lesions": 1,
    "area_0": 24, "area_1": 24, "share_0": 0.5, "share_1": 0.5, "unfamiliarity": None, "unfamiliar": None,
}  # fmt: skip


def test_a_row_has_the_figures_of_its_image(top_half: ImagePredictor, images: Path) -> None:
    assert prediction_row("a.png", top_half.predict(images / "a.png")) == {"file": "a.png", **ROW}


def test_a_frame_has_a_row_an_image(top_half: ImagePredictor, images: Path) -> None:
    pytest.importorskip("pandas")
    frame = predictions_frame(top_half.predict_folder(images))
    assert frame.to_dict("records") == [{"file": str(images / name), **ROW} for name in ("a.png", "b.png")]


def test_a_missing_pandas_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ConfigError, match=r"pandas.* is not installed; install endotransfer\[pandas\]\."):
        predictions_frame([])
