"""What the folders of a domain tell about the settings of an experiment, from their inspections."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from endotransfer.data.folders.split import Counts
from endotransfer.data.inspect import Inspection
from endotransfer.errors import DataError

NO_SPLIT = "-"  # of images without one, in a fingerprint
TEST_PARTS = ("test", "val")


@dataclass(frozen=True)
class DomainFacts:
    """One domain: a folder or several."""

    classes: tuple[str, ...]
    side: int  # median over images of the shorter side, in pixels
    masks: int  # images with a mask, in all parts
    patients: int = 0
    tags: dict[str, dict[str, int]] = field(default_factory=dict)  # part (train, test, -) -> tag -> images

    def images(self, *parts: str) -> int:
        """How many images are in `parts`; none given: in all."""
        return sum(sum(self.tags.get(part, {}).values()) for part in parts or self.tags)

    @property
    def divided(self) -> bool:
        return set(self.tags) != {NO_SPLIT}

    @property
    def training_tags(self) -> Counter[str]:
        """Tags (lesion, normal, unknown) of the images that a target is trained on."""
        return Counter(self.tags.get("train", {})) + Counter(self.tags.get(NO_SPLIT, {}))


def domain_facts(inspections: Sequence[Inspection]) -> DomainFacts:
    """The folders of one domain as one; a folder with errors is refused by the first of them."""
    for inspection in inspections:
        _refuse_errors(inspection)
    prints = [inspection.fingerprint for inspection in inspections]
    sides = [min(one["sizes"]["height"]["median"], one["sizes"]["width"]["median"]) for one in prints]
    tags: dict[str, Counter[str]] = {}
    for one in prints:
        for part, counts in one["tags_by_split"].items():
            tags.setdefault(part, Counter()).update(counts)
    return DomainFacts(
        classes=tuple(prints[0]["classes"]),
        side=int(np.median(np.repeat(sides, [one["images"] for one in prints]))),
        masks=sum(one["labelled_by"].get("mask", 0) for one in prints),
        patients=sum(one["patients"] for one in prints),
        tags={part: dict(counts) for part, counts in tags.items()},
    )


def tags_after_split(parts: Sequence[Counts]) -> dict[str, dict[str, int]]:
    """Part -> tag -> images, from what splitting each folder returned."""
    found: dict[str, Counter[str]] = {}
    for counts in parts:
        for part, numbers in counts.items():
            by_tag = {tag: number for tag, number in numbers.items() if tag not in ("images", "groups")}
            found.setdefault(part, Counter()).update(by_tag)
    return {part: dict(counts) for part, counts in found.items()}


def check_parts(target: DomainFacts, folders: Sequence[Path]) -> None:
    """Refuse a target whose own split leaves nothing to train on or nothing to measure on."""
    for wanted, parts in (("train", ("train", NO_SPLIT)), ("test", TEST_PARTS)):
        if target.divided and not target.images(*parts):
            names = ", ".join(map(str, folders))
            raise DataError(
                f"{names} has a split without any image in '{wanted}'; name some in the column `split` of labels.csv, "
                "or replace the split with `endotransfer data split --force`."
            )


def _refuse_errors(inspection: Inspection) -> None:
    errors, folder = inspection.errors, inspection.path
    if errors:
        first = errors[0]
        more = f" ({len(errors) - 1} more: `endotransfer data inspect {folder}`)" if len(errors) > 1 else ""
        where = first.file if first.file.startswith(str(folder)) else f"{folder}/{first.file}"
        raise DataError(f"{where} {first.what}; {first.fix}{more}.")
    if not inspection.fingerprint["readable"]:
        raise DataError(f"{folder} holds no image that can be read; put images into {folder}/images.")
