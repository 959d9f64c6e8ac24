"""`endotransfer data import` and `data split` as a user sees them."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from endotransfer.cli.main import app
from endotransfer.errors import ConfigError


@pytest.fixture
def download(tmp_path: Path) -> Path:
    """Plain folders with six images of different content, half of them with a lesion."""
    noise = np.random.default_rng(0)
    for name in ("images", "masks"):
        (tmp_path / "download" / name).mkdir(parents=True)
    for index in range(6):
        mask = np.zeros((40, 40), np.uint8)
        mask[: 20 * (index % 2)] = 255
        image = noise.integers(0, 255, (5, 5, 3), np.uint8).repeat(8, 0).repeat(8, 1)
        Image.fromarray(image).save(tmp_path / "download" / "images" / f"{index}.png")
        Image.fromarray(mask).save(tmp_path / "download" / "masks" / f"{index}.png")
    return tmp_path / "download"


def said(*arguments: str | Path) -> str:
    result = CliRunner().invoke(app, ["data", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_an_import_reports_what_it_wrote(download: Path, tmp_path: Path) -> None:
    assert "6 images (3 lesion, 3 normal), 6 masks" in said("import", "folders", download, tmp_path / "out")
    assert len(list((tmp_path / "out" / "images").iterdir())) == 6


@pytest.mark.parametrize("option", ["progress=1", "sufix=_m", "name=x", "=x"])
def test_an_unknown_option_is_answered_with_those_there_are(download: Path, tmp_path: Path, option: str) -> None:
    with pytest.raises(ConfigError, match=r"importer 'folders' has no option .*suffix"):
        said("import", "folders", download, tmp_path / "out", "--option", option)
    assert not (tmp_path / "out").exists()


def test_an_option_without_a_value_is_refused(download: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="NAME=VALUE"):
        said("import", "folders", download, tmp_path / "out", "--option", "suffix")


def test_a_split_is_told_in_one_line_a_part(download: Path, tmp_path: Path) -> None:
    said("import", "folders", download, tmp_path / "out")
    assert said("split", tmp_path / "out").splitlines() == [
        "train: 4 images in 4 groups (2 lesion, 2 normal)",
        "test: 2 images in 2 groups (1 lesion, 1 normal)",
    ]


def test_an_importers_options_are_options_of_the_command(download: Path, tmp_path: Path) -> None:
    (download / "masks").rename(download / "drawn")
    assert "6 masks" in said("import", "folders", download, tmp_path / "out", "--masks", "drawn", "--finding=polyp")
    with pytest.raises(ConfigError, match=r"importer 'folders' has no option 'maks'; did you mean"):
        said("import", "folders", download, tmp_path / "other", "--maks", "drawn")


def test_the_help_of_an_importer_lists_its_options() -> None:
    text = said("import", "folders", "--help")
    assert all(f"--{option} TEXT" in text for option in ("images", "masks", "suffix", "normal", "patient-pattern"))
    assert "default: masks" in text
    assert "NAME --help lists the options" in said("import", "--help")


def test_a_dry_run_needs_no_folder_to_write(download: Path) -> None:
    assert "6 images (3 lesion, 3 normal), 6 masks" in said("import", "folders", download, "--dry-run")


def test_a_split_names_what_it_does_not_know(download: Path, tmp_path: Path) -> None:
    said("import", "folders", download, tmp_path / "out")
    result = CliRunner().invoke(app, ["data", "split", str(tmp_path / "out")], catch_exceptions=False)
    assert result.stderr.startswith("note: no patient is known: images of one patient may stand on both sides")


def test_a_raw_folder_is_inspected_however_deep_its_patients_lie(download: Path) -> None:
    for index in range(6):
        for name in ("images", "masks"):
            place = download / name / "2024" / f"P{index // 2}" / "colon"
            place.mkdir(parents=True, exist_ok=True)
            (download / name / f"{index}.png").rename(place / f"{index}.png")
    (download / "images").rename(download / "Bilder")
    result = CliRunner().invoke(app, ["data", "inspect", str(download), "--json"], catch_exceptions=False)
    found = json.loads(result.stdout)["fingerprint"]
    assert (found["images"], found["patients"], found["labelled_by"]) == (6, 3, {"mask": 6})


def test_masks_beside_their_images_are_inspected_as_masks(download: Path) -> None:
    for mask in (download / "masks").iterdir():
        mask.rename(download / "images" / f"{mask.stem}_mask.png")
    (download / "images").rename(download / "all")
    result = CliRunner().invoke(app, ["data", "inspect", str(download), "--json"], catch_exceptions=False)
    found = json.loads(result.stdout)["fingerprint"]
    assert found["images"] == 6 and found["labelled_by"] == {"mask": 6}


def test_a_raw_folder_is_inspected_as_an_import_would_read_it(download: Path) -> None:
    (download / "images").rename(download / "Bilder")
    (download / "Bilder" / "bericht.pdf").write_bytes(b"%PDF")
    result = CliRunner().invoke(app, ["data", "inspect", str(download), "--json"], catch_exceptions=False)
    assert result.exit_code == 3
    found = json.loads(result.stdout)
    assert found["fingerprint"]["images"] == 6 and found["fingerprint"]["labelled_by"] == {"mask": 6}
    assert [fault["code"] for fault in found["faults"]] == ["not-imported", "left-out"]
    assert found["faults"][1]["file"] == "Bilder/bericht.pdf"


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({"a.csv": "x,y\n1,2\n"}, "not followed, perhaps it is one of something else: .*no column of file names"),
        ({"a.csv": "image,label\n", "b.tsv": "image\n"}, r"of 2 tables \(a\.csv, b\.tsv\) none was followed"),
    ],
)
def test_a_table_that_is_not_followed_is_no_secret(download: Path, tables: dict[str, str], said: str) -> None:
    (download / "images").rename(download / "Bilder")
    for name, text in tables.items():
        (download / name).write_text(text)
    result = CliRunner().invoke(app, ["data", "inspect", str(download), "--json"], catch_exceptions=False)
    notes = [note["what"] for note in json.loads(result.stdout)["notes"] if note["code"] == "guess"]
    assert any(re.search(said, note) for note in notes)


@pytest.mark.parametrize("option", [[], ["--group", "ward"]])
def test_a_column_named_by_the_user_is_the_patient(download: Path, tmp_path: Path, option: list[str]) -> None:
    rows = [f"{n}.png,{('normal', 'lesion')[n % 2]},W{n // 2}" for n in range(6)]
    (download / "tags.csv").write_text("\n".join(["image,label,ward", *rows]))
    told = said("import", "table", download / "tags.csv", tmp_path / "out", *option)
    assert ("no patient is known" in told) == (not option)
    with (tmp_path / "out" / "labels.csv").open(newline="") as file:
        assert {row["patient"] for row in csv.DictReader(file)} == ({"W0", "W1", "W2"} if option else {""})
    table = tmp_path / "out" / "labels.csv"
    table.write_text("\n".join(["image,label,ward", *(row.replace(".png", "") for row in rows)]))
    result = CliRunner().invoke(app, ["data", "inspect", str(tmp_path / "out"), "--json", *option])
    assert json.loads(result.stdout)["fingerprint"]["patients"] == (3 if option else 0)
    groups = [int(line.split(" in ")[1].split()[0]) for line in said("split", tmp_path / "out", *option).splitlines()]
    assert sum(groups) == (3 if option else 6)
