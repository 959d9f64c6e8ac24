"""All settings together, and the file that holds them."""

import yaml

from endotransfer.config import experiment_from
from endotransfer.models.backbones.families import choice_for
from endotransfer.setup.data_facts import DomainFacts
from endotransfer.setup.experiment_text import experiment_text, plain_settings
from endotransfer.setup.machine import Machine
from endotransfer.setup.setting_plan import Findings, Sections, Wishes, plan_settings
from endotransfer.setup.setting_rules import Chosen

SOURCE = DomainFacts(("normal", "lesion"), 500, 800, tags={"-": {"lesion": 900}})
TARGET = DomainFacts(
    ("normal", "lesion"), 300, 0, patients=9, tags={"train": {"lesion": 100, "normal": 100}, "test": {"lesion": 80}}
)
GPU = Machine(8, "Card", 24, bf16=True)


def planned(machine: Machine = GPU, target: DomainFacts = TARGET, backbone: str | None = None) -> Sections:
    wish = None if backbone is None else Chosen(backbone, "as asked for")
    return plan_settings(Findings(SOURCE, target, machine, split_now=True), Wishes(("a",), ("b: #1", "c"), wish))


def test_a_roomy_gpu_trains_what_the_recipes_train() -> None:
    experiment = experiment_from(plain_settings(planned()))
    training = experiment.training
    assert (experiment.model.backbone, experiment.data.size, training.precision) == ("resnet50", 256, "bf16")
    assert (training.batch_source, training.batch_target, training.epochs, training.steps_per_epoch) == (16, 16, 8, 100)
    assert experiment.model.aspp_rates == (6, 12, 18)


def test_every_setting_has_its_reason_on_its_line_and_is_read_back() -> None:
    text = experiment_text("for\nus", planned())
    lines = [line for line in text.splitlines() if not line.endswith(":")]
    assert all(line.count("  # ") == 1 for line in lines[1:])
    assert max(map(len, lines)) <= 130
    assert yaml.safe_load(text) == plain_settings(planned())
    assert [str(folder.path) for folder in experiment_from(yaml.safe_load(text)).data.target] == ["b: #1", "c"]
    assert "200 training and 80 test images (divided now, by patient); without masks" in text


def test_rates_and_heads_go_by_the_family() -> None:
    for name in ("resnet18", "mobilenetv2_100", "sam2_hiera_tiny"):
        experiment, family = experiment_from(plain_settings(planned(backbone=name))), choice_for(name)
        assert (experiment.model.head, experiment.training.lr) == (family.head, family.lr)
        assert experiment.training.optimiser == "adamw"
    assert "aspp_rates" not in plain_settings(planned(backbone="sam2_hiera_tiny"))["model"]  # type: ignore[operator]


def test_an_untagged_target_is_trained_without_tags() -> None:
    target = DomainFacts(TARGET.classes, 300, 5, tags={"train": {"unknown": 40}, "test": {"unknown": 20}})
    experiment = experiment_from(plain_settings(planned(target=target)))
    assert experiment.data.tags is False
    assert experiment.training.steps_per_epoch == 100  # 800 source images
    assert "no patient is known" in experiment_text("", planned(target=target))
