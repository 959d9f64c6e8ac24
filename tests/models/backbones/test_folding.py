"""A folded network is the network it was: same names, same output, same gradients."""

import copy
from pathlib import Path

import pytest
import timm
import torch
from torch import Tensor, nn

from endotransfer.models.backbones.backbone import build_backbone
from endotransfer.models.backbones.folding import FoldedConvolution, fold_frozen
from endotransfer.models.backbones.normalisation import FrozenBatchNorm, apply_norm


def frozen(name: str) -> nn.Module:
    """A backbone in double precision whose statistics, scales and shifts are all random."""
    torch.manual_seed(0)
    net = timm.create_model(name, features_only=True, output_stride=8).double()
    apply_norm(net, "frozen")
    for module in net.modules():
        if isinstance(module, FrozenBatchNorm):
            assert module.running_mean is not None and module.running_var is not None
            for values in (module.weight, module.running_var):
                values.data.uniform_(0.5, 1.5)
            for values in (module.bias, module.running_mean):
                values.data.normal_()
    return net.double().train()


def gradients(net: nn.Module, images: Tensor) -> dict[str, Tensor]:
    net.zero_grad()
    sum((values**2).mean() for values in net(images)).backward()
    return {name: parameter.grad.clone() for name, parameter in net.named_parameters() if parameter.grad is not None}


# Basic blocks, bottlenecks, a deep stem with an average-pooled shortcut, squeeze and excitation
@pytest.mark.parametrize("name", ["test_resnet", "resnet18", "resnet50", "resnet26d", "seresnet50"])
def test_output_gradients_and_names_are_those_of_two_operations(name: str) -> None:
    plain = frozen(name)
    folded = copy.deepcopy(plain)
    assert fold_frozen(folded)
    assert any(isinstance(module, FoldedConvolution) for module in folded.modules())
    assert folded.state_dict().keys() == plain.state_dict().keys()
    images = torch.randn(2, 3, 40, 48, dtype=torch.float64)
    for here, there in zip(folded(images), plain(images), strict=True):
        torch.testing.assert_close(here, there)
    one, other = gradients(folded, images), gradients(plain, images)
    assert one.keys() == other.keys()
    for key, value in one.items():
        torch.testing.assert_close(value, other[key], msg=key)


def test_a_convolution_may_have_a_bias_of_its_own() -> None:
    conv, norm = nn.Conv2d(2, 3, 3), FrozenBatchNorm(3)
    assert norm.running_mean is not None and norm.running_var is not None
    norm.running_mean.normal_()
    norm.running_var.uniform_(0.5, 1.5)
    plain = nn.Sequential(conv, norm)
    images = torch.randn(1, 2, 5, 5)
    expected = plain.eval()(images)
    assert fold_frozen(plain)
    torch.testing.assert_close(plain(images), expected)


def test_a_deep_copy_folds_its_own_statistics() -> None:
    net = frozen("test_resnet")
    fold_frozen(net)
    teacher = copy.deepcopy(net)
    images = torch.randn(1, 3, 32, 32, dtype=torch.float64)
    before = [values.detach().clone() for values in net(images)]
    for module in teacher.modules():
        if isinstance(module, FrozenBatchNorm) and module.running_mean is not None:
            module.running_mean += 1
    assert all(torch.equal(one, other) for one, other in zip(net(images), before, strict=True))
    assert not torch.allclose(teacher(images)[-1], before[-1])


def test_networks_it_does_not_know_stay_as_they_are() -> None:
    net = timm.create_model("mobilenetv3_small_050", features_only=True)
    apply_norm(net, "frozen")
    fold_frozen(net)
    assert not all(module.folded for module in net.modules() if isinstance(module, FrozenBatchNorm))
    assert not fold_frozen(nn.Sequential(nn.Conv2d(1, 1, 1)))


def test_backbones_say_whether_they_are_folded(tmp_path: Path) -> None:
    def built(norm: str) -> bool:
        return build_backbone("test_resnet", pretrained=False, norm=norm).folded

    assert built("frozen")
    assert not built("group")
