"""The settings that `init` chooses, in numbers."""

from types import SimpleNamespace

import pytest
import torch

from endotransfer.setup import setting_rules as rules
from endotransfer.setup.machine import Machine, this_machine

CPU = Machine(cores=2)
MANY = Machine(cores=16)
CARDS = {memory: Machine(8, "Card", memory, bf16=True) for memory in (4, 8, 12, 16, 80)}
LARGE = CARDS[16]


@pytest.mark.parametrize(
    ("side", "machine", "size"),
    [
        (300, LARGE, 256), (1080, LARGE, 256), (240, LARGE, 256), (224, LARGE, 256),
        (220, LARGE, 192), (128, LARGE, 128), (20, LARGE, 64),
        (300, CARDS[4], 256), (300, CPU, 128), (300, MANY, 160), (100, MANY, 96),
    ],
)  # fmt: skip
def test_size_follows_the_images_up_to_what_the_machine_bears(side: int, machine: Machine, size: int) -> None:
    chosen = rules.image_size(side, machine)
    assert chosen.value == size
    assert f"{side} px" in chosen.why


def test_a_cpu_gets_a_small_backbone() -> None:
    assert rules.backbone(CPU).value == "resnet18"
    assert rules.backbone(CPU).why == "no GPU, 2 CPU cores: a small one"
    assert {rules.backbone(card).value for card in CARDS.values()} == {"resnet50"}


@pytest.mark.parametrize(("memory", "batch"), [(4, 4), (8, 8), (12, 8), (16, 16), (80, 16)])
def test_batch_follows_the_memory(memory: int, batch: int) -> None:
    assert rules.batch_size(CARDS[memory], 1000, 1000).value == batch


def test_without_bf16_half_as_many_fit() -> None:
    old = Machine(8, "Old", 16, bf16=False)
    assert rules.batch_size(old, 1000, 1000) == (8, "the GPU has 16 GB, and computes in 32 bits")


def test_batch_is_never_larger_than_the_smaller_domain() -> None:
    assert rules.batch_size(LARGE, 7, 1000) == (4, "there are only 7 images to choose from")
    assert rules.batch_size(CPU, 500, 1).value == 1
    assert rules.batch_size(CPU, 500, 500).value == 4


@pytest.mark.parametrize(
    ("images", "batch", "machine", "steps"),
    [
        (10, 16, LARGE, 10),  # the fewest
        (100, 16, LARGE, 32),  # 40 passes
        (1000, 16, LARGE, 100),  # as in the recipes
        (64_000, 16, LARGE, 500),  # one pass
        (64_000, 4, CPU, 100),  # which a CPU would not live to see
    ],
)
def test_few_images_mean_fewer_steps(images: int, batch: int, machine: Machine, steps: int) -> None:
    chosen = rules.steps_per_epoch(images, batch, machine)
    assert chosen.value == steps
    assert str(images) in chosen.why


@pytest.mark.parametrize(
    ("size", "rates"), [(512, [12, 24, 36]), (256, [6, 12, 18]), (128, [3, 6, 9]), (64, [2, 4, 6])]
)
def test_dilation_stays_within_the_map(size: int, rates: list[int]) -> None:
    assert rules.aspp_rates(size).value == rates
    assert rates[-1] < size / 8


def test_bf16_only_where_the_gpu_has_it() -> None:
    assert rules.precision(LARGE).value == "bf16"
    assert rules.precision(Machine(8, "Old", 16, bf16=False)) == (32, "this GPU has no bf16")
    assert rules.precision(CPU).value == 32


@pytest.mark.parametrize(
    ("tags", "words"),
    [
        ({"lesion": 30, "normal": 40}, "from 30 target images tagged lesion and 40 tagged normal"),
        ({"lesion": 30, "normal": 4, "unknown": 6}, "(few: expect another seed to differ); 6 are untagged"),
        ({"lesion": 30}, "none normal: the segmenter labels alone"),
        ({"normal": 30}, "none lesion: lesions are known from the source alone"),
        ({"unknown": 70}, "without tags it learns from source classes pasted onto target images"),
    ],
)
def test_the_reason_for_the_method_says_what_the_tags_allow(tags: dict[str, int], words: str) -> None:
    assert words in rules.method(tags).why
    assert rules.method(tags).value == "tag_transfer"
    assert rules.tags(tags).value == ("unknown" not in tags or len(tags) > 1)


@pytest.mark.parametrize(("size", "memory"), [(15_828_320_256, 16), (8_585_740_288, 9), (150_754_820_096, 151)])
def test_memory_is_counted_as_cards_are_sold(monkeypatch: pytest.MonkeyPatch, size: int, memory: int) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: including_emulation)
    card = SimpleNamespace(name="Card", total_memory=size)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: card)
    found = this_machine()
    assert (found.gpu, found.gpu_memory, found.bf16) == ("Card", memory, False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert this_machine().gpu is None


def test_a_machine_in_words() -> None:
    assert str(LARGE) == "Card with 16 GB"
    assert str(Machine(1)) == "no GPU, 1 CPU core"
