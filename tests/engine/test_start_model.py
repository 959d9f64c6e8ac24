"""Training that begins with a trained model: its weights, its network, and heads that may begin anew."""

from pathlib import Path

import pytest
import torch

import endotransfer
from endotransfer.compare.cells import digest_of, plan_cells
from endotransfer.compare.suite import suite_from
from endotransfer.config import Experiment, experiment_from, read_experiment
from endotransfer.engine.model_folder import load_model
from endotransfer.engine.start_model import as_its_start
from endotransfer.errors import CheckpointError, ConfigError
from endotransfer.methods.resolve import resolved
from endotransfer.testing.fixtures import MakeExperiment
from tests.model_folders import write_model


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("start") / "first" / "model", shape=(32, 32)).parent


def beginning(experiment: Experiment, start: Path | str, **model: object) -> Experiment:
    raw = experiment.model_dump(mode="json")
    return experiment_from(raw | {"model": {"start_from": str(start), **model}})


def barely(experiment: Experiment) -> Experiment:
    """One step of a rate that changes next to nothing."""
    return experiment.with_settings(["training.epochs=1", "training.steps_per_epoch=1", "training.lr=1e-12"])


def test_the_first_weights_and_the_network_are_the_models(
    make_experiment: MakeExperiment, start: Path, tmp_path: Path
) -> None:
    experiment = barely(beginning(make_experiment("tagged", "source_only", mean_teacher=0.9), start))
    endotransfer.train(experiment, tmp_path / "run")
    ours, theirs = (load_model(one).module.state_dict() for one in (tmp_path / "run", start))
    assert ours.keys() == theirs.keys()
    for name, value in theirs.items():
        torch.testing.assert_close(ours[name], value, atol=1e-6, rtol=0)
    written = read_experiment(tmp_path / "run" / "config.yaml").model
    assert (written.backbone, written.aspp_channels, written.start_from) == ("test_resnet", 16, str(start))
    resumed = endotransfer.train(experiment, tmp_path / "run", resume=True)
    assert resumed is not None and resumed.seed == experiment.seed


def test_what_the_experiment_says_of_the_network_wins(make_experiment: MakeExperiment, start: Path) -> None:
    experiment = beginning(make_experiment("tagged", "source_only"), start, dropout=0.5)
    model = as_its_start(experiment).model
    assert (model.dropout, model.aspp_channels) == (0.5, 16)


def test_heads_for_other_classes_begin_anew_and_it_is_said(
    make_experiment: MakeExperiment, start: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    endotransfer.train(barely(beginning(make_experiment("untagged", "source_only"), start)), tmp_path / "run")
    assert "pixel_classifier begin anew" in " ".join(capsys.readouterr().out.split())
    ours, theirs = (load_model(one).module.state_dict() for one in (tmp_path / "run", start))
    assert ours["pixel_classifier.weight"].shape[0] == 5
    torch.testing.assert_close(ours["aspp.fuse.0.weight"], theirs["aspp.fuse.0.weight"], atol=1e-6, rtol=0)


def test_a_cell_of_a_benchmark_knows_the_run_that_began_so(
    make_experiment: MakeExperiment, start: Path, tmp_path: Path
) -> None:
    experiment = barely(beginning(make_experiment("tagged", "source_only"), start))
    raw = experiment.model_dump(mode="json", exclude_unset=True) | {"systems": ["source_only"]}
    (cell,) = plan_cells(suite_from(raw, tmp_path, "suite.yaml"), [experiment.seed], tmp_path / "phantom")
    endotransfer.train(experiment, tmp_path / "run")
    assert digest_of(resolved(read_experiment(tmp_path / "run" / "config.yaml"))) == cell.digest


@pytest.mark.parametrize(
    ("model", "method", "words"),
    [
        ({"aspp_channels": 8}, "source_only", "is another network"),
        ({}, "dfn", "has a network of its own"),
    ],
)
def test_what_cannot_start_is_one_sentence(
    make_experiment: MakeExperiment, start: Path, tmp_path: Path, model: dict[str, object], method: str, words: str
) -> None:
    experiment = beginning(make_experiment("tagged", method), start, **model)
    with pytest.raises(ConfigError, match=words):
        endotransfer.train(experiment, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_name_that_nothing_has_is_told(make_experiment: MakeExperiment, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="there is no polipo"):
        endotransfer.train(beginning(make_experiment("tagged", "source_only"), "polipo"), tmp_path / "run")


def test_a_folder_is_meant_from_where_the_experiment_lies(start: Path, tmp_path: Path) -> None:
    file = start.parent / "experiment.yaml"
    file.write_text("data: {source: a, target: b}\nmodel: {start_from: first}\n")
    assert read_experiment(file).model.start_from == str(start)
    file.write_text("data: {source: a, target: b}\nmodel: {start_from: polyp}\n")
    assert read_experiment(file).model.start_from == "polyp"
