"""FDA shows the source in the target's low frequencies, band after band, and ends with one round of self-training."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from endotransfer.batch import SourceBatch, TargetBatch
from endotransfer.config import experiment_from
from endotransfer.data.pipeline.fourier_swap import swap_low_frequencies
from endotransfer.engine import run as engine
from endotransfer.methods.fda import FDA, robust_entropy
from endotransfer.methods.resolve import method_config
from endotransfer.methods.task import Progress, TaskInfo
from tests.contract.behaviour import Rows, build, rows_by_name

IMAGES = torch.rand((8, 3, 32, 32), generator=torch.Generator().manual_seed(0))


def fda(make_experiment: Any, preset: str = "default") -> FDA:
    method = build(make_experiment, "fda", **FDA.presets[preset])
    assert isinstance(method, FDA)
    return method


@pytest.mark.parametrize("masks", [4, 2])
def test_source_images_are_shown_in_target_colours(make_experiment: Any, masks: int) -> None:
    reddish, greenish = (torch.tensor(colour).view(3, 1, 1) for colour in ([0.7, 0.3, 0.3], [0.4, 0.6, 0.3]))
    texture = 0.2 * (IMAGES - 0.5)
    source = SourceBatch(reddish + texture[:4], torch.zeros(masks, 32, 32, dtype=torch.int64), None)
    target = TargetBatch(greenish + texture[4:], None)
    shown = fda(make_experiment).in_target_style(source, target)
    colour, before, wanted = (images.mean((0, 2, 3)) for images in (shown, source.images, target.images))
    assert (colour - wanted).abs().max() < 0.01 < (colour - before).abs().max()
    own = source.images - source.images.mean((2, 3), keepdim=True)  # the content stays
    torch.testing.assert_close(shown - shown.mean((2, 3), keepdim=True), own, rtol=0, atol=1e-5)


@pytest.mark.parametrize(("preset", "bands"), [("default", [0.01, 0.05, 0.09, 0.01]), ("single_band", [0.01] * 4)])
def test_bands_take_turns(make_experiment: Any, preset: str, bands: list[float]) -> None:
    method = fda(make_experiment, preset)
    source = SourceBatch(IMAGES[:4], torch.zeros(4, 32, 32, dtype=torch.int64), None)
    target = TargetBatch(IMAGES[4:], None)
    for step, beta in enumerate(bands):
        method.progress = Progress(step=step)
        expected = swap_low_frequencies(source.images, target.images, beta)
        assert torch.equal(method.in_target_style(source, target), expected)


@pytest.fixture(scope="module")
def figures(make_experiment: Any, tmp_path_factory: pytest.TempPathFactory) -> Rows:
    run = tmp_path_factory.mktemp("fda") / "run"
    engine.train(make_experiment("tagged", "fda", epochs=6, steps_per_epoch=2), run)
    return rows_by_name(run)


def test_entropy_counts_from_half_of_the_run_on(figures: Rows) -> None:
    assert [epoch for epoch, _ in figures["term/entropy_target"]] == [3, 3, 4, 4, 5, 5]


def test_the_target_is_labelled_once_for_the_last_third(figures: Rows) -> None:
    assert [epoch for epoch, _ in figures["pass/coverage"]] == [4]
    assert [epoch for epoch, _ in figures["term/segmentation_target"]] == [4, 4, 5, 5]
    assert figures["pass/portion"] == [(4, 0.66)]
    assert all(0 <= value <= 0.9 + 1e-6 for name in ("0", "1") for _, value in figures[f"pass/threshold_{name}"])


@pytest.mark.parametrize(
    ("preset", "epochs", "labelled"),
    [("default", 1, 0), ("default", 2, 1), ("default", 3, 1), ("default", 10, 3), ("single_band", 10, 0)],
)
def test_it_has_the_experiments_epochs(make_experiment: Any, preset: str, epochs: int, labelled: int) -> None:
    cls, _, config = method_config({"name": "fda", "preset": preset})
    stages = cls(TaskInfo(2, True, make_experiment("tagged", "fda").model, epochs), config).stages()
    expected = [("style", epochs - labelled, False), ("labels", labelled, True)]
    assert [(stage.name, stage.epochs, stage.target_pass) for stage in stages] == expected[: 1 + bool(labelled)]


def test_entropy_is_charbonniers_penalty_of_the_normalised_entropy() -> None:
    logits = torch.tensor([[2.0, 0.0, -1.0], [0.0, 0.0, 0.0], [90.0, 0.0, 0.0]], dtype=torch.float64)
    expected = 0.0
    for row in logits.tolist():
        shares = [math.exp(value) / sum(map(math.exp, row)) for value in row]
        entropy = -sum(share * math.log(share) for share in shares) / math.log(3)
        expected += (entropy**2 + 0.001**2) ** 2 / 3
    assert robust_entropy(logits.T.view(1, 3, 3, 1), 2).item() == pytest.approx(expected, rel=1e-9)


def test_without_a_weight_there_is_no_entropy(make_experiment: Any, tmp_path: Path) -> None:
    made = make_experiment("untagged", "fda", epochs=1, steps_per_epoch=2).model_dump(mode="json")
    for weight, present in ((0.0, False), (0.005, True)):
        made["method"]["entropy_weight"] = weight
        run = tmp_path / str(weight)
        engine.train(experiment_from(made), run)
        assert ("term/entropy_target" in rows_by_name(run)) == present
