"""Who decided what, when and from what: beside every export, as `reviews.csv` and, with all history, `reviews.json`."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from endotransfer import __version__
from endotransfer.data.folders.labels_csv import write_labels
from endotransfer.disclaimer import DISCLAIMER
from endotransfer.errors import DataError
from endotransfer.export.reviewed.reviewed_set import ReviewedImage
from endotransfer.io import write_atomically
from endotransfer.spreadsheet import safe_cell


def decision_of(image: ReviewedImage) -> dict[str, object]:
    """The decision in force, without what only the record's own folder can follow."""
    facts = asdict(image.version)
    return {key: facts[key] for key in facts if key not in ("mask", "restores")} | {"drawn_for_measuring": image.drawn}


def write_decisions(folder: Path, written: Sequence[tuple[ReviewedImage, str]]) -> None:
    """`written`: each image with the file that holds its mask, as seen from `folder`."""
    rows = [{"image": image.name, "mask": file, **decision_of(image)} for image, file in written]
    cells = [{key: "" if value is None else str(safe_cell(value)) for key, value in row.items()} for row in rows]
    write_labels(folder / "reviews.csv", list(rows[0]), cells)
    history = [
        {"image": image.name, "mask": file, "in_force": image.version.number,
         "drawn_for_measuring": image.drawn, "versions": asdict(image.record)["versions"]}
        for image, file in written
    ]  # fmt: skip
    content = {"description": DISCLAIMER, "endotransfer": __version__, "images": history}
    write_atomically(
        folder / "reviews.json", json.dumps(content, indent=2, ensure_ascii=False, default=str) + "\n", DataError
    )
