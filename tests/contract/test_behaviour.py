"""What single methods do beyond what all have in common: self-training's rounds, and Fourier adaptation's images."""

import csv
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from endotransfer.batch import SourceBatch, TargetBatch
from endotransfer.config import experiment_from
from endotransfer.engine import run as engine
from endotransfer.methods import METHODS
from endotransfer.methods.fda import FDA, FDAConfig, robust_entropy
from endotransfer.methods.task import TaskInfo


def rows_by_name(run: Path) -> dict[str, list[tuple[int, float]]]:
    """metrics.csv as name -> (epoch, value) in order."""
    figures: dict[str, list[tuple[int, float]]] = {}
    with (run / "metrics.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            figures.setdefault(row["name"], []).append((int(row["epoch"]), float(row["value"])))
    return figures


# -- class-balanced self-training -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rounds(make_experiment: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[int, float]]]:
    """One epoch of warm-up, then three rounds of two epochs."""
    run = tmp_path_factory.mktemp("cbst") / "run"
    engine.train(make_experiment("tagged", "cbst", epochs=7), run)
    return rows_by_name(run)


def test_cbst_labels_once_a_round_and_more_each_time(rounds: dict[str, list[tuple[int, float]]]) -> None:
    epochs, portions = zip(*rounds["pass/portion"], strict=True)
    assert epochs == (1, 3, 5)
    assert portions == pytest.approx((0.2, 0.25, 0.3))
    coverage = [share for _, share in rounds["pass/coverage"]]
    assert coverage == sorted(coverage) and coverage[0] < coverage[-1]


def test_cbst_labels_the_same_portion_of_each_class(rounds: dict[str, list[tuple[int, float]]]) -> None:
    labelled = {name: shares for name, shares in rounds.items() if name.startswith("pass/labelled_")}
    assert len(labelled) == 2
    seen = 0
    for shares in labelled.values():
        for (_, share), (_, portion) in zip(shares, rounds["pass/portion"], strict=True):
            assert share == 0 or share == pytest.approx(portion, abs=0.02)  # 0: a class that was never predicted
            seen += share > 0
    assert seen >= len(rounds["pass/portion"])


def test_cbst_sees_no_target_in_warm_up_and_trains_on_labels_after(
    rounds: dict[str, list[tuple[int, float]]],
) -> None:
    assert {epoch for epoch, _ in rounds["term/segmentation_source"]} == set(range(7))
    assert {epoch for epoch, _ in rounds["term/segmentation_target"]} == set(range(1, 7))
    assert "term/tags" not in rounds


def test_cbst_portion_stops_growing(make_experiment: Any, tmp_path: Path) -> None:
    made = make_experiment("tagged", "cbst", epochs=3, steps_per_epoch=1).model_dump(mode="json")
    made["method"] |= {"warmup_epochs": 0, "epochs_per_round": 1, "portion_start": 0.45}
    engine.train(experiment_from(made), tmp_path / "run")
    portions = [share for _, share in rows_by_name(tmp_path / "run")["pass/portion"]]
    assert portions == pytest.approx([0.45, 0.5, 0.5])


# -- Fourier domain adaptation ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("masks", [4, 2])
def test_fda_shows_source_images_in_target_colours(make_experiment: Any, masks: int) -> None:
    model = make_experiment("tagged", "fda").model
    method = METHODS.get("fda")(TaskInfo(2, True, model, 1), FDAConfig.model_validate({}))
    assert isinstance(method, FDA)
    generator = torch.Generator().manual_seed(0)
    reddish, greenish = (torch.tensor(colour).view(3, 1, 1) for colour in ([0.7, 0.3, 0.3], [0.4, 0.6, 0.3]))
    texture = 0.2 * (torch.rand((8, 3, 32, 32), generator=generator) - 0.5)
    source = SourceBatch(reddish + texture[:4], torch.zeros(masks, 32, 32, dtype=torch.int64), None)
    target = TargetBatch(greenish + texture[4:], None)
    shown = method.in_target_style(source, target)
    colour, before, wanted = (images.mean((0, 2, 3)) for images in (shown, source.images, target.images))
    assert (colour - wanted).abs().max() < 0.01 < (colour - before).abs().max()
    own = source.images - source.images.mean((2, 3), keepdim=True)  # the content stays
    torch.testing.assert_close(shown - shown.mean((2, 3), keepdim=True), own, rtol=0, atol=1e-5)


def test_fda_entropy_is_charbonniers_penalty_of_the_normalised_entropy() -> None:
    logits = torch.tensor([[2.0, 0.0, -1.0], [0.0, 0.0, 0.0], [90.0, 0.0, 0.0]], dtype=torch.float64)
    expected = 0.0
    for row in logits.tolist():
        shares = [math.exp(value) / sum(map(math.exp, row)) for value in row]
        entropy = -sum(share * math.log(share) for share in shares) / math.log(3)
        expected += (entropy**2 + 0.001**2) ** 2 / 3
    assert robust_entropy(logits.T.view(1, 3, 3, 1), 2).item() == pytest.approx(expected, rel=1e-9)


def test_fda_without_entropy_has_no_such_term(make_experiment: Any, tmp_path: Path) -> None:
    made = make_experiment("untagged", "fda", epochs=1, steps_per_epoch=1).model_dump(mode="json")
    for weight, present in ((0.0, False), (0.005, True)):
        made["method"]["entropy_weight"] = weight
        run = tmp_path / str(weight)
        engine.train(experiment_from(made), run)
        assert ("term/entropy_target" in rows_by_name(run)) == present
