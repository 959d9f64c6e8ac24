"""What a method may ask of the engine beyond a loss: statistics before training, and a stage that trains nothing."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor

from endotransfer.batch import Batch, PassBatch, SourceSet
from endotransfer.config import TrainingConfig
from endotransfer.engine import run as engine
from endotransfer.engine.callbacks import TrainingEvent
from endotransfer.engine.checkpoint import load_latest
from endotransfer.engine.plan import lay_out
from endotransfer.engine.schedule import lr_factor_in
from endotransfer.engine.trainer import Trainer
from endotransfer.errors import ConfigError
from endotransfer.losses.supervised_terms import source_terms
from endotransfer.methods.base import METHODS, Memo, Method
from endotransfer.methods.resolve import method_config
from endotransfer.methods.semantic_transfer import SemanticTransferConfig
from endotransfer.methods.task import WARM_UP, Progress, Stage, TaskInfo, after_warm_up_share
from endotransfer.pseudo_labels.target_set import TargetSet
from tests.contract.behaviour import build, one_batch


class Counting(Method):
    """Counts what `prepare` and a last, lossless pass were shown."""

    summary = "for this test"
    calls: ClassVar[list[str]] = []
    lesion_pixels: Tensor
    source_images: Tensor
    target_images: Tensor
    last_images: Tensor

    def __init__(self, task: Any, config: Any) -> None:
        super().__init__(task, config)
        for name in ("lesion_pixels", "source_images", "target_images", "last_images"):
            self.register_buffer(name, torch.zeros((), dtype=torch.int64))

    def prepare(self, source: SourceSet, target: TargetSet | None) -> None:
        self.calls.append("prepare")
        assert target is not None and not self.training and not torch.is_grad_enabled()
        for batch in source:
            assert len(batch.masks) == len(batch.images) == len(batch.keys)
            assert batch.images.max() <= 1
            self.source_images += len(batch.images)
            self.lesion_pixels += (batch.masks == 1).sum()
        self.target_images += images_in(target)

    def stages(self) -> list[Stage]:
        return [
            Stage("train", self.task.epochs, target=False),
            Stage("count", 1, phases=(), target=False, target_pass=True),
        ]

    def losses(self, phase: str, batch: Batch, memo: Memo) -> dict[str, Tensor]:
        assert batch.source is not None
        return source_terms(batch.source, self.segmenter(batch.source.images))

    def target_pass(self, target: TargetSet) -> dict[str, float]:
        self.calls.append("pass")
        self.last_images += images_in(target)
        return {"seen": float(self.last_images)}


def images_in(target: Iterator[PassBatch] | TargetSet) -> int:
    return sum(len(batch.images) for batch in target)


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The method above, known to the registry for the length of a test, and its record of calls."""
    monkeypatch.setitem(METHODS._things, "counting", Counting)
    monkeypatch.setattr(Counting, "name", "counting", raising=False)
    Counting.calls.clear()
    yield Counting.calls


def final(run: Path) -> dict[str, Tensor]:
    return load_latest(run / "checkpoints")[0].tensors["weights"]


def test_statistics_come_first_and_a_stage_without_loss_last(
    counting: list[str], make_experiment: Any, tmp_path: Path
) -> None:
    engine.train(make_experiment("tagged", "counting", epochs=2), tmp_path / "run")
    assert counting == ["prepare", "pass"]
    weights = final(tmp_path / "run")
    assert weights["source_images"] > 0
    assert weights["lesion_pixels"] > 0
    assert weights["target_images"] == weights["last_images"] > 0
    assert ",pass/seen," in (tmp_path / "run" / "metrics.csv").read_text()


