"""CBST starts from a trained source model, and only then labels and trains in rounds, at a small constant rate."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from endotransfer.batch import LESION, NORMAL
from endotransfer.config import experiment_from
from endotransfer.engine import run as engine
from endotransfer.methods.cbst import CBST
from endotransfer.methods.resolve import method_config
from endotransfer.methods.task import TaskInfo
from endotransfer.pseudo_labels.label_target_set import label_target_set
from endotransfer.testing.repeated_run import differing, train_in_two_parts
from tests.contract.behaviour import Rows, build, one_batch, rows_by_name
from tests.pseudo_labels.memory_target_set import MemoryTargetSet

SOURCE = 5  # epochs of the source model in the run below


@pytest.fixture(scope="module")
def rounds(make_experiment: Any, tmp_path_factory: pytest.TempPathFactory) -> Rows:
    """Five epochs of the source model, then two rounds of two epochs and half of a third."""
    run = tmp_path_factory.mktemp("cbst") / "run"
    engine.train(make_experiment("tagged", "cbst", epochs=10, schedule="poly"), run)
    return rows_by_name(run)


def test_it_labels_once_a_round_and_more_each_time(rounds: Rows) -> None:
    epochs, portions = zip(*rounds["pass/portion"], strict=True)
    assert epochs == (5, 7, 9)
    assert portions == pytest.approx((0.2, 0.25, 0.3))
    coverage = [share for _, share in rounds["pass/coverage"]]
    assert coverage == sorted(coverage) and coverage[0] < coverage[-1]


def test_it_labels_the_same_portion_of_each_class(rounds: Rows) -> None:
    labelled = {name: shares for name, shares in rounds.items() if name.startswith("pass/labelled_")}
    assert len(labelled) == 2
    seen = 0
    for shares in labelled.values():
        for (_, share), (_, portion) in zip(shares, rounds["pass/portion"], strict=True):
            assert share == 0 or share == pytest.approx(portion, abs=0.02)  # 0: a class that was never predicted
            seen += share > 0
    assert seen >= len(rounds["pass/portion"])


def test_the_source_model_learns_tags_alone_from_the_target_and_rounds_train_on_labels(rounds: Rows) -> None:
    for name in ("segmentation_source", "classification_source", "classification_target"):
        assert {epoch for epoch, _ in rounds[f"term/{name}"]} == set(range(10))
    assert {epoch for epoch, _ in rounds["term/segmentation_target"]} == set(range(SOURCE, 10))
    assert "term/missed" not in rounds


@pytest.mark.parametrize("task", ["tagged", "untagged"])
def test_without_tags_the_source_model_sees_no_target_image(make_experiment: Any, task: str) -> None:
    cls, _, config = method_config({"name": "cbst"})
    model = make_experiment(task, "cbst").model
    source, rounds = cls(TaskInfo(2, task == "tagged", model, 8), config).stages()
    assert (source.target, rounds.target) == (task == "tagged", True)
    assert not source.target_pass


def test_the_source_model_runs_its_schedule_to_the_end_and_rounds_have_a_small_constant_rate(rounds: Rows) -> None:
    rates = rounds["lr/net"]
    source = [rate for epoch, rate in rates if epoch < SOURCE]
    assert source == pytest.approx([1e-3 * (1 - step / 15) ** 0.9 for step in range(15)])
    assert [rate for epoch, rate in rates if epoch >= SOURCE] == pytest.approx([0.2e-3] * 15)


def test_the_portion_stops_growing(make_experiment: Any, tmp_path: Path) -> None:
    made = make_experiment("tagged", "cbst", epochs=3, steps_per_epoch=1).model_dump(mode="json")
    made["method"] |= {"source_share": 0.0, "epochs_per_round": 1, "portion_start": 0.45}
    engine.train(experiment_from(made), tmp_path / "run")
    portions = [share for _, share in rows_by_name(tmp_path / "run")["pass/portion"]]
    assert portions == pytest.approx([0.45, 0.5, 0.5])


@pytest.mark.parametrize(("epochs", "source"), [(1, 0), (2, 1), (3, 2), (4, 2), (8, 4)])
def test_it_has_the_experiments_epochs_and_always_some_for_rounds(
    make_experiment: Any, epochs: int, source: int
) -> None:
    cls, _, config = method_config({"name": "cbst"})
    stages = cls(TaskInfo(2, True, make_experiment("tagged", "cbst").model, epochs), config).stages()
    expected = [("source", source), ("rounds", epochs - source)]
    assert [(stage.name, stage.epochs) for stage in stages] == [entry for entry in expected if entry[1]]


@pytest.mark.parametrize("method", ["cbst", "fda"])
def test_a_run_resumed_within_its_last_stage_ends_alike(make_experiment: Any, tmp_path: Path, method: str) -> None:
    """On labels that were made before it stopped, and at the rate of that stage."""
    experiment = make_experiment("tagged", method, schedule="poly")
    engine.train(experiment, tmp_path / "straight")
    train_in_two_parts(experiment, tmp_path / "resumed", stop_after=8)  # of nine steps; labels are those of step 6
    assert differing(tmp_path / "straight", tmp_path / "resumed") == []
    assert rows_by_name(tmp_path / "straight") == rows_by_name(tmp_path / "resumed")


def test_labels_do_not_depend_on_which_way_an_image_is_turned(make_experiment: Any) -> None:
    """Averaged over flips, a mirrored set gets mirrored labels; those of the plain prediction are others."""
    method = build(make_experiment, "cbst").eval()
    assert isinstance(method, CBST)
    target, mirrored, plain = (MemoryTargetSet() for _ in range(3))
    mirrored.images = mirrored.images.flip(-1)
    method.target_pass(target)
    with torch.no_grad():
        method.target_pass(mirrored)
        label_target_set(method.predict_target, plain, 2, 0.2)
    agree = (mirrored.maps.flip(-1) == target.maps).double().mean().item()
    assert agree > 0.98 > (plain.maps == target.maps).double().mean().item()


@pytest.mark.parametrize("preset", ["default", "normals", "tags"])
def test_what_tags_say_in_each_preset(make_experiment: Any, preset: str) -> None:
    """`normals` fills images tagged normal and adds no loss; `tags` adds one on images tagged lesion, a small one."""
    settings = CBST.presets[preset]
    method = build(make_experiment, "cbst", **settings).eval()
    target = MemoryTargetSet()
    with torch.no_grad():
        method.target_pass(target)
    assert target.tags is not None
    assert bool((target.maps[target.tags == NORMAL] == 0).all()) == (preset != "default")
    assert not (target.maps[target.tags == LESION] == 0).all()
    batch = one_batch(make_experiment, "cbst")
    images = batch.target.images
    labelled = replace(batch, target=replace(batch.target, stored=torch.zeros_like(images[:, 0]).long()))
    expected = {"segmentation_source", "classification_source", "segmentation_target", "classification_target"}
    assert set(method.losses("net", labelled, {})) == expected | ({"missed"} if preset == "tags" else set())
