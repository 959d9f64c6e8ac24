"""CUDA graphs change nothing but the speed."""

import math
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from lightning.fabric import Fabric
from torch import Tensor, nn
from torch._dynamo.testing import CompileCounter

from endotransfer.batch import Batch, SegOutput
from endotransfer.config import ModelConfig
from endotransfer.engine.callbacks import TrainingEvent
from endotransfer.engine.checkpoint import Checkpoint
from endotransfer.engine.graphs import OFTEN, compile_for_all, compute, use_graphs
from endotransfer.engine.run import train
from endotransfer.engine.trainer import Trainer
from endotransfer.errors import TrainingDiverged
from endotransfer.methods.base import Memo
from endotransfer.methods.source_only import SourceOnly
from endotransfer.models.segmenters.recordable import Recordable
from endotransfer.models.segmenters.segmenter import Segmenter, build_segmenter
from endotransfer.models.segmenters.two_level import TwoLevelSegmenter

Save = Callable[[Trainer, TrainingEvent], None]
IMAGES = torch.rand(2, 3, 64, 64, generator=torch.Generator().manual_seed(0))
needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def test_a_processor_and_batch_statistics_are_left_alone() -> None:
    net = nn.Identity()
    assert use_graphs(Fabric(accelerator="cpu", devices=1), net, "frozen") is None
    assert "forward" not in vars(net)


class Watched:
    """Stands in for graphs: what a trainer does with them, in order."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def record(self) -> None:
        self.said.append("record")

    def new_step(self) -> None:
        self.said.append("step")


@pytest.mark.parametrize("resumed", [False, True])
def test_graphs_are_recorded_after_the_first_steps_of_a_stage(
    make_experiment: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, resumed: bool
) -> None:
    """A stage of 5 steps and one of 10; and from step 3 on, where too few are left of an epoch to show what it asks."""
    experiment = make_experiment("tagged", "tag_transfer", epochs=3, steps_per_epoch=5)
    if resumed:
        with monkeypatch.context() as leaving:
            leaving.setattr(Trainer, "_save_if_due", stop_at(3, Trainer._save_if_due))
            assert train(experiment, tmp_path / "run") is None
    watched = Watched()
    monkeypatch.setattr("endotransfer.engine.trainer.use_graphs", lambda *_: watched)
    assert train(experiment, tmp_path / "run", resume=resumed) is not None
    first, rest = ["record", *["step"] * OFTEN], ["record", *["step"] * (5 - OFTEN)]
    warmup = ["record", "step", "step"] if resumed else first + rest
    assert watched.said == [*warmup, *first, *rest, "record", *["step"] * 5]


def stop_at(step: int, save: Save) -> Save:
    def ask(self: Trainer, event: TrainingEvent) -> None:
        self.stop.asked = self.step == step
        save(self, event)

    return ask


def test_a_resumed_run_has_its_moments_laid_out_as_its_weights(
    make_experiment: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With graphs and bf16 a segmenter is channels-last, and a fused step refuses moments that are not."""
    monkeypatch.setattr("endotransfer.engine.trainer.use_graphs", lambda *_: Watched())
    restored: list[Trainer] = []

    def restore(self: Trainer, checkpoint: Checkpoint, before: Any = Trainer.restore) -> None:
        before(self, checkpoint)
        restored.append(self)

    monkeypatch.setattr(Trainer, "restore", restore)
    experiment = make_experiment(
        "tagged", "wild", epochs=2, steps_per_epoch=5, optimiser="adamw", precision="bf16", accelerator="cpu"
    )
    with monkeypatch.context() as leaving:
        leaving.setattr(Trainer, "_save_if_due", stop_at(7, Trainer._save_if_due))
        assert train(experiment, tmp_path / "run") is None
    assert train(experiment, tmp_path / "run", resume=True) is not None
    (trainer,) = restored
    state = trainer.optimisers["net"].state
    strides = {(weight.stride(), values["exp_avg"].stride()) for weight, values in state.items()}
    assert all(weight == moment for weight, moment in strides)
    assert any(len(weight) == 4 and weight[1] == 1 < weight[3] for weight, _ in strides)  # channels first in memory


def gradients(segmenter: Segmenter, images: Tensor) -> dict[str, Tensor]:
    segmenter.zero_grad(set_to_none=True)
    output = segmenter(images)
    assert output.tag_logits is not None
    (output.logits.square().mean() + output.features.abs().mean() + output.tag_logits.sum()).backward()
    return {name: p.grad.clone() for name, p in segmenter.named_parameters() if p.grad is not None}


def test_compiled_code_is_shared_by_all_segmenters_of_one_shape() -> None:
    """Otherwise a benchmark would compile anew for every cell, and lose more than it gains."""
    model = ModelConfig(backbone="test_resnet", pretrained=False, norm="group", multi_grid=None, aspp_channels=8)
    torch._dynamo.reset()
    counted = CompileCounter()
    compiled = torch.compile(compute, dynamic=False, fullgraph=True, backend=counted)
    for _ in range(2):
        segmenter = build_segmenter(model, 2, tags=True).train()
        for ours, plain in zip(compiled(segmenter, IMAGES), compute(segmenter, IMAGES), strict=True):
            assert ours.shape == plain.shape
    assert counted.frame_count == 1


