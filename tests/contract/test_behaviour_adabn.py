"""AdaBN does what it is for: weights as source-only training leaves them, statistics of the target set."""

from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console
from torch import Tensor

from endotransfer.config import Experiment
from endotransfer.engine import run as engine
from endotransfer.engine.checkpoint import load_latest
from endotransfer.engine.experiment_data import load_data
from endotransfer.engine.training_data import load_training_data
from endotransfer.errors import ConfigError
from endotransfer.methods.adabn import AdaBN
from endotransfer.methods.base import METHODS
from endotransfer.methods.resolve import check_needs
from endotransfer.methods.task import TaskInfo
from endotransfer.models.backbones.reestimation import normalising_layers
from endotransfer.models.segmenters.segmenter import Segmenter


def with_norm(experiment: Experiment, norm: str) -> Experiment:
    return experiment.model_copy(update={"model": experiment.model.model_copy(update={"norm": norm})})


@pytest.fixture(scope="module", params=["batch", "per_domain"])
def norm(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def trained(make_experiment: Any, norm: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Runs of AdaBN and of source-only training on the same network."""
    runs = {name: tmp_path_factory.mktemp("runs") / name for name in ("adabn", "source_only")}
    for name, run in runs.items():
        engine.train(with_norm(make_experiment("tagged", name), norm), run)
    return runs


def weights_of(run: Path) -> dict[str, Tensor]:
    return load_latest(run / "checkpoints")[0].tensors["weights"]


def segmenter_of(run: Path, experiment: Experiment) -> Segmenter:
    method = METHODS.get(run.name)(TaskInfo(2, True, experiment.model, 1), METHODS.get(run.name).Config())
    method.load_state_dict(weights_of(run))
    segmenter = method.eval().segmenter
    assert isinstance(segmenter, Segmenter)
    return segmenter


@torch.no_grad()
def seen_by_first_layer(segmenter: Segmenter, images: Tensor) -> Tensor:
    """What the first normalising layer gets, as [channels, values]."""
    seen: list[Tensor] = []
    first = next(iter(normalising_layers(segmenter, "target")))
    hook = first.register_forward_pre_hook(lambda layer, inputs: seen.append(inputs[0]))
    segmenter(images, domain="target")
    hook.remove()
    return seen[0].movedim(1, 0).flatten(1)


@pytest.fixture(scope="module")
def target_images(make_experiment: Any) -> Tensor:
    experiment = make_experiment("tagged", "adabn")
    experiment_data = load_data(experiment.data, AdaBN.needs)
    training_data = load_training_data(
        experiment, experiment_data, AdaBN.needs, lambda *_: None, console=Console(quiet=True)
    )
    assert training_data.pass_set is not None
    return torch.cat([batch.images for batch in training_data.pass_set])


def test_every_weight_is_that_of_source_only_training_and_only_statistics_differ(
    trained: dict[str, Path], norm: str
) -> None:
    adapted, source = weights_of(trained["adabn"]), weights_of(trained["source_only"])
    moved = {name for name in adapted if not torch.equal(adapted[name], source[name])}
    assert moved == {name for name in adapted if "running" in name and ".source." not in name}
    assert any(".target." in name for name in moved) == (norm == "per_domain")


def test_statistics_are_mean_and_variance_over_the_whole_target_set(
    trained: dict[str, Path], make_experiment: Any, norm: str, target_images: Tensor
) -> None:
    experiment = with_norm(make_experiment("tagged", "adabn"), norm)
    distances = {}
    for name, run in trained.items():
        segmenter = segmenter_of(run, experiment)
        domain = METHODS.get(name).predict_as
        kept = next(iter(normalising_layers(segmenter, domain).values()))
        values = seen_by_first_layer(segmenter, target_images)
        assert kept.running_mean is not None
        distances[name] = (kept.running_mean - values.mean(1)).abs().max().item()
        if name == "adabn":
            torch.testing.assert_close(kept.running_mean, values.mean(1), rtol=1e-4, atol=1e-5)
            torch.testing.assert_close(kept.running_var, values.var(1), rtol=1e-4, atol=1e-5)
    assert distances["adabn"] < 1e-2 * distances["source_only"]


def test_deep_features_of_the_target_are_centred_as_those_of_the_source_were(
    trained: dict[str, Path], make_experiment: Any, norm: str, target_images: Tensor
) -> None:
    """Behind the statistics of its own domain a layer's output has mean 0 and variance 1, before scale and shift."""
    experiment = with_norm(make_experiment("tagged", "adabn"), norm)
    offsets = {}
    for name, run in trained.items():
        segmenter = segmenter_of(run, experiment)
        domain = METHODS.get(name).predict_as
        offsets[name] = mean_offset(segmenter, target_images, domain)
    assert offsets["adabn"] < 0.5 * offsets["source_only"]


@torch.no_grad()
def mean_offset(segmenter: Segmenter, images: Tensor, domain: str) -> float:
    """How far, in deviations, what a layer sees is from the mean it keeps; the mean over all layers and channels."""
    offsets: list[Tensor] = []

    def measure(layer: Any, inputs: tuple[Tensor, ...]) -> None:
        kept = layers[layer]
        assert kept.running_mean is not None and kept.running_var is not None
        offset = inputs[0].mean((0, 2, 3)) - kept.running_mean
        offsets.append(offset.abs() / torch.sqrt(kept.running_var + kept.eps))

    layers = normalising_layers(segmenter, domain)
    hooks = [layer.register_forward_pre_hook(measure) for layer in layers]
    segmenter(images, domain=domain)
    for hook in hooks:
        hook.remove()
    return torch.cat(offsets).mean().item()


def test_it_trains_on_the_source_alone_and_ends_with_a_pass_that_trains_nothing(make_experiment: Any) -> None:
    method = AdaBN(TaskInfo(2, True, make_experiment("tagged", "adabn").model, 3), AdaBN.Config())
    train, statistics = method.stages()
    assert (train.epochs, train.target, train.target_pass) == (3, False, False)
    assert (statistics.epochs, statistics.phases, statistics.target_pass) == (1, (), True)


@pytest.mark.parametrize("norm", ["frozen", "group"])
def test_it_is_refused_where_statistics_do_not_move(make_experiment: Any, norm: str) -> None:
    with pytest.raises(ConfigError, match=r"adabn needs batch statistics that move.*norm is " + norm):
        check_needs(AdaBN, with_norm(make_experiment("tagged", "adabn"), norm).model)
