"""A transformer from the experiment to a mask: what is recorded, resumed, predicted."""

import json
from pathlib import Path

import pytest
import timm
import yaml
from safetensors.torch import save_file
from typer.testing import CliRunner

from endotransfer.cli.main import app
from endotransfer.config import Experiment
from endotransfer.engine.run import train
from endotransfer.testing.fixtures import MakeExperiment
from endotransfer.testing.repeated_run import differing, train_in_two_parts


@pytest.fixture(scope="module")
def experiment(make_experiment: MakeExperiment) -> Experiment:
    """Without a word of head, multi-grid, optimiser or rate; local features are asked for."""
    raw = make_experiment("tagged", "tag_transfer", workers=0).model_dump(mode="json")
    for section, names in {"model": ("multi_grid", "weights"), "training": ("lr",)}.items():
        for name in names:
            del raw[section][name]
    raw["model"] |= {"backbone": "test_vit"}
    return Experiment.model_validate(raw)


@pytest.fixture(scope="module")
def run(experiment: Experiment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("vit") / "run"
    assert train(experiment, out) is not None
    return out


def test_what_was_chosen_by_family_is_recorded(run: Path) -> None:
    kept = yaml.safe_load((run / "config.yaml").read_text())
    assert (kept["model"]["head"], kept["model"]["multi_grid"]) == ("pyramid", None)
    assert [kept["training"][name] for name in ("optimiser", "lr", "weight_decay")] == ["adamw", 5e-5, 0.01]
    network = json.loads((run / "model" / "config.json").read_text())["network"]
    assert network["kind"] == "segmenter" and network["settings"]["model"]["head"] == "pyramid"


def test_a_resumed_run_ends_with_the_same_bits(run: Path, experiment: Experiment, tmp_path: Path) -> None:
    train_in_two_parts(experiment, tmp_path / "again")
    assert differing(run, tmp_path / "again") == []


def test_masks_are_written_by_the_command(run: Path, tasks: dict[str, Path], tmp_path: Path) -> None:
    images = tasks["tagged"] / "capsule" / "images"
    result = CliRunner().invoke(app, ["predict", str(run), str(images), "--out", str(tmp_path / "masks")])
    assert result.exit_code == 0, result.output
    assert len(list((tmp_path / "masks").rglob("*.png"))) >= len(list(images.iterdir()))


def test_features_stay_near_the_pretrained_ones_on_a_map_coarser_than_the_logits(
    make_experiment: MakeExperiment, tmp_path: Path
) -> None:
    save_file(timm.create_model("test_convnext").state_dict(), tmp_path / "convnext.safetensors")
    changed = ["model.backbone=test_convnext", f"model.weights={tmp_path / 'convnext.safetensors'}"]
    changed += ["training.epochs=2", "training.steps_per_epoch=1", "data.size=64"]
    results = train(make_experiment("tagged", "daformer").with_settings(changed), tmp_path / "run")
    assert results is not None and "feature_distance" in (tmp_path / "run" / "metrics.csv").read_text()