class OneLayer(Recordable):
    """A segmenter that is compiled in no time."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.head = nn.Conv2d(3, classes, 1)

    def compute(self, images: Tensor, domain: str = "source") -> SegOutput:
        return SegOutput(self.head(images), None, images)


def test_a_process_compiles_more_heads_and_shapes_than_torch_allows_by_default() -> None:
    torch._dynamo.reset()
    with torch._dynamo.config.patch(recompile_limit=8):
        compiled = compile_for_all("eager")
        for classes, size in product((2, 3, 5, 12), (1, 2, 4)):
            logits, _ = compiled(OneLayer(classes), torch.rand(size, 3, 8, 8))
            assert logits.shape == (size, classes, 8, 8)
    compile_for_all.cache_clear()
    torch._dynamo.reset()


@needs_cuda
@pytest.mark.parametrize("precision, compiled", [("32-true", False), ("bf16-mixed", False), ("bf16-mixed", True)])
def test_gradients_are_those_of_plain_training(precision: Literal["32-true", "bf16-mixed"], compiled: bool) -> None:
    torch.backends.cudnn.allow_tf32 = False
    model = ModelConfig(backbone="test_resnet", pretrained=False, norm="group", multi_grid=None, dropout=0.0)
    fabric = Fabric(accelerator="gpu", devices=1, precision=precision)
    segmenter = build_segmenter(model, 2, tags=True).to(fabric.device)
    first, second = torch.rand(2, 4, 3, 64, 64, device=fabric.device)
    with fabric.autocast():
        plain = [gradients(segmenter, images) for images in (first, second)]
    graphs = use_graphs(fabric, segmenter, "group", compiled)
    assert graphs is not None
    with fabric.autocast():
        for _ in range(OFTEN):
            gradients(segmenter, first)
    graphs.record()
    for images, expected in ((first, plain[0]), (second, plain[1]), (first, plain[0])):
        graphs.new_step()
        with fabric.autocast():
            found = gradients(segmenter, images)
        assert graphs.used
        assert found.keys() == expected.keys()
        for name, value in expected.items():
            error = (found[name] - value).norm() / value.norm().clamp(min=1e-6)
            assert error < (1e-4 if precision == "32-true" else 2e-2), (name, float(error))


@needs_cuda
def test_a_second_forward_in_a_step_does_not_overwrite_the_first() -> None:
    model = ModelConfig(backbone="test_resnet", pretrained=False, norm="group", multi_grid=None, dropout=0.0)
    fabric = Fabric(accelerator="gpu", devices=1)
    segmenter = build_segmenter(model, 2, tags=False).to(fabric.device)
    graphs = use_graphs(fabric, segmenter, "group")
    assert graphs is not None
    first, second = torch.rand(2, 4, 3, 64, 64, device=fabric.device)
    for _ in range(OFTEN):
        segmenter(first)
    graphs.record()
    graphs.new_step()
    one = segmenter(first).logits
    kept = one.detach().clone()
    segmenter(second)
    assert torch.equal(one, kept)


@needs_cuda
def test_two_forwards_in_a_step_have_a_graph_each_and_carry_all_outputs() -> None:
    torch.backends.cudnn.allow_tf32 = False
    model = ModelConfig(backbone="test_resnet", pretrained=False, norm="group", multi_grid=None, dropout=0.0)
    fabric = Fabric(accelerator="gpu", devices=1)
    segmenter = TwoLevelSegmenter(build_segmenter(model, 2, tags=True), model).to(fabric.device)
    first, second = torch.rand(2, 4, 3, 64, 64, device=fabric.device)
    with torch.no_grad():
        plain = [segmenter(images) for images in (first, second)]
    graphs = use_graphs(fabric, segmenter, "group")
    assert graphs is not None
    for _ in range(OFTEN):
        graphs.new_step()
        segmenter(first), segmenter(second)
    graphs.record()
    graphs.new_step()
    found = [segmenter(images) for images in (first, second)]
    assert len(graphs.graphs) == 2
    for ours, expected in zip(found, plain, strict=True):
        assert (ours.logits - expected.logits).norm() < 1e-4 * expected.logits.norm()
        assert (ours.aux["logits"] - expected.aux["logits"]).norm() < 1e-4 * expected.aux["logits"].norm()
        assert ours.tag_logits is not None


@needs_cuda
def test_a_step_that_is_not_finite_stops_a_run_whose_figures_arrive_late(
    make_experiment: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    losses = SourceOnly.losses

    def ruined(self: SourceOnly, phase: str, batch: Batch, memo: Memo) -> dict[str, Tensor]:
        terms = losses(self, phase, batch, memo)
        return {name: value * (math.nan if self.progress.step == 5 else 1) for name, value in terms.items()}

    monkeypatch.setattr(SourceOnly, "losses", ruined)
    settings = {"accelerator": "cuda", "epochs": 2, "steps_per_epoch": 6, "log_every": 100, "graphs": False}
    with pytest.raises(TrainingDiverged, match="stopped at step 5 before the update"):
        train(make_experiment("tagged", "source_only", **settings), tmp_path / "run")


@needs_cuda
@pytest.mark.parametrize("method", ["semantic_transfer", "tag_transfer", "lta", "dacs", "dfn", "cdws"])
def test_a_run_with_graphs_ends_well(make_experiment: Any, tmp_path: Path, method: str) -> None:
    settings = {"accelerator": "cuda", "epochs": 4, "steps_per_epoch": 4, "workers": 2}
    results = train(make_experiment("tagged", method, **settings), tmp_path / "run")
    assert results is not None
    assert results["miou"] >= 0
