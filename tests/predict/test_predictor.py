"""The predictor in Python: any size, batches, flips, bf16; and the meter that shows how far it is."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image
from rich.console import Console

import endotransfer
from endotransfer.errors import CheckpointError, ConfigError
from endotransfer.predict import meter as meters
from endotransfer.predict.meter import Meter
from endotransfer.predict.prediction import most_probable
from endotransfer.predict.predictor import Predictor


@pytest.fixture(scope="module")
def pictures() -> list[np.ndarray]:
    random = np.random.default_rng(0)
    return [random.integers(0, 256, size, dtype=np.uint8) for size in ((40, 30, 3), (64, 100, 3), (48, 64, 3))]


def test_a_batch_of_any_sizes_is_what_single_images_are(model: Path, pictures: list[np.ndarray]) -> None:
    predictor = endotransfer.load(model, "cpu")
    for image, one in zip(pictures, predictor.predict_batch(pictures), strict=True):
        alone = predictor.predict(image)
        np.testing.assert_allclose(one.probabilities, alone.probabilities, atol=1e-5)
        assert one.mask.shape == image.shape[:2] and one.mask.dtype == np.uint8
        assert one.lesion_probability == pytest.approx(alone.lesion_probability, abs=1e-5)
        np.testing.assert_allclose(one.probabilities.sum(0), 1, atol=1e-5)


def test_marks_are_predictions_without_the_losers(model: Path, pictures: list[np.ndarray]) -> None:
    predictor = endotransfer.load(model, "cpu")
    for marks, one in zip(predictor.mark_batch(pictures), predictor.predict_batch(pictures), strict=True):
        np.testing.assert_array_equal(marks.mask, one.mask)
        np.testing.assert_allclose(marks.certainty, one.certainty)
        assert marks.confidence == pytest.approx(one.confidence)
        assert one.lesion_share == pytest.approx((marks.mask == 1).mean())


def test_a_path_is_as_good_as_its_pixels(model: Path, pictures: list[np.ndarray], tmp_path: Path) -> None:
    Image.fromarray(pictures[0]).save(tmp_path / "a.png")
    predictor = endotransfer.load(model, "cpu")
    np.testing.assert_array_equal(predictor.predict(tmp_path / "a.png").mask, predictor.predict(pictures[0]).mask)


def test_flips_make_the_prediction_of_a_mirror_image_the_mirrored_prediction(
    model: Path, pictures: list[np.ndarray]
) -> None:
    image = pictures[2]  # of the network's own size: no resizing that rounds differently when mirrored
    plain, flips = endotransfer.load(model, "cpu"), endotransfer.load(model, "cpu", flips=True)
    straight, mirrored = flips.predict(image), flips.predict(image[::-1, ::-1])
    np.testing.assert_allclose(straight.probabilities, mirrored.probabilities[:, ::-1, ::-1], atol=1e-5)
    both = (slice(None), slice(None, None, -1))
    views = [plain.predict(image[y, x]).probabilities[:, y, x] for y in both for x in both]
    np.testing.assert_allclose(straight.probabilities, np.mean(views, axis=0), atol=1e-5)
    assert np.abs(straight.probabilities - views[0]).max() > 1e-3


def test_bf16_is_near(model: Path, pictures: list[np.ndarray]) -> None:
    full, half = endotransfer.load(model, "cpu"), endotransfer.load(model, "cpu", precision="bf16")
    difference = np.abs(full.predict(pictures[1]).probabilities - half.predict(pictures[1]).probabilities)
    assert 0 < difference.max() < 0.3 and difference.mean() < 0.03
    assert isinstance(full, Predictor) and not full.bf16
    automatic = endotransfer.load(model, "cpu", precision="auto")
    assert isinstance(automatic, Predictor) and not automatic.bf16


@given(
    arrays(np.float32, st.tuples(st.integers(1, 5), st.just(3), st.just(4)), elements=st.sampled_from([0.1, 0.3, 0.5]))
)
def test_the_first_of_equals_is_chosen(probabilities: np.ndarray) -> None:
    mask, certainty = most_probable(probabilities)
    np.testing.assert_array_equal(mask, probabilities.argmax(0))
    np.testing.assert_array_equal(certainty, probabilities.max(0))
    assert mask.dtype == np.uint8


def test_what_is_no_bundle_is_refused(model: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"holds no model\.onnx; write a bundle with `endotransfer export`"):
        endotransfer.load(model, backend="onnx")
    (tmp_path / "model.onnx").write_bytes(b"x")
    with pytest.raises(CheckpointError, match=r"cannot read .*config\.json|config\.json is damaged"):
        endotransfer.load(tmp_path)


def test_a_log_gets_a_line_now_and_then(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meters, "EVERY", 0.0)
    with Meter(Console(), "predicting", 3) as meter:
        assert list(meter.watch("abc")) == ["a", "b", "c"]
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("predicting: 1 of 3, ") and lines[0].endswith(" left")
    with Meter(Console(), "v", None) as meter:
        list(meter.watch("a"))
    assert capsys.readouterr().out.startswith("v: 1, ")
    assert meter.rate > 0
