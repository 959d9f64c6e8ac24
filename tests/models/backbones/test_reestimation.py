"""AdaBN's step against the literal mean and variance of everything a layer sees."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from endotransfer.config import ModelConfig
from endotransfer.models.backbones.normalisation import PerDomainBatchNorm, set_domain
from endotransfer.models.backbones.reestimation import normalising_layers, reestimate
from endotransfer.models.segmenters.segmenter import build_segmenter


@pytest.fixture
def net(shake: Callable[[nn.Module], None]) -> nn.Sequential:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Dropout(0.5), nn.Conv2d(4, 5, 3), nn.BatchNorm2d(5))
    shake(net)
    return net.double()


def running(layer: object) -> tuple[Tensor, Tensor]:
    """Mean and variance of a layer, each [C]."""
    assert isinstance(layer, nn.BatchNorm2d)
    assert layer.running_mean is not None and layer.running_var is not None
    return layer.running_mean, layer.running_var


def by_batch(x: Tensor, layer: nn.BatchNorm2d) -> Tensor:
    """x normalised by its own statistics, with the layer's scale and shift."""
    deviation = (x.var((0, 2, 3), correction=0) + layer.eps).sqrt()
    normal = (x - x.mean((0, 2, 3))[:, None, None]) / deviation[:, None, None]
    return normal * layer.weight[:, None, None] + layer.bias[:, None, None]


@torch.no_grad()
def test_statistics_are_mean_and_variance_of_all_values(net: nn.Sequential, images: Tensor) -> None:
    images = images.double() * torch.tensor([1.0, 2.0, 3.0, 4.0]).view(4, 1, 1, 1)  # batches differ
    batches = [images[:3], images[3:]]  # the second is smaller, and its values count no more for it
    assert reestimate(net, net, batches, "target") == 2
    first = [net[0](batch) for batch in batches]
    first_norm, second_norm = net[1], net[4]
    assert isinstance(first_norm, nn.BatchNorm2d)
    second = [net[3](by_batch(values, first_norm)) for values in first]
    for layer, seen in ((first_norm, first), (second_norm, second)):
        mean, variance = running(layer)
        values = torch.cat(seen).movedim(1, 0).flatten(1)
        torch.testing.assert_close(mean, values.mean(1))
        torch.testing.assert_close(variance, values.var(1, correction=1))


def test_nothing_else_changes(net: nn.Sequential, images: Tensor) -> None:
    before = {name: value.clone() for name, value in net.state_dict().items()}
    net.train()
    reestimate(net, net, [images.double()], "target")
    moved = {name for name, value in net.state_dict().items() if not torch.equal(value, before[name])}
    assert moved == {f"{layer}.running_{what}" for layer in (1, 4) for what in ("mean", "var")}
    assert net.training and net[2].training and not net[1]._forward_pre_hooks


def test_dropout_is_off_and_the_old_statistics_do_not_matter(net: nn.Sequential, images: Tensor) -> None:
    results = []
    for _ in range(2):
        net.train()
        running(net[1])[0].normal_()
        reestimate(net, net, [images.double()], "target")
        results.append(running(net[4])[1].clone())
    assert torch.equal(*results)


@pytest.mark.parametrize("norm", ["batch", "per_domain"])
def test_a_whole_segmenter_is_reestimated_and_only_the_targets_statistics(
    tiny: Callable[..., ModelConfig], images: Tensor, norm: str
) -> None:
    segmenter = build_segmenter(tiny(norm=norm), 2, True)
    before = {name: value.clone() for name, value in segmenter.state_dict().items()}
    layers = normalising_layers(segmenter, "target")
    count = reestimate(segmenter, lambda batch: segmenter(batch, domain="target"), torch.split(images, 2), "target")
    assert count == len(layers) > 5
    moved = {name for name, value in segmenter.state_dict().items() if not torch.equal(value, before[name])}
    statistics = {name for name in before if "running" in name and ".source." not in name}
    assert moved == statistics and len(statistics) == 2 * count


def test_layers_with_two_sets_of_statistics_count_once() -> None:
    layer = PerDomainBatchNorm(3)
    net = nn.Sequential(layer, nn.BatchNorm2d(3))
    found = normalising_layers(net, "target")
    assert found == {net[1]: net[1], layer: layer.statistics["target"]}
    set_domain([layer], "target")
    x = torch.randn(2, 3, 4, 4)
    reestimate(net, net, [x], "target")
    torch.testing.assert_close(layer.statistics["target"].running_mean, x.mean((0, 2, 3)))
    assert running(layer.statistics["source"])[0].abs().max() == 0


def test_half_precision_inputs_are_summed_in_full_precision() -> None:
    net = nn.Sequential(nn.BatchNorm2d(1))
    x = torch.full((1, 1, 64, 64), 0.1, dtype=torch.bfloat16)
    x[..., 0] = 3
    reestimate(net, lambda batch: net(batch.to(torch.bfloat16)), [x], "target")
    torch.testing.assert_close(running(net[0])[0][0], x.float().mean())
    torch.testing.assert_close(running(net[0])[1][0], x.float().var())


def test_sums_are_taken_over_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process has seen ten values, mean 5 and variance 0, of the only channel."""
    net = nn.Sequential(nn.BatchNorm2d(1))
    x = torch.arange(30.0).view(1, 1, 5, 6)
    elsewhere = torch.tensor([[10.0], [50.0], [250.0]], dtype=torch.float64)
    monkeypatch.setattr("endotransfer.models.backbones.reestimation.sum_over_processes", lambda sums: sums + elsewhere)
    reestimate(net, net, [x], "target")
    together = torch.cat([x.flatten(), torch.full((10,), 5.0)])
    torch.testing.assert_close(running(net[0])[0][0], together.mean())
    torch.testing.assert_close(running(net[0])[1][0], together.var())