def test_a_resumed_run_keeps_its_statistics_and_runs_the_last_stage_once(
    counting: list[str], make_experiment: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = make_experiment("tagged", "counting", epochs=2)
    engine.train(experiment, tmp_path / "straight")
    counting.clear()
    with monkeypatch.context() as patch:
        original = Trainer._save_if_due

        def asked_to_leave(self: Trainer, event: TrainingEvent) -> None:
            self.stop.asked = self.step == 6  # all that is trained; the last stage is still to come
            original(self, event)

        patch.setattr(Trainer, "_save_if_due", asked_to_leave)
        assert engine.train(experiment, tmp_path / "run") is None
    assert counting == ["prepare"]
    engine.train(experiment, tmp_path / "run", resume=True)
    assert counting == ["prepare", "pass"]
    straight, resumed = final(tmp_path / "straight"), final(tmp_path / "run")
    assert all(torch.equal(straight[name], resumed[name]) for name in straight)


def test_a_stage_without_phases_takes_one_step() -> None:
    plan = lay_out([Stage("a", 2), Stage("b", 1, phases=()), Stage("c", 1)], 5)
    assert [(epoch.first, epoch.last) for epoch in plan] == [(0, 5), (5, 10), (10, 11), (11, 16)]


def test_the_learning_rate_does_not_count_stages_that_are_not_its_own() -> None:
    """Neither one with a schedule of its own, nor one that trains nothing."""
    stages = [Stage("a", 2, own_schedule=True), Stage("b", 1), Stage("c", 1, phases=()), Stage("d", 2)]
    plan = lay_out(stages, 5)
    assert [epoch.scheduled(epoch.first) for epoch in plan if epoch.stage.name == "a"] == [(0, 10), (5, 10)]
    assert [epoch.scheduled(epoch.first + 1) for epoch in plan if epoch.stage.name in "bd"] == [
        (1, 15),
        (6, 15),
        (11, 15),
    ]


def test_a_stage_may_scale_the_learning_rate_or_keep_it_constant() -> None:
    """And a stage at a constant rate takes nothing from the schedule of the others."""
    stages = [Stage("a", 1), Stage("b", 1, lr_scale=0.2, constant_lr=True), Stage("c", 1, lr_scale=0.5)]
    training = TrainingConfig(schedule="poly", power=1, warmup_steps=1)
    factors = {
        epoch.stage.name: [lr_factor_in(epoch, training, step) for step in range(epoch.first, epoch.last)]
        for epoch in lay_out(stages, 5)
    }
    assert factors["a"] == pytest.approx([0.5, 0.9, 0.8, 0.7, 0.6])  # one step of warm-up
    assert factors["b"] == [0.2] * 5
    assert factors["c"] == pytest.approx([0.25, 0.2, 0.15, 0.1, 0.05])


@pytest.mark.parametrize(
    ("share", "expected"), [(0.5, [0, 1, 2, 2, 4]), (0.33, [0, 1, 1, 1, 3]), (0.99, [0, 1, 2, 3, 7])]
)
def test_a_share_of_the_epochs_leaves_one_for_the_rest(make_experiment: Any, share: float, expected: list[int]) -> None:
    model = make_experiment("tagged", "source_only").model
    assert [TaskInfo(2, True, model, epochs).epochs_for(share) for epochs in (1, 2, 3, 4, 8)] == expected


def test_a_stage_may_have_its_own_number_of_steps() -> None:
    plan = lay_out([Stage("a", 1, own_schedule=True, steps=7), Stage("b", 2), Stage("c", 2, steps=3)], 5)
    assert [(epoch.first, epoch.last) for epoch in plan] == [(0, 7), (7, 12), (12, 17), (17, 20), (20, 23)]
    assert [epoch.scheduled(epoch.first) for epoch in plan] == [(0, 7), (0, 16), (5, 16), (10, 16), (13, 16)]


def test_progress_knows_how_much_of_its_stage_is_done() -> None:
    """From 0 at the first step of every stage on, so that a ramp begins with it."""
    plan = lay_out([Stage("warm-up", 1), Stage("transfer", 2)], 4)
    done = [epoch.progress(step, 12).stage_done for epoch in plan for step in range(epoch.first, epoch.last)]
    assert done == [0, 0.25, 0.5, 0.75, *(step / 8 for step in range(8))]


@pytest.mark.parametrize(
    ("share", "epochs", "expected"),
    [(0.25, 8, [2, 6]), (0.25, 1, [1]), (0.25, 2, [1, 1]), (0.9, 3, [2, 1]), (0.0, 3, [3])],
)
def test_a_warm_start_takes_at_least_one_epoch_and_never_all(share: float, epochs: int, expected: list[int]) -> None:
    stages = after_warm_up_share(share, Stage("transfer", epochs, ("net", "critic"), target_pass=True), tags=False)
    assert [stage.epochs for stage in stages] == expected
    assert stages[-1] == Stage("transfer", expected[-1], ("net", "critic"), target_pass=True)
    assert stages[:-1] == [Stage(WARM_UP, number, target=False) for number in expected[:-1]]


VARIANTS = METHODS.get("semantic_transfer").variants


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("task", ["tagged", pytest.param("untagged", marks=pytest.mark.extended)])
def test_a_variant_trains_what_its_name_lists(make_experiment: Any, tmp_path: Path, task: str, variant: str) -> None:
    experiment = make_experiment(task, "semantic_transfer", "paper", epochs=2, steps_per_epoch=1)
    experiment = experiment.model_copy(update={"method": {**experiment.method, "variant": variant}})
    results = engine.train(experiment, tmp_path / "run")
    assert results is not None and results["variant"] == variant
    terms = {line.split(",")[3] for line in (tmp_path / "run" / "metrics.csv").read_text().splitlines()}
    whole = variant.startswith("Ours")
    assert ("term/adversarial" in terms) == (whole or "AL" in variant)
    assert ("term/centroids" in terms) == (whole or "SRT" in variant)
    assert ("term/segmentation_target" in terms) == ((whole and variant != "Ours-woPL") or "PL" in variant.split("+"))


def test_a_variant_is_laid_over_its_preset_and_fields_over_both() -> None:
    settings = {"name": "semantic_transfer", "preset": "paper", "variant": "BL+AL", "eta": 0.5}
    config, other = (method_config(settings | {"variant": name})[2] for name in ("BL+AL", "Ours-woCB"))
    assert isinstance(config, SemanticTransferConfig) and isinstance(other, SemanticTransferConfig)
    assert (config.eta, config.mu, config.pseudo_labels, config.class_balance) == (0.5, 0.0, False, True)
    assert (other.eta, other.mu > 0, other.pseudo_labels, other.class_balance) == (0.5, True, True, False)


@pytest.mark.parametrize("variant", ["BL+XX", 3])
def test_an_unknown_variant_is_refused_with_those_there_are(variant: object) -> None:
    with pytest.raises(ConfigError, match=r"no variant .*; it has BL, BL\+AL"):
        method_config({"name": "semantic_transfer", "variant": variant})
    with pytest.raises(ConfigError, match="it has none"):
        method_config({"name": "source_only", "variant": "BL"})


def test_sampling_by_class_trains(make_experiment: Any, tmp_path: Path) -> None:
    short = {"epochs": 1, "steps_per_epoch": 2}
    for sampling in ("images", "classes"):
        engine.train(make_experiment("untagged", "source_only", sampling=sampling, **short), tmp_path / sampling)
    one, other = final(tmp_path / "images"), final(tmp_path / "classes")
    assert not all(torch.equal(one[key], other[key]) for key in one)


@pytest.mark.parametrize(
    ("task", "epochs", "warmup"), [("tagged", 8, 1), ("untagged", 8, 4), ("untagged", 3, 2), ("untagged", 2, 1)]
)
def test_without_tags_tag_transfer_knows_the_source_well_before_it_labels(
    make_experiment: Any, task: str, epochs: int, warmup: int
) -> None:
    cls, _, config = method_config({"name": "tag_transfer"})
    model = make_experiment(task, "tag_transfer").model
    tagged = task == "tagged"
    stages = cls(TaskInfo(2 if tagged else 5, tagged, model, epochs=epochs), config).stages()
    assert [(stage.name, stage.epochs) for stage in stages] == [("warm-up", warmup), ("transfer", epochs - warmup)]


@pytest.mark.parametrize(("task", "share"), [("tagged", 1.0), ("untagged", 0.0001 / 0.01)])
def test_without_tags_tag_transfer_hardly_pulls_on_centroids(make_experiment: Any, task: str, share: float) -> None:
    batch = one_batch(make_experiment, "tag_transfer", task)
    assert batch.target is not None
    batch = replace(batch, target=replace(batch.target, stored=torch.zeros_like(batch.target.images[:, 0]).long()))
    terms = []
    for mu in (0.0001, 0.01):
        method = build(make_experiment, "tag_transfer", task, mu=mu)
        terms.append(method.losses("net", batch, {})["centroids"].item())
    assert terms[0] > 0
    assert terms[1] == pytest.approx(100 * share * terms[0], rel=1e-5)


def test_without_a_weight_there_are_no_centroids(make_experiment: Any) -> None:
    assert hasattr(build(make_experiment, "tag_transfer", mu=0.01), "centroids")
    assert not hasattr(build(make_experiment, "tag_transfer", mu=0.0), "centroids")


WITH_WARM_UP = ["cl", "nmd", "semantic_transfer", "transferability", "weak_seg_da", "wild"]
OTHERWISE = ["cam_wsss", "tag_transfer"]  # tags are its signal; it judges a segmenter that knows none
ON_REQUEST: dict[str, Any] = {"semantic_transfer": {"warmup_tags": True}}


def test_every_method_with_a_warm_up_is_asked_what_s1_learns_in_it(make_experiment: Any) -> None:
    starts = {name: build(make_experiment, name, epochs=2).stages()[0] for name in METHODS.names()}
    assert [name for name in sorted(starts) if starts[name].name == WARM_UP] == sorted([*WITH_WARM_UP, *OTHERWISE])


@pytest.mark.parametrize("name", WITH_WARM_UP)
def test_without_tags_a_warm_up_needs_no_target_image(make_experiment: Any, name: str) -> None:
    assert not build(make_experiment, name, "untagged", epochs=2).stages()[0].target


@pytest.mark.parametrize("name", WITH_WARM_UP)
def test_s1_learns_the_targets_tags_before_anything_is_labelled(make_experiment: Any, name: str) -> None:
    """Otherwise an S1 that knows the target helps with the first labels of one system, and not with another's."""
    method = build(make_experiment, name, epochs=2, **ON_REQUEST.get(name, {}))
    assert method.stages()[0].target
    method.progress = Progress(stage=WARM_UP)
    terms = method.losses("net", one_batch(make_experiment, name), {})
    assert set(terms) == {"segmentation_source", "classification_source", "classification_target"}


def test_a_warm_up_logs_its_three_terms_and_no_other(make_experiment: Any, tmp_path: Path) -> None:
    experiment = make_experiment("tagged", "semantic_transfer", epochs=2, steps_per_epoch=2, log_every=1)
    experiment.method["warmup_tags"] = True
    engine.train(experiment, tmp_path / "run")
    rows = [line.split(",") for line in (tmp_path / "run" / "metrics.csv").read_text().splitlines()]
    warm_up = {row[3] for row in rows if row[2] == "warm-up" and row[3].startswith("term/")}
    assert warm_up == {"term/segmentation_source", "term/classification_source", "term/classification_target"}
