"""All settings of a first experiment, each with its reason; pure, given what was found out."""

from collections.abc import Mapping
from dataclasses import dataclass

from endotransfer.models.backbones.families import FamilyChoice, choice_for
from endotransfer.setup import setting_rules as rules
from endotransfer.setup.data_facts import NO_SPLIT, TEST_PARTS, DomainFacts
from endotransfer.setup.machine import Machine
from endotransfer.setup.setting_rules import Chosen

Section = Mapping[str, Chosen[object]]
Sections = Mapping[str, Section | Chosen[object]]


@dataclass(frozen=True)
class Findings:
    """What the settings are chosen by.  `split_now`: the target had no split, and was divided for this experiment."""

    source: DomainFacts
    target: DomainFacts
    machine: Machine
    split_now: bool = False


@dataclass(frozen=True)
class Wishes:
    """What the user asks for.  Paths as the experiment file is to spell them."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    backbone: Chosen[str] | None = None
    weights: str | None = None


def plan_settings(found: Findings, wishes: Wishes) -> Sections:
    """Section -> key -> setting and reason, in the order of an experiment file."""
    size = rules.image_size(min(found.source.side, found.target.side), found.machine)
    backbone = wishes.backbone or rules.backbone(found.machine)
    family = choice_for(backbone.value)
    tags = found.target.training_tags
    return {
        "data": {
            "source": _folders(wishes.source, f"{found.source.masks} of {found.source.images()} images have a mask"),
            "target": _folders(wishes.target, _target_reason(found)),
            "size": size,
            "tags": rules.tags(tags),
        },
        "model": _model(backbone, family, size.value, wishes.weights),
        "method": rules.method(tags),
        "training": _training(found, family),
    }


def _folders(paths: tuple[str, ...], why: str) -> Chosen[object]:
    return Chosen(paths[0] if len(paths) == 1 else list(paths), why)


def _target_reason(found: Findings) -> str:
    target = found.target
    parts = f"{target.images('train', NO_SPLIT)} training and {target.images(*TEST_PARTS)} test images"
    by = "patient" if target.patients else "near-duplicates, as no patient is known"
    divided = f"divided now, by {by}" if found.split_now else "as its own split says"
    told = "what tags tell" if rules.tags(target.training_tags).value else "pictures, no figures"
    measured = "" if target.masks else f"; without masks results are {told}"
    return f"{parts} ({divided}){measured}"


def _model(backbone: Chosen[str], family: FamilyChoice, size: int, weights: str | None) -> Section:
    settings: dict[str, Chosen[object]] = {"backbone": backbone}
    if weights is None:
        settings["pretrained"] = Chosen(True, "ImageNet weights, which timm fetches; without a network set `weights`")
    else:
        settings["weights"] = Chosen(weights, "the file that was given")
    settings["norm"] = Chosen("frozen", "the statistics of the pretrained weights: two domains share one network")
    settings["head"] = Chosen(family.head, "by the backbone's family")
    if family.head == "deeplab_v3":
        grid = None if family.multi_grid is None else list(family.multi_grid)
        settings["multi_grid"] = Chosen(grid, "by the backbone's family")
        settings["aspp_rates"] = rules.aspp_rates(size)
    return settings


def _training(found: Findings, family: FamilyChoice) -> Section:
    machine, images = found.machine, found.target.images("train", NO_SPLIT)
    batch = rules.batch_size(machine, found.source.masks, images)
    larger = max(found.source.masks, images)
    decay = family.weight_decay or 1e-4
    return {
        "epochs": Chosen(rules.EPOCHS, "as in the recipes; the target is labelled anew before each"),
        "steps_per_epoch": rules.steps_per_epoch(larger, batch.value, machine),
        "batch_source": batch,
        "batch_target": Chosen(batch.value, "as many as of the source"),
        "optimiser": Chosen("adamw", "as in the recipes"),
        "lr": Chosen(family.lr, "by the backbone's family"),
        "head_lr_factor": Chosen(3, "heads start from nothing, and learn faster than pretrained layers"),
        "weight_decay": Chosen(decay, "by the backbone's family" if family.weight_decay else "as in the recipes"),
        "schedule": Chosen("poly", "ends near 0, so that the last checkpoint, which is measured, is a settled one"),
        "clip": Chosen(1.0, "one odd batch cannot undo what was learnt"),
        "precision": rules.precision(machine),
        "mean_teacher": Chosen(0.99, "averaged weights predict, as in the recipes"),
        "augment": Chosen({"scale": [1.0, 1.5], "colour": 0.2}, "zoom and colour as in the recipes; flips by default"),
    }
