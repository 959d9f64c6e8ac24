"""tag_transfer without tags: it learns from mixtures as DACS does, or by thresholds after a long warm-up."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from endotransfer.config import experiment_from
from endotransfer.engine.run import train
from endotransfer.methods.dacs import Dacs
from endotransfer.methods.resolve import method_config
from endotransfer.methods.tag_transfer import TagTransfer
from endotransfer.methods.task import Progress, TaskInfo
from tests.contract.behaviour import FullBatch, one_batch, rows_by_name

EPOCHS = 8


def built(
    make_experiment: Any, cls: type[Any], *, classes: int = 2, tags: bool = False, scratch: bool = True, **settings: Any
) -> Any:
    """The same weights for both methods: they begin with the segmenter."""
    torch.manual_seed(0)
    model = make_experiment("tagged", cls.name).model.model_copy(update={"dropout": 0.0})
    if scratch:
        model = model.model_copy(update={"pretrained": False, "weights": None})
    return cls(TaskInfo(classes, tags, model, EPOCHS), method_config({"name": cls.name} | settings)[2])


@pytest.fixture(scope="module")
def batch(make_experiment: Any) -> FullBatch:
    """Without tags."""
    made = one_batch(make_experiment, "tag_transfer")
    return FullBatch(replace(made.source, tags=None), replace(made.target, tags=None), made.reviewed)


@pytest.mark.parametrize(
    ("classes", "tags", "scratch", "untagged", "mixes"),
    [
        (2, False, True, "auto", True),
        (2, False, False, "auto", False),  # pretrained features lose by it
        (5, False, True, "auto", False),
        (5, False, False, "mixtures", True),
        (2, False, True, "thresholds", False),
        (2, True, True, "mixtures", False),  # tags know better
    ],
)
def test_two_classes_without_tags_are_learnt_from_mixtures_where_nothing_was_learnt_before(
    make_experiment: Any, classes: int, tags: bool, scratch: bool, untagged: str, mixes: bool
) -> None:
    method = built(make_experiment, TagTransfer, classes=classes, tags=tags, scratch=scratch, untagged=untagged)
    warm_up, transfer = method.stages()
    assert transfer.target_pass == transfer.recordable == (not mixes)
    assert transfer.phases == (("net",) if mixes else ("net", "critic"))
    assert ("critic" in dict(method.named_children())) == ("centroids" in dict(method.named_children())) == (not mixes)
    assert warm_up.epochs == (1 if mixes or tags else EPOCHS // 2)


def test_its_mixtures_teach_what_those_of_dacs_teach(make_experiment: Any, batch: FullBatch) -> None:
    ours, theirs = (built(make_experiment, cls) for cls in (TagTransfer, Dacs))
    found = []
    for method in (ours, theirs):
        method.progress = Progress(3, stage="transfer")
        terms = method.losses("net", batch, {})
        assert set(terms) == {"segmentation_source", "segmentation_mixed"}
        sum(terms.values()).backward()
        gradients = [weight.grad for weight in method.segmenter.parameters()]
        found.append((terms, gradients))
    (mine, my_gradients), (other, other_gradients) = found
    assert mine["segmentation_mixed"] > 0
    torch.testing.assert_close(mine, other)
    torch.testing.assert_close(my_gradients, other_gradients)


def test_it_trains_without_passes_and_without_a_tag(make_experiment: Any, tmp_path: Path) -> None:
    made = make_experiment("tagged", "tag_transfer", epochs=2, steps_per_epoch=2, log_every=1).model_dump(mode="json")
    made["data"]["tags"] = False
    made["method"]["untagged"] = "mixtures"
    assert train(experiment_from(made), tmp_path / "run") is not None
    rows = rows_by_name(tmp_path / "run")
    assert [epoch for epoch, _ in rows["term/segmentation_mixed"]] == [1, 1]  # the first epoch is of the source alone
    assert not [name for name in rows if name.startswith("pass/")]
