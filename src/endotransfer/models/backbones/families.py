"""What is chosen for a backbone where the experiment says nothing: the head, and how fast it learns.

Networks that dilate keep what the paper has for its ResNet.  Transformers and ConvNeXt lose what they were taught at
such a rate, and their stages are not made to be dilated: they get a pyramid, AdamW and half the rate (measured for
SAM 2's Hiera at 512 pixels).  Whatever an experiment says goes before.
"""

from dataclasses import dataclass
from functools import cache
from typing import Literal

import timm
import torch

from endotransfer.config import ModelConfig, TrainingConfig
from endotransfer.models.backbones.dilatable import accepts_output_stride, list_backbones
from endotransfer.models.backbones.multi_grid import has_residual_blocks
from endotransfer.registry import load_plugins

RATHER_PYRAMIDS = ("timm.models.convnext",)  # they could be dilated
# timm's source modules whose models give maps for images of any size and do not dilate, as far as they were tried.
PYRAMID_FAMILIES = (
    "davit", "deit", "edgenext", "efficientvit_mit", "eva", "fastvit", "focalnet", "hieradet_sam2", "inception_next",
    "mambaout", "metaformer", "mvitv2", "pvt_v2", "swin_transformer", "swin_transformer_v2", "tiny_vit", "twins",
    "vision_transformer",
)  # fmt: skip


@dataclass(frozen=True)
class FamilyChoice:
    head: Literal["deeplab_v3", "pyramid"]
    multi_grid: tuple[int, ...] | None  # of the DeepLab-v3 head
    optimiser: Literal["adam", "adamw"]
    lr: float
    weight_decay: float  # with that optimiser; 0 with another one


RESNET = FamilyChoice("deeplab_v3", (1, 2, 4), "adam", 1e-4, 0.0)
DILATED = FamilyChoice("deeplab_v3", None, "adam", 1e-4, 0.0)
PYRAMID = FamilyChoice("pyramid", None, "adamw", 5e-5, 0.01)


@cache
def choice_for(backbone: str) -> FamilyChoice:
    """By the family of the timm model; a name that timm does not know is refused elsewhere."""
    load_plugins("endotransfer.backbones")
    if not timm.is_model(backbone):
        return RESNET
    module: str = timm.models.model_entrypoint(backbone).__module__
    if module in RATHER_PYRAMIDS or not accepts_output_stride(backbone):
        return PYRAMID
    return RESNET if _is_resnet(backbone, module) else DILATED


def _is_resnet(backbone: str, module: str) -> bool:
    """timm's own by their module; those of other packages are built, without memory."""
    if module.startswith("timm."):
        return module == "timm.models.resnet"
    with torch.device("meta"):
        return has_residual_blocks(timm.create_model(backbone, features_only=True))


def backbones_by_head() -> dict[str, str]:
    """The timm models of known families, sorted, and the head that each gets."""
    dilated = {name: choice_for(name).head for name in list_backbones()}
    others = {name: PYRAMID.head for family in PYRAMID_FAMILIES for name in timm.list_models(module=family)}
    return dict(sorted((others | dilated).items()))


def settled_model(model: ModelConfig) -> ModelConfig:
    """The same settings with nothing left to be chosen; idempotent."""
    choice = choice_for(model.backbone)
    head = choice.head if model.head == "auto" else model.head
    grid = model.multi_grid
    if grid == "auto":
        grid = choice.multi_grid if head == "deeplab_v3" else None
    return model.model_copy(update={"head": head, "multi_grid": grid})


def settled_training(training: TrainingConfig, backbone: str) -> TrainingConfig:
    """The same settings with optimiser, rate and weight decay as the backbone's family wants them; idempotent."""
    choice = choice_for(backbone)
    optimiser = choice.optimiser if training.optimiser == "auto" else training.optimiser
    decay = choice.weight_decay if optimiser == choice.optimiser else 0.0
    return training.model_copy(
        update={
            "optimiser": optimiser,
            "lr": choice.lr if training.lr is None else training.lr,
            "weight_decay": decay if training.weight_decay is None else training.weight_decay,
        }
    )
