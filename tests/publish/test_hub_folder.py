"""What `push` writes: a model that predicts as before, a card with metadata, and no path of this machine."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import endotransfer
from endotransfer.errors import CheckpointError, ConfigError
from endotransfer.predict.load import load
from endotransfer.pretrained.shipped_models import ShippedModel, card_metadata
from endotransfer.publish.half_weights import halved
from endotransfer.publish.hub_card import with_section
from endotransfer.publish.without_folders import values_without_folders, without_folders
from endotransfer.results import Results
from tests.model_folders import rewrite_config, write_model

FIGURES = {
    "method": "source_only", "classes": ["normal", "lesion"], "images": 1000, "miou": 80.5, "dice_lesion": 81.25,
    "iou": {"normal": 90.0, "lesion": 71.0}, "iou_lesion": 71.0,
    "intervals": {"group_kinds": {"kvasir-seg": {"cluster": 9}}, "miou": [79.0, 82.0], "iou_lesion": [69.0, 73.0],
                  "iou": {"normal": None, "lesion": [69.0, 73.0]}},
}  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run whose files name folders of this machine, as `train` leaves them."""
    model = write_model(tmp_path / "run" / "model")
    rewrite_config(model, lambda raw: raw | {"model": raw["model"] | {"weights": "/home/me/my files/w.safetensors"}})
    card = (model / "README.md").read_text()
    (model / "README.md").write_text(card.replace("## Where", "Data lay in /home/me/study/a.\n\n## Where"))
    raw = FIGURES | {"remarks": [f"note: {tmp_path}/masks/a.png was left out"]}
    (tmp_path / "run" / "results.json").write_text(json.dumps(raw))
    return tmp_path / "run"


def test_the_folder_predicts_as_the_run_does_and_names_no_folder(run: Path, tmp_path: Path) -> None:
    picture = tmp_path / "failures.png"
    Image.new("RGB", (4, 4)).save(picture)
    (tmp_path / "about.md").write_text("Images by A. Author, CC BY 4.0.")
    out = endotransfer.push_model(
        run, tmp_path / "hub", title="Polyp", terms="cc-by-4.0", datasets=["PolypGen"], about=tmp_path / "about.md",
        pictures=picture,
    )  # fmt: skip
    names = {
        "README.md",
        "config.json",
        "failures.png",
        "measured.json",
        "weights.safetensors",
        "familiarity.safetensors",
    }
    assert {path.name for path in out.iterdir()} == names
    text = "".join((out / name).read_text() for name in names if name.endswith((".md", ".json")))
    assert str(tmp_path) not in text and "/home" not in text and "my files" not in text
    assert "Images by A. Author" in text and "![failures](failures.png)" in text
    image = np.random.default_rng(0).integers(0, 256, (48, 64, 3), np.uint8)
    np.testing.assert_array_equal(load(out).predict(image).probabilities, load(run).predict(image).probabilities)


def test_its_metadata_is_what_the_list_of_models_says(run: Path, tmp_path: Path) -> None:
    out = endotransfer.push_model(run, tmp_path / "hub", title="Polyp", terms="cc-by-4.0", datasets=["PolypGen"])
    listed = ShippedModel(out, card_metadata(out / "README.md"))
    assert (listed.terms, listed.trained_on) == ("cc-by-4.0", ["PolypGen"])
    assert (
        "kvasir-seg (1,000 images): Dice, per cent: 81.25; IoU d, per cent (95 %: 69.0 to 73.0): 71.0"
        in listed.measured[0]
    )
    card = (out / "README.md").read_text()
    assert "| Dice lesion | 81.25 | n/a |" in card and "| IoU lesion | 71.00 | 69.00 to 73.00 |" in card


