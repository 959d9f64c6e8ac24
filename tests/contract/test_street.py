"""GTA5 -> Cityscapes with 19 classes, SYNTHIA -> Cityscapes with 16, CamVid by day -> at dusk: from the published
folders through training, evaluation and benchmark."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from endotransfer.compare.runner import run_benchmark
from endotransfer.compare.suite import Suite, read_suite
from endotransfer.config import experiment_from
from endotransfer.config.class_lists import CAMVID, CITYSCAPES, CITYSCAPES13, CITYSCAPES16
from endotransfer.data.folders.domain import FolderPart, read_domain
from endotransfer.engine.run import evaluate, train
from endotransfer.errors import ConfigError, DataError
from endotransfer.label_values import IGNORE
from endotransfer.recipes import FOLDER as RECIPES
from endotransfer.report.benchmark_table import print_benchmark, write_tables
from endotransfer.report.printed import printed_table
from tests.street_trees import save_palette, stripes, write_camvid, write_cityscapes, write_gta5, write_synthia

TINY = {
    "model.backbone=test_resnet", "model.pretrained=false", "model.norm=group", "model.multi_grid=null",
    "model.aspp_rates=[1, 2]", "model.aspp_channels=16", "training.epochs=2", "training.steps_per_epoch=2",
    "training.batch_source=2", "training.batch_target=2", "training.workers=0", "training.precision=32",
    "training.loggers=[]", "training.accelerator=cpu", "evaluation.resamples=20",
}  # fmt: skip
SMALL = {"data.size=[32, 64]", "data.source_size=[40, 80]", "training.augment.crop=[32, 32]"}


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("street")
    write_cityscapes(root / "cityscapes")
    write_gta5(root / "gta5")
    write_synthia(root / "RAND_CITYSCAPES")
    write_camvid(root / "camvid")
    return root


def recipe(name: str, trees: Path, *settings: str) -> Suite:
    source = {"gta": "gta5", "synthia": "RAND_CITYSCAPES"}[name]
    paths = [f"data.source={trees / source}", f"data.target={trees / 'cityscapes'}"]
    return read_suite(RECIPES / f"{name}.yaml", [*paths, *sorted(TINY | SMALL), *settings])


def experiment(trees: Path, source: str, method: str = "source_only", **sections: dict[str, Any]) -> Any:
    data = {"source": trees / source, "target": trees / "cityscapes", "tags": False, "size": [32, 64]}
    raw = {
        "data": data,
        "model": {"backbone": "test_resnet", "pretrained": False, "norm": "group", "multi_grid": None,
                  "aspp_rates": [1, 2], "aspp_channels": 16},
        "method": method,
        "training": {"epochs": 2, "steps_per_epoch": 2, "batch_source": 2, "batch_target": 2, "workers": 0,
                     "loggers": [], "accelerator": "cpu"},
        "evaluation": {"resamples": 20},
    }  # fmt: skip
    return experiment_from({name: {**part, **sections.get(name, {})} if isinstance(part, dict) else part
                            for name, part in raw.items()})  # fmt: skip


@pytest.mark.parametrize(
    ("name", "classes", "number"), [("gta", CITYSCAPES, 4), ("synthia", CITYSCAPES16, 3)], ids=["gta", "synthia"]
)
def test_a_recipe_needs_two_paths_and_gives_the_papers_table(
    trees: Path, tmp_path: Path, name: str, classes: tuple[str, ...], number: int
) -> None:
    suite, rows = recipe(name, trees), ["BL", "Ours", "target_supervised"]
    results, missing = run_benchmark(suite, tmp_path, only=rows,
                                     console=Console(file=io.StringIO()))  # fmt: skip
    assert {cell.row.label for cell in missing} == {row.label for row in suite.rows} - {*rows}
    cells = {cell["label"]: cell for cell in results["cells"]}
    for cell in cells.values():
        assert tuple(cell["classes"]) == classes
        assert cell["images"] == 3  # val
        assert cell["iou_lesion"] is None
        known = [value for value in cell["iou"].values() if value is not None]
        assert cell["miou"] == pytest.approx(np.mean(known))
        assert ("miou13" in cell) == (name == "synthia")
        if name == "synthia":
            some = [cell["iou"][one] for one in CITYSCAPES13 if cell["iou"][one] is not None]
            assert cell["miou13"] == pytest.approx(np.mean(some))
            assert len(cell["intervals"]["miou13"]) == 2
    write_tables(results, tmp_path)
    head, _, *lines = (tmp_path / "table.md").read_text().splitlines()[2:]
    means = ["mIoU 13", "mIoU"] if name == "synthia" else ["mIoU"]
    assert [cell.strip() for cell in head.split("|")[2:-3]] == [*classes, *means, "mIoU 95 %"]
    paper = next(line for line in lines if line.startswith("| paper: Ours |"))
    printed = [cell.strip() for cell in paper.split("|")[2 : 2 + len(classes) + len(means)]]
    assert printed[-len(means) :] == {"gta": ["47.2"], "synthia": ["-", "42.9"]}[name]
    assert f"Table {number}" in (tmp_path / "table.md").read_text()
    if name == "synthia":
        said = io.StringIO()
        print_benchmark(results, Console(file=said, width=100))
        assert "mIoU 13" in said.getvalue()
        assert results["summary"][0]["mean"]["miou13"] == cells["BL"]["miou13"]


def test_thirteen_classes_are_not_held_against_the_papers_mean_over_sixteen(trees: Path, tmp_path: Path) -> None:
    suite = recipe("synthia", trees, "data.classes=cityscapes13")
    results, _ = run_benchmark(suite, tmp_path, only=["Ours"], console=Console(file=io.StringIO()))
    write_tables(results, tmp_path)
    paper = next(line for line in (tmp_path / "table.md").read_text().splitlines() if "paper: Ours |" in line)
    cells = [cell.strip() for cell in paper.split("|")[2:16]]
    assert cells[0] == "68.4" and cells[13] == "-"


@pytest.mark.parametrize("name", ["gta", "synthia"])
def test_a_recipe_has_every_row_of_its_table_and_two_on_deeplab_v2(name: str) -> None:
    suite = read_suite(RECIPES / f"{name}.yaml")
    rows = {row.label: row for row in suite.rows}
    assert suite.table is not None
    printed = {row.label for row in printed_table(name).rows} - {"DF"}  # a dilated VGG: BL on the shared backbone
    assert printed <= rows.keys()
    for label in ("LtA (DeepLab-v2)", "CBST (DeepLab-v2)"):
        model = suite.experiment(rows[label], 0, Path()).model
        assert (model.backbone, model.head, model.aspp_rates) == ("resnet101", "deeplab_v2", (6, 12, 18, 24))


@pytest.mark.parametrize("source", ["gta5", "RAND_CITYSCAPES"])
def test_a_saved_model_is_measured_again_as_it_was(trees: Path, tmp_path: Path, source: str) -> None:
    """With its own inference geometry: through windows, at the images' own size, on the part that has labels."""
    classes = {"classes": "cityscapes16" if source != "gta5" else "cityscapes19"}
    window = {"size": "own", "window": [32, 48], "resamples": 20}
    asked = experiment(trees, source, data=classes, evaluation=window)
    first = train(asked, tmp_path / "run", console=Console(file=io.StringIO()))
    again = evaluate(tmp_path / "run", [trees / "cityscapes"])
    assert first is not None and again["miou"] == pytest.approx(first["miou"])
    assert again["iou"] == first["iou"]
    assert again.figure("miou13") == first.figure("miou13")
    saved = json.loads((tmp_path / "run" / "model" / "config.json").read_text())
    assert saved["geometry"] == {"size": None, "window": [32, 48]}
    whole = evaluate(tmp_path / "run", [trees / "cityscapes"], split="train")
    assert whole["images"] == 4


