"""A folder in which everything that can be wrong is wrong: all of it is found, and nothing raises."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO, StringIO
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from rich.console import Console

from endotransfer.data.inspect import Inspection, inspect_folder, render

Photo = Callable[[int], NDArray[np.uint8]]

# file -> code of the fault, or (for what is harmless) a piece of the note
FAULTS = {
    "images/truncated.jpg": "damaged",
    "images/zero.png": "empty-file",
    "images/text.png": "not-an-image",
    "images/bomb.png": "too-large",
    "images/film.tiff": "several-frames",
    "images/outside.png": "link-outside",
    "images/unlisted.png": "unlisted",
    "images/copy_train.png": "duplicate-across-splits",
    "images/near_train.png": "near-duplicate-across-splits",
    "images/said_normal.png": "tag-mask",
    "images/said_lesion.png": "tag-mask",
    "images/black.png": "blank-image",
    "images/clip.gif": "other-file",
    "images/folder": "sub-folder",
    "masks/small.png": "other-size",
    "masks/levels.png": "several-values",
    "masks/lonely.png": "lonely-mask",
    "masks/photograph.png": "mask-is-image",
    "masks/full.png": "full-mask",
    "masks/inverted.png": "inverted-mask",
    "masks/other_photograph.png": "photograph-mask",
    "masks/tiny.png": "tiny-lesion",
    "masks/specks.png": "specks",
    "masks/broken.png": "damaged",
    "labels.csv, line 2": "unknown-label",
    "labels.csv, line 3": "no-image",
    "labels.csv, line 4": "duplicate-row",
    "labels.csv": "group-across-splits",
}
NOTES = {
    "images/a photo über alles.png": "names with spaces",
    "images/rgba.png": "laid on black",
    "images/grey.png": "grey pixels",
    "images/turned.png": "EXIF rotation",
    "masks/wide.png": "divided by 257",
    "masks/noise.jpg": "cut at half",
    "masks/plain.png": "0 / 255",
}


@dataclass
class Builder:
    folder: Path
    photo: Photo
    blob: NDArray[np.uint8]
    seeds: int = 0

    def image(self, name: str, row: str = ",,,", **how: object) -> NDArray[np.uint8]:
        self.seeds += 1
        pixels = self.photo(self.seeds)
        self.save(pixels, f"images/{name}", row, **how)
        return pixels

    def save(self, pixels: NDArray[np.uint8], file: str, row: str | None = None, **how: object) -> None:
        Image.fromarray(pixels).save(self.folder / file, **how)  # type: ignore[arg-type]
        if row is not None:
            self.rows.append(f"{Path(file).stem},{row}")

    def masked(self, name: str, mask: NDArray[np.generic], row: str = "lesion,,,") -> None:
        self.image(f"{name}.png", row)
        Image.fromarray(mask).save(self.folder / "masks" / f"{name}.png")

    def __post_init__(self) -> None:
        self.rows = ["image,label,split,cluster,patient", "odd,leison,,,", "nowhere,,,,", "odd,,,,"]
        for part in ("images", "masks", "images/folder"):
            (self.folder / part).mkdir(parents=True)


def plant_images(b: Builder) -> None:
    b.image("odd.png", "")
    b.rows.pop()
    stored = BytesIO()
    Image.fromarray(b.photo(900)).save(stored, "JPEG")
    (b.folder / "images/truncated.jpg").write_bytes(stored.getvalue()[:400])
    (b.folder / "images/zero.png").touch()
    (b.folder / "images/text.png").write_text("not a picture")
    Image.new("1", (10_001, 2)).save(b.folder / "images/bomb.png")
    frames = [Image.fromarray(b.photo(901)), Image.fromarray(b.photo(902))]
    frames[0].save(b.folder / "images/film.tiff", save_all=True, append_images=frames[1:])
    (b.folder / "images/outside.png").symlink_to("/etc/hostname")
    (b.folder / "images/clip.gif").touch()
    b.rows += [f"{name},,,," for name in ("truncated", "zero", "text", "bomb", "film", "outside")]
    b.save(b.photo(903), "images/unlisted.png")
    b.save(b.photo(904), "images/copy_train.png", ",train,,")
    b.save(b.photo(904), "images/copy_test.png", ",test,,")
    b.save(b.photo(905), "images/near_train.png", ",train,,")
    b.save((b.photo(905) * 0.9).astype(np.uint8), "images/near_test.png", ",test,,")
    b.image("patient_train.png", ",train,,p1")
    b.image("patient_test.png", ",test,,p1")
    b.save(np.zeros((48, 64, 3), np.uint8), "images/black.png", ",,,")


def plant_masks(b: Builder) -> None:
    b.masked("said_normal", b.blob, "normal,,,")
    b.masked("said_lesion", 0 * b.blob)
    b.masked("small", b.blob[:40])
    b.masked("levels", np.resize(np.arange(4, dtype=np.uint8), b.blob.shape))
    b.masked("photograph", b.photo(b.seeds + 1))
    b.masked("full", np.ones_like(b.blob))
    b.masked("inverted", 1 - b.blob)
    b.masked("other_photograph", b.photo(950))
    b.image("tiny.png", "lesion,,,")
    large = np.zeros((400, 400), np.uint8)
    large[5, 5] = 1
    for name, mask in (("tiny", large), ("specks", large + 0)):
        b.save(np.array(Image.fromarray(b.photo(b.seeds + 50)).resize((400, 400))), f"images/{name}.png")
        b.seeds += 1
        if name == "specks":
            b.rows.append("specks,lesion,,,")
            mask[100:200, 100:200] = 1
            mask[5, 5:100:10] = 1
        b.save(mask, f"masks/{name}.png")
    b.save(b.blob, "masks/lonely.png")
    b.masked("broken", b.blob)
    whole = (b.folder / "masks/broken.png").read_bytes()
    (b.folder / "masks/broken.png").write_bytes(whole[: len(whole) // 2])


def plant_harmless(b: Builder) -> None:
    b.image("a photo über alles.png")
    b.save(np.dstack([b.photo(906), b.blob * 255]), "images/rgba.png", ",,,")
    b.save(b.photo(907)[..., 0], "images/grey.png", ",,,")
    exif = Image.Exif()
    exif[0x0112] = 6
    b.image("turned.png", exif=exif)
    b.masked("wide", b.blob.astype(np.uint16) * 65535)
    b.masked("plain", b.blob * 255)
    b.image("noise.png", "lesion,,,")
    b.save(b.blob * 255, "masks/noise.jpg", quality=70)


@pytest.fixture(scope="module")
def inspection(tmp_path_factory: pytest.TempPathFactory) -> Inspection:
    def photo(seed: int) -> NDArray[np.uint8]:
        coarse = np.random.default_rng(seed).integers((120, 50, 40), (230, 120, 100), (12, 16, 3), dtype=np.uint8)
        return np.array(Image.fromarray(coarse).resize((64, 48), Image.Resampling.BICUBIC))

    y, x = np.mgrid[:48, :64]
    builder = Builder(
        tmp_path_factory.mktemp("bad") / "set", photo, ((y - 20) ** 2 + (x - 30) ** 2 < 144).astype(np.uint8)
    )
    for plant in (plant_images, plant_masks, plant_harmless):
        plant(builder)
    (builder.folder / "labels.csv").write_text("\n".join(builder.rows), encoding="utf-8")
    return inspect_folder(builder.folder)


@pytest.mark.parametrize("file", FAULTS)
def test_every_planted_fault_is_found(inspection: Inspection, file: str) -> None:
    assert FAULTS[file] in [fault.code for fault in inspection.faults if fault.file == file]


def test_nothing_else_is_complained_about(inspection: Inspection) -> None:
    found = {(fault.file, fault.code) for fault in inspection.faults}
    assert found == set(FAULTS.items())
    assert len(FAULTS) >= 20


@pytest.mark.parametrize("file", NOTES)
def test_harmless_things_are_noted(inspection: Inspection, file: str) -> None:
    assert any(NOTES[file] in note.what for note in inspection.notes if file in note.files)


def test_every_fault_says_what_and_how_to_mend_it(inspection: Inspection) -> None:
    for fault in inspection.faults:
        assert fault.what
        assert fault.fix
        assert "\n" not in fault.sentence()


def test_the_report_survives_json_and_any_terminal(inspection: Inspection) -> None:
    stored = json.loads(json.dumps(inspection.as_dict()))
    assert len(stored["faults"]) == len(inspection.faults)
    screen = StringIO()
    Console(width=100, file=screen).print(render(inspection))
    text = screen.getvalue()
    assert "error: damaged (2)" in text
    assert f"{len(inspection.errors)} errors, {len(inspection.faults) - len(inspection.errors)} warnings" in text
