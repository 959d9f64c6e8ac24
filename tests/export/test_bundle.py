"""A bundle says what torch says, runs without torch, and tells its user what it is."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from PIL import Image

import endotransfer
from endotransfer.errors import CheckpointError, ConfigError
from endotransfer.export import bundle as bundles_module
from endotransfer.export import check as checks
from endotransfer.export import network
from endotransfer.export.bundle import write_bundle
from endotransfer.export.check import phantoms
from endotransfer.predict.onnx_predictor import OnnxPredictor
from endotransfer.predict.overlay import overlay
from tests.model_folders import TASKS, rewrite_config, write_model

ROOT = Path(__file__).parents[2]
Bundles = dict[str, tuple[Path, Path]]


@pytest.mark.parametrize("task", TASKS)
def test_the_graph_equals_torch_on_50_phantom_images_of_two_sizes(bundles: Bundles, task: str) -> None:
    model, bundle = bundles[task]
    ours, theirs = endotransfer.load(bundle), endotransfer.load(model, "cpu")
    assert isinstance(ours, OnnxPredictor) and ours.classes == theirs.classes
    for image in phantoms([(48, 64), (90, 71)], each=25):
        one, other = ours.predict(image), theirs.predict(image)
        np.testing.assert_allclose(one.probabilities, other.probabilities, atol=1e-3)
        assert (one.mask != other.mask).mean() < 0.01
        if task == "tagged":
            assert one.lesion_probability == pytest.approx(other.lesion_probability, abs=1e-3)
        else:
            assert one.lesion_probability is other.lesion_probability is None


def test_probabilities_are_not_all_alike(bundles: Bundles) -> None:
    """Or the comparison above would prove nothing."""
    one = endotransfer.load(bundles["tagged"][1]).predict(next(phantoms([(90, 71)])))
    assert np.ptp(one.probabilities[1]) > 0.05


def test_images_go_in_as_a_batch(bundles: Bundles) -> None:
    predictor = endotransfer.load(bundles["tagged"][1])
    assert isinstance(predictor, OnnxPredictor)
    images = np.stack(list(phantoms([(40, 50)])))
    probabilities, tags, _ = predictor.run(images)
    assert probabilities.shape == (3, 2, 40, 50) and tags is not None and tags.shape == (3,)
    for image, values in zip(images, probabilities, strict=True):
        np.testing.assert_allclose(values, predictor.predict(image).probabilities, atol=1e-5)


def test_flips_agree_with_torch(bundles: Bundles) -> None:
    model, bundle = bundles["tagged"]
    image = next(phantoms([(48, 64)]))
    ours, theirs = (endotransfer.load(path, "cpu", flips=True).predict(image) for path in (bundle, model))
    np.testing.assert_allclose(ours.probabilities, theirs.probabilities, atol=1e-3)
    assert ours.lesion_probability == pytest.approx(theirs.lesion_probability, abs=1e-3)


def test_marks_are_those_of_predictions(bundles: Bundles) -> None:
    predictor = endotransfer.load(bundles["untagged"][1])
    image = next(phantoms([(30, 31)]))
    (marks,), one = predictor.mark_batch([image]), predictor.predict(image)
    np.testing.assert_array_equal(marks.mask, one.mask)
    np.testing.assert_array_equal(marks.certainty, one.certainty)


def test_its_predictions_draw_themselves(bundles: Bundles) -> None:
    image = next(phantoms([(40, 50)]))
    one = endotransfer.load(bundles["tagged"][1]).predict(image)
    np.testing.assert_array_equal(one.overlay(), overlay(image, one.mask))
    assert list(one.areas) == ["normal", "lesion"] and sum(one.areas.values()) == 2000


def test_the_bundle_is_complete_and_also_runs_with_torch(bundles: Bundles) -> None:
    model, bundle = bundles["tagged"]
    assert sorted(path.name for path in bundle.iterdir()) == [
        "README.md", "config.json", "familiarity.safetensors", "labels.json", "model.onnx", "weights.safetensors",
    ]  # fmt: skip
    assert json.loads((bundle / "labels.json").read_text()) == {"0": "normal", "1": "lesion"}
    facts = json.loads((bundle / "config.json").read_text())["onnx"]
    assert facts["checked"]["images"] == 6 and facts["checked"]["largest_difference"] < 1e-3
    assert len(facts["checked"]["sizes"]) == 2 and "BILINEAR" in facts["resize"]
    image = next(phantoms([(48, 64)]))
    again = endotransfer.load(bundle, "cpu", backend="torch").predict(image)
    np.testing.assert_array_equal(again.mask, endotransfer.load(model, "cpu").predict(image).mask)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("size", [(48, 64), (90, 71)])
def test_a_bundle_warns_as_the_model_does(bundles: Bundles, task: str, size: tuple[int, int]) -> None:
    model, bundle = bundles[task]
    images = [np.zeros((*size, 3), np.uint8), *phantoms([size])]
    theirs, ours = (
        endotransfer.load(model, "cpu").predict_batch(images),
        endotransfer.load(bundle).predict_batch(images),
    )
    marks = endotransfer.load(bundle, flips=True).mark_batch(images)
    for one, other, marked in zip(theirs, ours, marks, strict=True):
        assert one.unfamiliarity is not None and other.unfamiliarity is not None and marked.unfamiliarity is not None
        assert other.unfamiliarity.score == pytest.approx(one.unfamiliarity.score, rel=1e-3)
        assert marked.unfamiliarity == other.unfamiliarity and other.unfamiliarity.reason == one.unfamiliarity.reason
    assert ours[0].unfamiliar


def test_a_bundle_whose_statistic_was_exchanged_is_refused(bundles: Bundles, tmp_path: Path) -> None:
    bundle = Path(shutil.copytree(bundles["tagged"][1], tmp_path / "bundle"))
    (bundle / "familiarity.safetensors").write_bytes(b"something else")
    with pytest.raises(CheckpointError, match=r"familiarity\.safetensors is damaged \(its checksum differs\)"):
        endotransfer.load(bundle)


def test_the_card_says_what_a_user_must_know(bundles: Bundles) -> None:
    card = (bundles["tagged"][1] / "README.md").read_text()
    for words in ("Research use only, not a medical device", "## Intended use", "## Data fingerprint",
                  "## Where it fails", "## The exported graph", "uint8 [batch, height, width, 3]"):  # fmt: skip
        assert words in card


def test_the_card_of_a_run_has_its_figures_with_intervals(bundles: Bundles, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(bundles["tagged"][0], run / "model")
    (run / "checkpoints" / "step-00000003").mkdir(parents=True)
    (run / "checkpoints" / "step-00000003" / "state.json").write_text(json.dumps({"data": "abc123"}))
    intervals = {"groups": 7, "miou": [55.0, 66.25], "iou": {"normal": [80, 86], "lesion": None}}
    results = {
        "method": "source_only",
        "images": 9,
        "miou": 61.5,
        "iou_lesion": 40.0,
        "iou": {"normal": 83.0, "lesion": 40.0},
    }
    results["intervals"] = intervals
    (run / "results.json").write_text(json.dumps(results))
    from endotransfer.engine.model_folder import load_model
    from endotransfer.export.card import bundle_card

    card = bundle_card(run, run / "model", load_model(run), (64, 80), checks.Check(6, [(64, 80)], 1e-6))
    for line in ("| mIoU | 61.50 | 55.00 to 66.25 |", "| IoU of class normal | 83.00 | 80.00 to 86.00 |",
                 "| IoU of class lesion | 40.00 | n/a |", "`abc123`", "7 groups", "80 x 64 pixels"):  # fmt: skip
        assert line in card
    shutil.rmtree(run / "checkpoints")
    (run / "config.yaml").write_text("name: x")
    (run / "results.json").write_text("damaged")
    card = bundle_card(run, run / "model", load_model(run), None, checks.Check(6, [(64, 80)], 1e-6))
    assert "config.yaml " in card and "Figures with intervals" not in card and "any size" in card


def test_a_graph_of_one_size_takes_no_other(
    bundles: Bundles, networks: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network, "export_network", lambda *_, **how: networks["tagged"])
    write_bundle(bundles["tagged"][0], tmp_path / "fixed", size=(40, 56))
    predictor = endotransfer.load(tmp_path / "fixed")
    assert predictor.predict(np.zeros((40, 56, 3), np.uint8)).mask.shape == (40, 56)
    with pytest.raises(ConfigError, match="exported for images of 56 x 40 pixels and was given one of 64 x 48"):
        predictor.predict(np.zeros((48, 64, 3), np.uint8))


def test_a_folder_of_images_is_checked_as_well(
    bundles: Bundles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundles_module, "graph_of", lambda *_: onnx.load(bundles["tagged"][1] / "model.onnx"))
    Image.fromarray(np.zeros((33, 44, 3), np.uint8)).save(tmp_path / "a.png")
    check = write_bundle(bundles["tagged"][0], tmp_path / "out", images=tmp_path)
    assert check.images == 7 and (33, 44) in check.sizes and "7 images" in check.sentence()


def test_a_graph_that_differs_is_never_handed_out(
    bundles: Bundles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundles_module, "graph_of", lambda *_: onnx.load(bundles["tagged"][1] / "model.onnx"))
    other = write_model(tmp_path / "other", norm="batch")
    with pytest.raises(CheckpointError, match=r"differs from torch by .* in probability"):
        write_bundle(other, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_nothing_is_overwritten_and_sizes_have_limits(bundles: Bundles, tmp_path: Path) -> None:
    model, bundle = bundles["tagged"]
    with pytest.raises(ConfigError, match="not an empty folder"):
        write_bundle(model, bundle)
    with pytest.raises(ConfigError, match="--size 20000 10"):
        write_bundle(model, tmp_path / "out", size=(20000, 10))
    with pytest.raises(CheckpointError, match="holds no trained model"):
        write_bundle(tmp_path, tmp_path / "out")


@pytest.mark.parametrize(
    ("geometry", "how"), [((None, None), "at its own size"), (((48, 64), (32, 32)), "through a sliding window")]
)
def test_a_model_that_looks_at_images_in_another_way_is_refused(
    geometry: Any, how: str, bundles: Bundles, tmp_path: Path
) -> None:
    model = Path(shutil.copytree(bundles["tagged"][0], tmp_path / "model"))
    rewrite_config(model, lambda info: info | {"geometry": {"size": geometry[0], "window": geometry[1]}})
    with pytest.raises(ConfigError, match=how):
        write_bundle(model, tmp_path / "out")
    image = next(phantoms([(50, 40)]))
    assert endotransfer.load(model, "cpu").predict(image).mask.shape == (50, 40)


def test_a_damaged_graph_is_not_run(bundles: Bundles, tmp_path: Path) -> None:
    bundle = Path(shutil.copytree(bundles["tagged"][1], tmp_path / "bundle"))
    raw = bytearray((bundle / "model.onnx").read_bytes())
    raw[len(raw) // 2] ^= 1
    (bundle / "model.onnx").write_bytes(raw)
    with pytest.raises(CheckpointError, match="checksum differs"):
        endotransfer.load(bundle)
    (bundle / "config.json").write_text("{}")
    with pytest.raises(CheckpointError, match=r"cannot read|damaged"):
        endotransfer.load(bundle)


def run_alone(code: str, *arguments: Path) -> str:
    """In a new Python, in which torch cannot be imported."""
    blocked = "import sys\nsys.modules['torch'] = None\n"
    done = subprocess.run(
        [sys.executable, "-c", blocked + code, *map(str, arguments)], capture_output=True, text=True, check=False,
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": ""}, cwd=arguments[0],
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_bundle_runs_without_torch(bundles: Bundles) -> None:
    code = "import endotransfer as e, numpy as n\nprint(e.load('.').predict(n.zeros((30, 40, 3), 'uint8')).mask.shape)"
    assert run_alone(code, bundles["tagged"][1]) == "(30, 40)\n"


def test_the_script_in_the_documentation_works(bundles: Bundles, tmp_path: Path) -> None:
    """It imports nothing but ONNX Runtime, numpy and Pillow, has at most 20 lines, and writes the right mask."""
    text = (ROOT / "docs" / "export.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(script.splitlines()) <= 20
    modules = set(re.findall(r"^(?:import|from) (\w+)", script, re.MULTILINE))
    assert modules <= {"json", "pathlib", "sys", "numpy", "onnxruntime", "PIL"}
    model, bundle = bundles["tagged"]
    work = Path(shutil.copytree(bundle, tmp_path / "bundle")).parent
    image = next(phantoms([(60, 80)]))
    Image.fromarray(image).save(work / "image.png")
    said = run_alone(script, work)
    assert "lesion" in said
    mask = np.asarray(Image.open(work / "mask.png"))
    expected = endotransfer.load(model, "cpu").predict(image).mask
    assert mask.shape == (60, 80) and ((mask > 0) != (expected > 0)).mean() < 0.01


def test_the_temperature_is_in_the_graph(tmp_path: Path) -> None:
    model = write_model(tmp_path / "model")
    image = next(phantoms([(90, 71)]))
    sure = endotransfer.load(model, "cpu").predict(image)
    rewrite_config(model, lambda info: info | {"temperature": 3.0})
    write_bundle(model, tmp_path / "bundle")
    one, other = endotransfer.load(tmp_path / "bundle").predict(image), endotransfer.load(model, "cpu").predict(image)
    np.testing.assert_allclose(one.probabilities, other.probabilities, atol=1e-3)
    assert (one.mask != sure.mask).mean() < 0.01 and one.confidence < sure.confidence - 0.01
