"""Which timm backbones can be built with output stride 8: dilated instead of strided last stages."""

from difflib import get_close_matches
from fnmatch import fnmatch
from functools import cache

import timm
import torch

from endotransfer.errors import ConfigError
from endotransfer.registry import load_plugins

OUTPUT_STRIDE = 8
SUGGESTIONS = "resnet50, resnet18, mobilenetv2_100, mobilenetv3_large_100, efficientnet_lite0, convnext_tiny"

# timm's source modules whose models dilate.  Building every model to find out takes minutes: a slow test does.
FAMILIES = (
    "byobnet",
    "convnext",
    "cspnet",
    "efficientnet",
    "hardcorenas",
    "mobilenetv3",
    "mobilevit",
    "nfnet",
    "regnet",
    "res2net",
    "resnest",
    "resnet",
    "resnetv2",
    "rexnet",
    "sknet",
    "xception_aligned",
)
# Members of those families that do not: a late stride that stays, windows of fixed size, resized inputs.
EXCEPTIONS = ("bat_resnext26ts", "efficientnet_h_b5", "efficientnet_x_b[35]", "mobilevitv2_*")


@cache
def list_backbones() -> tuple[str, ...]:
    """Names of the timm models known to support output stride 8, those of plug-ins included, sorted."""
    load_plugins("endotransfer.backbones")
    names = {name for family in FAMILIES for name in timm.list_models(module=family)}
    known = {name for name in names if not any(fnmatch(name, pattern) for pattern in EXCEPTIONS)}
    return tuple(sorted(known | {name for name in timm.list_models() if _is_outside(name) and dilates(name)}))


def _is_outside(name: str) -> bool:
    """Whether a model was registered with timm by another package."""
    return not timm.models.model_entrypoint(name).__module__.startswith("timm.")


def accepts_output_stride(name: str) -> bool:
    """Whether timm can build `name` with its last feature map at 1/8 of the input.

    Known families answer at once; any other model (a newer timm's, a user's own) is built, without memory.
    """
    if not timm.is_model(name):
        return False
    return name.partition(".")[0] in list_backbones() or dilates(name)


@cache
def dilates(name: str) -> bool:
    """Build `name` on the meta device and look at the size of its last feature map."""
    height, width = 104, 72  # no multiple of 16 or 32, so that windows and resizing inside the model show
    try:
        with torch.device("meta"), torch.no_grad():
            net = timm.create_model(name, features_only=True, output_stride=OUTPUT_STRIDE).eval()
            last = net(torch.empty(1, 3, height, width))[-1]
    except Exception:  # timm refuses in many ways: TypeError, AssertionError, RuntimeError, ...
        return False
    return tuple(last.shape[2:]) == (height // OUTPUT_STRIDE, width // OUTPUT_STRIDE)


def require_model(name: str) -> None:
    """Refuse what timm does not know, with what was probably meant."""
    load_plugins("endotransfer.backbones")
    if not timm.is_model(name):
        close = get_close_matches(name, timm.list_models(), n=1, cutoff=0.5)
        hint = f"did you mean '{close[0]}'" if close else f"try one of {SUGGESTIONS}"
        raise ConfigError(f"model.backbone: timm has no model called '{name}'; {hint}?")
    _require_tag(name)


def require_output_stride(name: str) -> None:
    """Refuse by name what cannot be dilated."""
    require_model(name)
    if not accepts_output_stride(name):
        raise ConfigError(
            f"model.backbone: '{name}' cannot be built with output stride 8, as the DeepLab heads want it; leave "
            f"model.head out, or choose one that can, for example {SUGGESTIONS} (`endotransfer backbones` lists all)."
        )


def _require_tag(name: str) -> None:
    """A name may end in the tag of one set of hub weights, as in `resnet50.a1_in1k`; the tag must exist."""
    if "." not in name:
        return
    known = sorted(timm.models.get_arch_pretrained_cfgs(name))
    if name not in known:
        raise ConfigError(f"model.backbone: timm has no weights called '{name}', only {', '.join(known)}.")