def test_any_part_can_be_what_is_measured_on(trees: Path, tmp_path: Path) -> None:
    test = [{"path": trees / "cityscapes", "split": "train"}]
    asked = experiment(trees, "gta5", data={"target": [], "test": test})
    results = train(asked, tmp_path, console=Console(file=io.StringIO()))
    assert results is not None and results["images"] == 4


@pytest.mark.parametrize("method", ["lta", "semantic_transfer", "cbst"])
def test_methods_train_on_crops_with_either_network(trees: Path, tmp_path: Path, method: str) -> None:
    sections: dict[str, dict[str, Any]] = {
        "data": {"source_size": [40, 80]},
        "model": {"head": "deeplab_v2", "aspp_rates": [1, 2, 3, 4]},
        "training": {"augment": {"flip_vertical": False, "scale": [0.8, 1.5], "crop": [32, 32], "colour": 0.2}},
    }
    results = train(experiment(trees, "gta5", method, **sections), tmp_path, console=Console(file=io.StringIO()))
    assert results is not None and results["images"] == 3


def test_day_teaches_dusk(trees: Path, tmp_path: Path) -> None:
    suite = read_suite(RECIPES / "dusk.yaml", [
        f"data.source=[{{path: {trees / 'camvid'}, where: {{lighting: day}}}}]",
        f"data.target=[{{path: {trees / 'camvid'}, where: {{lighting: dusk}}}}]",
        "data.size=32", *sorted(TINY),
    ])  # fmt: skip
    results, _missing = run_benchmark(suite, tmp_path, seeds=1, only=["source_only", "tag_transfer"],
                                     console=Console(file=io.StringIO()))  # fmt: skip
    assert len(results["cells"]) == 2 and all(tuple(cell["classes"]) == CAMVID for cell in results["cells"])
    assert {cell["images"] for cell in results["cells"]} == {1}


