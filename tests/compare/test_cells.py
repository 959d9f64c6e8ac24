"""The digest of a cell changes with what its figures depend on, and with nothing else."""

from pathlib import Path
from typing import Any

import pytest

from endotransfer.compare.cells import digest_of, plan_cells
from endotransfer.compare.task_settings import task_settings
from endotransfer.methods import METHODS
from endotransfer.methods.resolve import resolved
from tests.compare.conftest import MakeSuite

SYSTEMS = ["source_only", "lta"]


def digests(make_suite: MakeSuite, *overrides: str, **keys: Any) -> list[str]:
    return [cell.digest for cell in plan_cells(make_suite(SYSTEMS, list(overrides), **keys), [0], Path("p"))]


@pytest.mark.parametrize(
    "override",
    ["training.lr=0.5", "data.size=64", "model.dropout=0.3", "evaluation.batch=3", "data.source=other", "seeds=[1]"],
)
def test_settings_change_the_digest(make_suite: MakeSuite, override: str) -> None:
    if override.startswith("seeds"):
        a, b = (plan_cells(make_suite(SYSTEMS), [seed], Path("p"))[0].digest for seed in (0, 1))
    else:
        a, b = digests(make_suite)[0], digests(make_suite, override)[0]
    assert a != b


@pytest.mark.parametrize(
    "override", ["name=other", "training.workers=2", "data.cache=never", "training.log_every=7", "training.epochs=1"]
)
def test_what_changes_no_figure_changes_no_digest(make_suite: MakeSuite, override: str) -> None:
    assert digests(make_suite) == digests(make_suite, override)


def test_a_method_that_was_repaired_does_not_take_over_its_old_results(
    make_suite: MakeSuite, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = digests(make_suite)
    monkeypatch.setattr(METHODS.get("lta"), "revision", 7)
    after = digests(make_suite)
    assert (before[0], before[1] == after[1]) == (after[0], False)


def test_a_moved_folder_is_the_same_data(make_suite: MakeSuite) -> None:
    here, there = (digests(make_suite, f"data.source=[{root}/set]", f"data.target=[{root}/t]") for root in ("/a", "/b"))
    assert here == there


def test_the_phantom_is_part_of_the_digest(make_suite: MakeSuite) -> None:
    experiment = plan_cells(make_suite(SYSTEMS), [0], Path("p"))[0].experiment
    drawn = [digest_of(experiment, {"images": images}) for images in (12, 24)]
    assert len({*drawn, digest_of(experiment)}) == 3


def test_a_written_out_method_has_the_digest_of_its_preset(make_suite: MakeSuite) -> None:
    suite = make_suite(["semantic_transfer/robust"])
    short = suite.experiment(suite.rows[0], 0, Path("p"))
    assert digest_of(short) == digest_of(resolved(short))
    assert resolved(short).method["teacher_momentum"] == 0.99


def test_rows_that_train_the_same_share_one_run(make_suite: MakeSuite) -> None:
    suite = make_suite(
        [
            "semantic_transfer/paper/BL+AL+SRT",
            "semantic_transfer/paper/Ours-woPL",
            {"label": "again", "same_as": "semantic_transfer/paper/Ours-woPL", "group": "g"},
            "semantic_transfer/paper/Ours",
        ]
    )
    cells = plan_cells(suite, [0, 1], Path("p"))
    runs = [cell.run for cell in cells if cell.seed == 0]
    assert runs[0] == runs[1] == runs[2] == "semantic_transfer-paper-BL+AL+SRT-seed0"
    assert runs[3] != runs[0]
    assert cells[1].failed("x").results.variant == "Ours-woPL"
    failed = cells[2].failed("x").to_dict() | {"digest": ""}
    assert failed.pop("settings") == task_settings(cells[2].experiment)
    assert failed == {
        "label": "again", "group": "g", "same_as": "semantic_transfer/paper/Ours-woPL", "method": "semantic_transfer",
        "preset": "paper", "variant": "Ours-woPL", "seed": 0, "digest": "", "run": runs[0], "error": "x",
    }  # fmt: skip
