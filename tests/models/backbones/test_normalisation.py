"""The four kinds of normalisation, each held to its promise."""

import copy
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from endotransfer.errors import ConfigError
from endotransfer.models.backbones.normalisation import (
    FrozenBatchNorm,
    PerDomainBatchNorm,
    apply_norm,
    domain_layers,
    groups_of,
    head_norm,
    set_domain,
)


@pytest.fixture
def net(shake: Callable[[nn.Module], None]) -> nn.Sequential:
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Sequential(nn.Conv2d(8, 6, 1), nn.BatchNorm2d(6)))
    shake(net)
    return net


def statistics(module: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in module.named_buffers() if "running" in name}


def moved(module: nn.Module, before: dict[str, Tensor]) -> set[str]:
    return {name for name, value in statistics(module).items() if not torch.equal(value, before[name])}


def test_frozen_gives_what_batch_norm_gives_in_evaluation(net: nn.Module, images: Tensor) -> None:
    expected = copy.deepcopy(net).eval()(images)
    apply_norm(net, "frozen")
    torch.testing.assert_close(net.train()(images), expected)


def test_frozen_statistics_never_move_but_scale_and_shift_learn(net: nn.Module, images: Tensor) -> None:
    apply_norm(net, "frozen")
    before = statistics(net)
    net(images)  # before anyone has said train() or eval(), too
    net.train()
    net(images).square().sum().backward()
    assert len(before) == 4 and not moved(net, before)
    layers = [layer for layer in net.modules() if isinstance(layer, FrozenBatchNorm)]
    assert len(layers) == 2 and not any(layer.training for layer in layers)
    assert all(layer.weight.grad is not None and layer.weight.grad.abs().sum() > 0 for layer in layers)


def test_batch_statistics_do_move(net: nn.Module, images: Tensor) -> None:
    apply_norm(net, "batch")
    before = statistics(net)
    net.train()(images)
    assert moved(net, before) == set(before)


def test_group_does_not_see_the_other_images(net: nn.Module, images: Tensor) -> None:
    apply_norm(net, "group")
    net.train()
    torch.testing.assert_close(net(images)[:1], net(images[:1]))
    assert not statistics(net)


def test_group_keeps_scale_and_shift(net: nn.Sequential) -> None:
    old = net[1]
    assert isinstance(old, nn.BatchNorm2d)
    apply_norm(net, "group")
    assert isinstance(net[1], nn.GroupNorm)
    assert torch.equal(net[1].weight, old.weight) and torch.equal(net[1].bias, old.bias)


def test_per_domain_moves_only_the_statistics_of_the_domain_in_use(net: nn.Module, images: Tensor) -> None:
    apply_norm(net, "per_domain")
    net.train()
    for domain, other in (("source", "target"), ("target", "source")):
        before = statistics(net)
        set_domain(domain_layers(net), domain)
        net(images)
        assert moved(net, before) == {name for name in before if f".{domain}." in name}
        assert not any(f".{other}." in name for name in moved(net, before))


def test_per_domain_starts_both_domains_from_what_was_learnt(net: nn.Module, images: Tensor) -> None:
    expected = copy.deepcopy(net).eval()(images)
    apply_norm(net, "per_domain")
    net.eval()
    for domain in ("source", "target"):
        set_domain(domain_layers(net), domain)
        torch.testing.assert_close(net(images), expected)


@pytest.mark.parametrize("momentum", [0.1, None])
def test_per_domain_is_one_batch_norm_a_domain(momentum: float | None) -> None:
    """Twin: two ordinary layers, each fed its own domain's batches alone."""
    layer = PerDomainBatchNorm(4, momentum=momentum).double()
    twins = {name: nn.BatchNorm2d(4, momentum=momentum).double() for name in ("source", "target")}
    generator = torch.Generator().manual_seed(0)
    for domain in ("source", "target", "target", "source", "target"):
        batch = 3 + 2 * torch.randn(5, 4, 6, 6, generator=generator, dtype=torch.float64)
        set_domain(domain_layers(layer), domain)
        torch.testing.assert_close(layer(batch), twins[domain](batch))
    for domain, twin in twins.items():
        set_domain(domain_layers(layer), domain)
        torch.testing.assert_close(layer.eval()(batch), twin.eval()(batch))


def test_a_domain_of_another_name_is_a_mistake(net: nn.Module) -> None:
    with pytest.raises(ValueError, match="must be one of"):
        set_domain(domain_layers(net), "Target")


@given(channels=st.integers(1, 400))
def test_groups_are_the_largest_divisor_up_to_32(channels: int) -> None:
    count = groups_of(channels)
    assert channels % count == 0 and count <= 32
    assert not any(channels % larger == 0 for larger in range(count + 1, 33))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("frozen", nn.GroupNorm), ("group", nn.GroupNorm), ("per_domain", PerDomainBatchNorm), ("batch", nn.BatchNorm2d)],
)
def test_heads_get_the_kind_that_suits_untrained_layers(kind: str, expected: type[nn.Module]) -> None:
    assert type(head_norm(kind, 48)) is expected


@pytest.mark.parametrize("act", [lambda: apply_norm(nn.Sequential(), "frozn"), lambda: head_norm("frozn", 8)])
def test_an_unknown_kind_is_told_the_nearest(act: Callable[[], object]) -> None:
    with pytest.raises(ConfigError, match=r"'frozn' is unknown; did you mean 'frozen'\?"):
        act()
