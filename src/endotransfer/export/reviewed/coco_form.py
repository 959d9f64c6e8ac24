"""COCO: images/ and annotations.json, a region an annotation with its reviewer and time; undecided pixels as a crowd.

A crowd is what COCO's own evaluation leaves out, so it says what IGNORE says.
"""

import json
from pathlib import Path

import numpy as np

from endotransfer.data.importers.coco_file import NOT_DECIDED
from endotransfer.disclaimer import DISCLAIMER
from endotransfer.errors import DataError
from endotransfer.export.reviewed.decision_table import decision_of
from endotransfer.export.reviewed.reviewed_set import Pixels, ReviewedImage, ReviewedSet
from endotransfer.export.reviewed.write_pictures import write_picture
from endotransfer.io import write_atomically
from endotransfer.label_values import IGNORE
from endotransfer.predict.coco_writer import region_annotation
from endotransfer.predict.regions import find_lesions

FILE = "annotations.json"


class CocoForm:
    """Category ids are class indices; every pixel is in at most one annotation, so that masks can be had back."""

    def __init__(self, folder: Path, reviewed: ReviewedSet) -> None:
        self._folder = folder
        names = [*reviewed.classes.names, NOT_DECIDED]
        self._undecided = len(names) - 1
        self._categories = [{"id": index, "name": name} for index, name in enumerate(names) if index > 0]
        self._images: list[dict[str, object]] = []
        self._annotations: list[dict[str, object]] = []
        (folder / "images").mkdir()

    def add(self, image: ReviewedImage, pixels: Pixels, mask: Pixels) -> str:
        """Write one image; returns the file with its mask."""
        height, width = mask.shape
        number, decision = len(self._images) + 1, decision_of(image)
        file = write_picture(self._folder / "images", image, pixels)
        facts = {"id": number, "file_name": file, "height": height, "width": width, "review": decision}
        self._images.append(facts)
        known = np.where(mask == IGNORE, self._undecided, mask).astype(np.uint8)
        for region in find_lesions(known, np.ones(mask.shape, np.float32), smallest=1):
            self._annotations.append(
                region_annotation(region, (height, width))
                | {"id": len(self._annotations) + 1, "image_id": number, "attributes": decision}
                | {"iscrowd": int(region.label == self._undecided)}
            )
        return FILE

    def finish(self) -> None:
        used = {annotation["category_id"] for annotation in self._annotations}
        kept = [one for one in self._categories if one["id"] != self._undecided or self._undecided in used]
        content = {
            "info": {"description": DISCLAIMER},
            "images": self._images,
            "annotations": self._annotations,
            "categories": kept,
        }
        write_atomically(self._folder / FILE, json.dumps(content, ensure_ascii=False), DataError)