def test_figures_of_other_sets_take_the_place_of_the_runs_own(run: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text(json.dumps(FIGURES | {"dice_lesion": 33.0, "intervals": {"group_kinds": {"etis": {"image": 3}}}}))
    out = endotransfer.push_model(run, tmp_path / "hub", results=[run / "results.json", other])
    listed = ShippedModel(out, card_metadata(out / "README.md")).measured
    assert [line.partition(" ")[0] for line in listed] == ["kvasir-seg", "etis"]
    card = (out / "README.md").read_text()
    assert card.index("### kvasir-seg") < card.index("### etis") < card.index("33.00") < card.index("## Calibration")


def test_of_normal_images_it_is_told_how_much_is_marked(run: Path, tmp_path: Path) -> None:
    """Their mean IoU is 100 for a model that finds nothing."""
    normals = {"dice_lesion": None, "iou_lesion": None, "miou": 100.0, "normal_painted": 0.25}
    (tmp_path / "n.json").write_text(json.dumps(FIGURES | normals))
    out = endotransfer.push_model(run, tmp_path / "hub", results=tmp_path / "n.json")
    (line,) = ShippedModel(out, card_metadata(out / "README.md")).measured
    assert line == "kvasir-seg (1,000 images): FP n, per cent: 0.25"
    assert "| pixels of normal images that are marked | 0.25 | n/a |" in (out / "README.md").read_text()


def test_half_the_bits_are_half_the_size_and_nearly_the_same(run: Path, tmp_path: Path) -> None:
    whole = endotransfer.push_model(run, tmp_path / "whole")
    half = endotransfer.push_model(run, tmp_path / "half", half=True)
    sizes = [(folder / "weights.safetensors").stat().st_size for folder in (half, whole)]
    assert sizes[0] < 0.65 * sizes[1]
    image = np.random.default_rng(1).integers(0, 256, (60, 80, 3), np.uint8)
    found = [load(folder).predict(image).probabilities for folder in (half, whole)]
    assert 0 < np.abs(found[0] - found[1]).max() < 0.02


def test_what_half_precision_cannot_hold_stays_whole() -> None:
    weights = {"large": torch.full((2, 2), 1e6), "bias": torch.ones(3), "count": torch.tensor(3), "w": torch.ones(2, 2)}
    kinds = {name: value.dtype for name, value in halved(weights).items()}
    assert kinds == {"large": torch.float32, "bias": torch.float32, "count": torch.int64, "w": torch.float16}


def test_nothing_is_overwritten_and_a_wrong_picture_leaves_nothing(run: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").touch()
    with pytest.raises(ConfigError, match="not an empty folder"):
        endotransfer.push_model(run, tmp_path / "full")
    (tmp_path / "a.png").write_text("no picture")
    with pytest.raises(ConfigError, match="is no PNG"):
        endotransfer.push_model(run, tmp_path / "new", pictures=tmp_path / "a.png")
    with pytest.raises(ConfigError, match="check --about"):
        endotransfer.push_model(run, tmp_path / "new", about=tmp_path / "absent.md")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("see /home/me/study/a.png, please", "see a.png, please"),
        ("`~/study/x`: gone", "`x`: gone"),
        (r"C:\Users\me\a.png", "a.png"),
        ("https://example.org/a/b and 3/4 and/or ./a/b", "https://example.org/a/b and 3/4 and/or ./a/b"),
        ("runs/tags stays", "runs/tags stays"),
    ],
)
def test_absolute_paths_lose_their_folders(text: str, bare: str) -> None:
    assert without_folders(text) == bare


def test_paths_are_found_wherever_they_stand_in_a_value() -> None:
    assert values_without_folders({"a": ["/x/my file.bin", 3, None], "b": "/only"}) == {
        "a": ["my file.bin", 3, None], "b": "only",
    }  # fmt: skip


def test_a_section_is_replaced_up_to_the_next_one() -> None:
    assert with_section("# T\n## A\nold\n### sub\nx\n## B\ny\n", "A", "new") == "# T\n## A\nnew\n\n## B\ny\n"
    assert with_section("# T\n## A\nold", "A", r"\1") == "# T\n## A\n\\1\n\n"


def test_results_that_cannot_be_read_are_named(run: Path, tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text("{}")
    with pytest.raises(CheckpointError, match=r"r\.json is damaged"):
        endotransfer.push_model(run, tmp_path / "hub", results=tmp_path / "r.json")
    assert Results.read_if_whole(run / "results.json")