# -- what is wrong --------------------------------------------------------------------------------------------------


def test_pairs_that_are_left_out_are_said_and_counted(tmp_path: Path) -> None:
    trees = tmp_path / "trees"
    write_cityscapes(trees / "cityscapes")
    write_gta5(trees / "gta5")
    save_palette(stripes(range(35), 0, (20, 30)), trees / "gta5" / "labels" / "00003.png")
    said = io.StringIO()
    results = train(experiment(trees, "gta5"), tmp_path / "run", console=Console(file=said, width=200))
    assert results is not None
    left_out = "pairs whose label has another size than its image are left out: 00003"
    assert f"note: {left_out} (1 files)" in said.getvalue()
    assert results["cost"]["conversions"][left_out] == 1


def test_sixteen_and_nineteen_classes_do_not_meet_unless_asked_to(trees: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"classes .* differ; .*data\.classes"):
        train(experiment(trees, "RAND_CITYSCAPES"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("sections", "words"),
    [
        ({"data": {"classes": "cityscapes18"}}, "no list of classes called 'cityscapes18'; did you mean 'cityscapes1"),
        (
            {"data": {"source_size": [40, 80]}},
            r"data\.source_size differs from data\.size; set training\.augment\.crop",
        ),
        ({"training": {"augment": {"crop": [64, 64]}}}, r"crop \[64, 64\] is larger than images of \[32, 64\]"),
        ({"training": {"augment": {"crop": [8, 64]}}}, r"training\.augment\.crop"),
        ({"data": {"tags": True}, "evaluation": {"window": [32, 32]}}, r"evaluation\.window needs `data\.tags: false`"),
    ],
)
def test_settings_that_cannot_be_are_refused(trees: Path, sections: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        experiment(trees, "gta5", **sections)


def test_camvid_by_day_to_a_folder_like_cityscapes(trees: Path, tmp_path: Path) -> None:
    """Eleven classes, which join what Cityscapes tells apart; nothing but two paths is needed."""
    folders = [
        f"data.source=[{{path: {trees / 'camvid'}, layout: camvid, where: {{lighting: day}}}}]",
        f"data.target={trees / 'cityscapes'}",
    ]
    small = {"data.size=[32, 64]", "data.source_size=[32, 48]", "training.augment.crop=[32, 48]"}
    rows = ["source_only", "target_supervised"]
    suite = read_suite(RECIPES / "day-to-other.yaml", [*folders, *sorted(TINY | small)])
    results, _ = run_benchmark(suite, tmp_path, only=rows, console=Console(file=io.StringIO()), seeds=1)
    assert {cell["label"] for cell in results["cells"]} == {*rows}
    for cell in results["cells"]:
        assert tuple(cell["classes"]) == CAMVID and cell["images"] == 3


@pytest.mark.parametrize(
    ("number", "name"), [(8, "pavement"), (12, "building"), (19, "sign"), (28, "car"), (33, "bicyclist"), (0, None)]
)
def test_labels_of_cityscapes_in_the_words_of_camvid(trees: Path, number: int, name: str | None) -> None:
    classes = read_domain([FolderPart(trees / "cityscapes", None, {}, "cityscapes")], None, "camvid11").classes
    assert classes.numbers is not None
    assert classes.numbers.table[number] == (IGNORE if name is None else CAMVID.index(name))
