"""Splitting: groups stay whole, shares and tags come out right, nothing is lost."""

import csv
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from endotransfer.data.folders.read_folder import read_folder
from endotransfer.data.folders.split import choose_test, split_folder
from endotransfer.errors import ConfigError, DataError
from tests.properties import examples

MakeFolder = Callable[..., Path]
NAMES = [f"x{i:02d}" for i in range(24)]


def table_of(folder: Path) -> dict[str, dict[str, str]]:
    with (folder / "labels.csv").open(newline="", encoding="utf-8") as file:
        return {row["image"]: row for row in csv.DictReader(file)}


def labels(*columns: str, patients: int = 0) -> str:
    lines = [",".join(("image", *columns))]
    for i, name in enumerate(NAMES):
        cells = {
            "label": "lesion" if i % 3 else "normal",
            "patient": str(i % patients) if patients else "",
            "note": "é, x",
        }
        lines.append(",".join([name, *(f'"{cells[column]}"' for column in columns)]))
    return "\n".join(lines) + "\n"


def test_a_folder_without_table_gets_one(make_folder: MakeFolder) -> None:
    folder = make_folder(images=NAMES)
    counts = split_folder(folder)
    assert {part: counts[part]["images"] for part in counts} == {"train": 16, "test": 8}
    assert not (folder / "labels.csv.bak").exists()
    assert len(read_folder(folder, split="test").samples) == 8
    assert len({sample.group for sample in read_folder(folder).samples}) == 24


def test_tags_are_shared_out_evenly(make_folder: MakeFolder) -> None:
    counts = split_folder(make_folder(images=NAMES, labels=labels("label")), test_share=0.25)
    assert counts["test"] == {"images": 6, "groups": 6, "lesion": 4, "normal": 2}


def test_other_columns_and_the_old_table_are_kept(make_folder: MakeFolder) -> None:
    old = labels("note", "label")
    folder = make_folder(images=NAMES, labels=old)
    split_folder(folder)
    assert {row["note"] for row in table_of(folder).values()} == {"é, x"}
    assert (folder / "labels.csv.bak").read_text(encoding="utf-8") == old


def test_an_existing_split_needs_force_and_every_old_table_stays(make_folder: MakeFolder) -> None:
    folder = make_folder(images=NAMES, labels=labels("label"))
    split_folder(folder, seed=1)
    first = (folder / "labels.csv").read_text()
    with pytest.raises(DataError, match=r"labels\.csv: already has a split; add --force"):
        split_folder(folder, seed=2)
    assert (folder / "labels.csv").read_text() == first
    split_folder(folder, seed=2, force=True)
    assert (folder / "labels.csv").read_text() != first
    assert (folder / "labels.csv.bak").read_text() == labels("label")
    assert (folder / "labels.csv.bak2").read_text() == first
    split_folder(folder, seed=1, force=True)
    assert (folder / "labels.csv").read_text() == first  # the seed decides, nothing else
    assert (folder / "labels.csv.bak3").exists()


def test_patients_stay_on_one_side(make_folder: MakeFolder) -> None:
    folder = make_folder(images=NAMES, labels=labels("label", "patient", patients=6))
    counts = split_folder(folder)
    assert counts["test"] == {"images": 8, "groups": 2} | {
        k: v for k, v in counts["test"].items() if k in ("lesion", "normal")
    }
    sides: dict[str, set[str]] = {}
    for row in table_of(folder).values():
        sides.setdefault(row["patient"], set()).add(row["split"])
    assert all(len(side) == 1 for side in sides.values())


def test_sequences_stay_on_one_side(make_folder: MakeFolder) -> None:
    folder = make_folder(images=NAMES, labels=labels("label", "patient", patients=6).replace("patient", "sequence"))
    assert split_folder(folder)["test"]["groups"] == 2
    assert len({(row["sequence"], row["split"]) for row in table_of(folder).values()}) == 6


def test_near_duplicates_and_old_clusters_become_one_cluster(
    make_folder: MakeFolder, photo: Callable[[int], NDArray[np.uint8]]
) -> None:
    rows = ["image,cluster", *(f"{name},{'old' if name in ('x02', 'x03') else ''}" for name in NAMES)]
    folder = make_folder(images=NAMES, labels="\n".join(rows))
    for name in ("x01", "x02"):  # x00, x01, x02 look alike; x03 joins through the old cluster
        Image.fromarray(photo(0)).save(folder / f"images/{name}.png")
    for seed in range(8):
        split_folder(folder, seed=seed, force=True)
        table = table_of(folder)
        assert len({(table[name]["cluster"], table[name]["split"]) for name in NAMES[:4]}) == 1
        assert len({row["cluster"] for row in table.values()}) == 21


def test_one_patient_cannot_be_divided(make_folder: MakeFolder) -> None:
    folder = make_folder(images=NAMES, labels=labels("patient", patients=1))
    with pytest.raises(DataError, match="all images belong to one patient"):
        split_folder(folder)
    assert "split" not in table_of(folder)["x00"]


@pytest.mark.parametrize("share", [0.0, 1.0, -1.0, float("nan")])
def test_impossible_shares(make_folder: MakeFolder, share: float) -> None:
    with pytest.raises(ConfigError, match="test share"):
        split_folder(make_folder(), test_share=share)


def test_unreadable_images_stop_it_before_anything_is_written(make_folder: MakeFolder) -> None:
    folder = make_folder()
    (folder / "images/b.png").write_bytes(b"")
    with pytest.raises(DataError, match=r"b\.png: has zero bytes"):
        split_folder(folder)
    assert not (folder / "labels.csv").exists()


def test_a_large_patient_goes_to_the_large_part() -> None:
    groups = np.array([0] * 6 + [1, 2, 3, 4])
    assert not choose_test(groups, ["lesion"] * 10, 1 / 3, seed=0)[:6].any()
    assert choose_test(groups, ["lesion"] * 10, 2 / 3, seed=0)[:6].all()


def test_large_groups_are_shared_between_the_parts() -> None:
    groups = np.array([0] * 6 + [1] * 6 + list(range(2, 26)))
    test = choose_test(groups, ["lesion"] * 36, 1 / 3, seed=0)
    assert test.sum() == 12
    assert test[:12].sum() == 6


@examples(80)
@given(st.lists(st.tuples(st.integers(0, 12), st.sampled_from("abc")), min_size=2, max_size=60), st.floats(0.1, 0.9))
def test_groups_stay_whole_and_both_parts_exist(images: list[tuple[int, str]], share: float) -> None:
    numbers = sorted({number for number, _ in images})
    groups = np.array([numbers.index(number) for number, _ in images])
    if len(numbers) == 1:
        return
    tags = [tag for _, tag in images]
    test = choose_test(groups, tags, share, seed=3)
    assert 0 < test.sum() < len(images)
    assert len({(group, bool(side)) for group, side in zip(groups.tolist(), test, strict=True)}) == len(numbers)
    largest = max(Counter(groups.tolist()).values())
    assert abs(test.sum() - share * len(images)) <= largest + len(set(tags))
    assert np.array_equal(test, choose_test(groups, tags, share, seed=3))
