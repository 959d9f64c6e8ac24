"""The rules of `endotransfer init`: numbers of the data and the machine in, a setting and its reason out.

Where the recipes measured something (256 pixels, ResNet-50, 16 + 16 images, 800 steps, the rates), the rules end there
for a GPU; for anything smaller they shrink it.
"""

from collections.abc import Mapping
from typing import Generic, NamedTuple, TypeVar

from endotransfer.setup.machine import Machine

T_co = TypeVar("T_co", covariant=True)

SIZES = (64, 96, 128, 160, 192, 256)
ENLARGED = 1.15  # an image may grow by so much: capsule images of 224 px were measured at 256
MANY_CORES = 8
ROOMY, MIDDLING = 16, 8  # GB of a GPU
EPOCHS = 8
MOST_STEPS = 100  # an epoch; 8 x 100 is what the recipes train
FEWEST_STEPS = 10
MOST_PASSES = 40  # over the larger domain: more only learns few images by heart
FEW_TAGS = 10  # of a kind
UNTAGGED = "without tags it learns from source classes pasted onto target images; many classes from its own labels"


class Chosen(NamedTuple, Generic[T_co]):
    """A setting and why."""

    value: T_co
    why: str


def image_size(side: int, machine: Machine) -> Chosen[int]:
    """`side`: the median shorter side of the images."""
    most = 256 if machine.gpu is not None else 160 if machine.cores >= MANY_CORES else 128
    fitting = [size for size in SIZES if size <= min(most, ENLARGED * side)]
    size = fitting[-1] if fitting else SIZES[0]
    if size == most:
        limit = (
            "what the recipes are measured with" if machine.gpu is not None else f"{machine}: larger ones take too long"
        )
        return Chosen(size, f"images have {side} px (median of the shorter side); {limit}")
    return Chosen(size, f"images have only {side} px (median of the shorter side); more would invent detail")


def backbone(machine: Machine) -> Chosen[str]:
    if machine.gpu is not None:
        return Chosen("resnet50", f"{machine}; the backbone of the recipes")
    return Chosen("resnet18", f"{machine}: a small one")


def batch_size(machine: Machine, source_masks: int, target_images: int) -> Chosen[int]:
    """Images of each domain in a step."""
    room = machine.gpu_memory if machine.bf16 else machine.gpu_memory // 2  # 32 bits take twice as much
    if machine.gpu is None:
        most, why = 4, "a CPU: more would only make each step longer"
    elif room >= ROOMY:
        most, why = 16, f"takes about {6 if machine.bf16 else 12} GB at 256 px with resnet50"
    else:
        most = 8 if room >= MIDDLING else 4
        why = f"the GPU has {machine.gpu_memory} GB{'' if machine.bf16 else ', and computes in 32 bits'}"
    fewest = max(1, min(source_masks, target_images))
    if fewest < most:
        return Chosen(1 << (fewest.bit_length() - 1), f"there are only {fewest} images to choose from")
    return Chosen(most, why)


def steps_per_epoch(images: int, batch: int, machine: Machine) -> Chosen[int]:
    """`images`: training images of the larger domain.  EPOCHS x this: what is trained in all."""
    few = -(-MOST_PASSES * images // (batch * EPOCHS))
    once = -(-images // (batch * EPOCHS))
    if few < MOST_STEPS:
        steps = max(FEWEST_STEPS, few)
        passes = steps * batch * EPOCHS / images
        return Chosen(steps, f"few images ({images}): each is seen about {passes:.0f} times")
    if once > MOST_STEPS and machine.gpu is not None:
        return Chosen(once, f"so many that each of {images} images is seen once")
    passes = MOST_STEPS * batch * EPOCHS / images
    return Chosen(MOST_STEPS, f"as in the recipes; each of {images} images is seen about {passes:.1f} times")


def aspp_rates(size: int) -> Chosen[list[int]]:
    """12, 24, 36 for 512 pixels as in the paper, and in proportion below."""
    first = max(2, round(size * 12 / 512))
    where = f"a map of {size // 8} x {size // 8} (1/8 of the image); the paper's 12, 24, 36 reach beyond it"
    return Chosen([first, 2 * first, 3 * first], where)


def precision(machine: Machine) -> Chosen[str | int]:
    if machine.gpu is not None and machine.bf16:
        return Chosen("bf16", "half the memory and time on this GPU")
    return Chosen(32, "this GPU has no bf16" if machine.gpu is not None else "bf16 is for GPUs")


def method(tags: Mapping[str, int]) -> Chosen[str]:
    """`tags`: how many of the target's training images are tagged lesion, normal, unknown."""
    lesion, normal, unknown = (tags.get(kind, 0) for kind in ("lesion", "normal", "unknown"))
    if not lesion + normal:
        return Chosen("tag_transfer", UNTAGGED)
    if not normal:
        why = f"{lesion} target images are tagged lesion, none normal: the segmenter labels alone; tag normal ones too"
    elif not lesion:
        why = f"{normal} target images are tagged normal, none lesion: lesions are known from the source alone"
    else:
        why = f"learns where lesions are from {lesion} target images tagged lesion and {normal} tagged normal"
        if min(lesion, normal) < FEW_TAGS:
            why += " (few: expect another seed to differ)"
    return Chosen("tag_transfer", why + (f"; {unknown} are untagged" if unknown else ""))


def tags(training_tags: Mapping[str, int]) -> Chosen[bool]:
    """Tags of the source alone would train a head that no target image ever corrects."""
    tagged = training_tags.get("lesion", 0) + training_tags.get("normal", 0)
    if tagged:
        return Chosen(True, f"{tagged} target training images are tagged")
    return Chosen(False, "no target training image is tagged, so tags of the source, if any, are not used either")
