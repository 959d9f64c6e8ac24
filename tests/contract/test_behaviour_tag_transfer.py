"""tag_transfer: source masks and tags teach a local layer where target lesions are, and passes and losses follow it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console
from sklearn.metrics import roc_auc_score
from torch import Tensor
from torch.nn.functional import interpolate

from endotransfer.batch import IGNORE, LESION, NORMAL, PassBatch
from endotransfer.config import experiment_from
from endotransfer.data.phantom import write_phantom
from endotransfer.data.pipeline.decoded_images import DecodedImages, DecodedPicture
from endotransfer.engine.experiment_data import load_data
from endotransfer.engine.source_set import WholeSource
from endotransfer.engine.training_data import load_training_data
from endotransfer.errors import ConfigError
from endotransfer.methods.tag_transfer import TagTransfer
from endotransfer.pseudo_labels import tag_labellers
from endotransfer.pseudo_labels.local_labeller import ENOUGH_AUROC
from endotransfer.pseudo_labels.region_walk import along_regions
from endotransfer.pseudo_labels.tag_labellers import LocalTagLabeller, ThresholdTagLabeller
from tests.contract.behaviour import one_batch
from tests.contract.tag_transfer import EPOCHS, build, build_with_scores, local_labeller, pass_over
from tests.models.sam2_file import write_encoder

SIZE, IMAGES = 64, 160  # with far fewer images the layer learns the tags from the frames of the few patients
LAST = EPOCHS - 2  # the last pass of the stage, which follows one epoch of warm-up

# -- what it learns ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def larger(make_experiment: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """An experiment on more and larger images."""
    folder = tmp_path_factory.mktemp("larger") / "task"
    write_phantom(folder, IMAGES, seed=1, size=SIZE, variant="lesion", processes=1)
    settings = {"batch_source": 8, "batch_target": 8}
    made = make_experiment("tagged", "tag_transfer", data=folder, **settings).model_dump(mode="json")
    made["data"]["size"] = SIZE
    return experiment_from(made)


@torch.no_grad()
def local_scores(method: TagTransfer, pictures: DecodedImages) -> Tensor:
    """[N, H, W] of all images."""
    images = torch.stack([pictures[i].image for i in range(len(pictures))]) / 255
    scores = local_labeller(method).scorer(local_labeller(method).features(images)).unsqueeze(1)
    return interpolate(scores, size=(SIZE, SIZE), mode="bilinear", align_corners=False).squeeze(1)


def lesion_of(picture: DecodedPicture) -> Tensor:
    assert picture.mask is not None
    return picture.mask == LESION


def ranking(scores: Tensor, pictures: DecodedImages) -> float:
    """How often a lesion's pixel scores above another of its image, in the mean over images tagged lesion."""
    truths = [lesion_of(pictures[i]) for i in range(len(pictures))]
    both = [i for i, sample in enumerate(pictures.samples) if sample.tag == LESION and truths[i].any()]
    assert len(both) > 20
    return sum(float(roc_auc_score(truths[i].flatten(), scores[i].flatten())) for i in both) / len(both)


def tag_ranking(scores: Tensor, pictures: DecodedImages) -> float:
    """How often an image tagged lesion has a higher top than a normal one."""
    return float(roc_auc_score([sample.tag for sample in pictures.samples], scores.flatten(1).amax(1)))


class WithOrWithoutTags:
    """What `prepare` needs of a target set, with its tags or without."""

    def __init__(self, target: Any, *, tagged: bool) -> None:
        self.target, self.tagged, self.total = target, tagged, len(target.images)

    def after(self, batches: int) -> Iterator[PassBatch]:
        for batch in self.target.after(batches):
            yield PassBatch(batch.images, batch.tags if self.tagged else None, batch.keys)


def test_local_scores_rank_lesions_of_target_images_without_masks(make_experiment: Any, larger: Any) -> None:
    needs, sets = TagTransfer.needs, load_data(larger.data, TagTransfer.needs)
    training_data = load_training_data(larger, sets, needs, lambda *_: None, console=Console(quiet=True))
    source = WholeSource(training_data.masked, 16, True, torch.device("cpu"), torch.float32)
    masked = DecodedImages(sets.target, (SIZE, SIZE), sets.classes, masks=True)  # to measure only
    untrained = local_scores(build(make_experiment), masked)
    assert ranking(untrained, masked) == 0.5  # every pixel has the same score
    with_tags, without = (build(make_experiment) for _ in range(2))
    for method, tagged in ((with_tags, True), (without, False)):
        method.prepare(source, WithOrWithoutTags(training_data.pass_set, tagged=tagged))  # type: ignore[arg-type]
    scores, scores_without = (local_scores(method, masked) for method in (with_tags, without))
    assert ranking(scores, masked) > 0.7
    assert tag_ranking(scores, masked) > tag_ranking(scores_without, masked) + 0.05


@pytest.mark.parametrize("grid", [8, 6])
def test_with_region_weights_scores_keep_their_values_in_the_order_of_regions(
    make_experiment: Any, tmp_path: Path, grid: int
) -> None:
    plain = local_labeller(build_with_scores(make_experiment))
    with_regions = local_labeller(build(make_experiment, model={"region_weights": write_encoder(tmp_path)}))
    with_regions.load_state_dict(plain.state_dict(), strict=False)
    assert with_regions.regions is not None
    images = torch.rand(2, 3, 8 * grid, 8 * grid, generator=torch.Generator().manual_seed(1))
    before, after = plain.score(images), with_regions.score(images)
    assert after.equal(along_regions(before, with_regions.regions(images, (grid, grid)))) and not after.equal(before)
    assert after.flatten(1).sort().values.equal(before.flatten(1).sort().values)


# -- when it is used --------------------------------------------------------------------------------------------------

WITHOUT = [
    ("tagged", {"weights": None}, {}),  # untrained features
    ("untagged", {}, {}),
    ("tagged", {}, {"lesion_labeller": "dataset_threshold"}),
]


def test_with_tags_and_weights_there_is_a_local_labeller_and_two_stages(make_experiment: Any) -> None:
    method = build(make_experiment)
    assert isinstance(method.labeller, LocalTagLabeller)
    assert [stage.name for stage in method.stages()] == ["warm-up", "transfer"]
    assert sum(stage.epochs for stage in method.stages()) == EPOCHS


@pytest.mark.parametrize("task, model, settings", WITHOUT)
def test_otherwise_dataset_thresholds_label_and_there_is_nothing_to_prepare(
    make_experiment: Any, task: str, model: dict[str, Any], settings: dict[str, Any]
) -> None:
    method = build(make_experiment, task, model, **settings)
    assert isinstance(method.labeller, ThresholdTagLabeller) and not method.labeller.state_dict()
    assert method.labeller.for_pass(0, 0.0) is None


@pytest.mark.parametrize("task, model, settings", WITHOUT[:2])
def test_without_a_local_labeller_there_are_no_findings_and_it_cannot_be_chosen(
    make_experiment: Any, task: str, model: dict[str, Any], settings: dict[str, Any]
) -> None:
    assert build(make_experiment, task, model, **settings, lesion_labeller="segmenter").findings() == {}
    with pytest.raises(ConfigError, match="needs tags and pretrained weights"):
        build(make_experiment, task, model, **settings, lesion_labeller="local")


# -- passes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tag_signal, alone", [(9.0, 1.0), (-9.0, 0.0)])
def test_the_first_pass_decides_who_labels_and_later_ones_follow(
    make_experiment: Any, tag_signal: float, alone: float
) -> None:
    method = build_with_scores(make_experiment)
    _, figures = pass_over(method, 0, tag_signal)
    assert figures["localisation_gap"] > 0, "the scores of `build_with_scores` do not agree with the segmenter any more"
    assert (figures["tag_auroc"] > 0.5) == (alone == 1)
    assert figures["segmenter_alone"] == method.state_dict()["labeller.choice.segmenter_alone"] == alone
    for epoch in (1, 2):  # what the segmenter has learnt from the tags since does not count
        _, later = pass_over(method, epoch, -tag_signal)
        assert later["segmenter_alone"] == local_labeller(method).choice.segmenter_alone == alone


def test_a_segmenter_that_separates_the_tags_is_not_believed_where_source_lesions_mislead(make_experiment: Any) -> None:
    believed, misled = (build_with_scores(make_experiment) for _ in range(2))
    local_labeller(misled).places.led.fill_(1)
    alone, led = (pass_over(method, 0, 9.0)[1] for method in (believed, misled))
    assert (alone["segmenter_alone"], led["segmenter_alone"]) == (1, 0)
    assert led["tag_auroc"] == alone["tag_auroc"] >= ENOUGH_AUROC  # it is told all the same


@pytest.mark.parametrize("lesion_labeller, tag_signal, alone", [("segmenter", -9.0, 1.0), ("local", 9.0, 0.0)])
def test_the_experiment_overrides_the_first_pass(
    make_experiment: Any, lesion_labeller: str, tag_signal: float, alone: float
) -> None:
    method, auto = (build_with_scores(make_experiment, lesion_labeller=choice) for choice in (lesion_labeller, "auto"))
    assert pass_over(auto, 0, tag_signal)[1]["segmenter_alone"] == 1 - alone
    for epoch in (0, 1):
        _, figures = pass_over(method, epoch, tag_signal)
        assert figures["segmenter_alone"] == local_labeller(method).choice.segmenter_alone == alone
    one, other = (pass_over(each, 1, tag_signal)[0].lesions for each in (method, auto))
    assert not torch.equal(one, other)


def test_a_method_loaded_from_a_checkpoint_follows_the_saved_decision(make_experiment: Any) -> None:
    method, resumed = build_with_scores(make_experiment), build_with_scores(make_experiment)
    pass_over(method, 0, 9.0)
    resumed.load_state_dict(method.state_dict())
    for epoch in (1, 2):
        (one, figures), (other, again) = (pass_over(each, epoch, -9.0) for each in (method, resumed))
        assert torch.equal(one.maps, other.maps) and figures == again and again["segmenter_alone"] == 1


def test_the_segmenter_takes_over_as_far_as_the_handover_goes(make_experiment: Any) -> None:
    """In the last pass its scores (of one channel or another) count only where there is a handover."""
    for handover in (0.0, 0.5, 1.0):
        labels = []
        for channel in (0, 1):
            method = build_with_scores(make_experiment, handover=handover)
            pass_over(method, 0, -9.0)
            labels.append(pass_over(method, LAST, -9.0, channel)[0].lesions)
        assert torch.equal(*labels) == (handover == 0)


def test_a_segmenter_that_labels_alone_uses_dataset_thresholds(make_experiment: Any) -> None:
    (one, figures), (other, plain) = (
        pass_over(build_with_scores(make_experiment, lesion_labeller=choice), 0, 9.0)
        for choice in ("auto", "dataset_threshold")
    )
    assert torch.equal(one.maps, other.maps)
    assert figures.keys() - plain.keys() == {"segmenter_alone", "tag_auroc", "localisation_gap", "local_limit"}


def test_with_local_scores_every_image_tagged_lesion_gets_both_labels(
    make_experiment: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dataset thresholds label whole images, or none, where the segmenter has learnt the tag and not the place."""
    # Half of a small area would lie within one corner, where all places tie.
    monkeypatch.setattr(tag_labellers, "IMAGE_PORTION", (1.0, 1.0))
    by_image, by_threshold = (
        pass_over(build_with_scores(make_experiment, lesion_labeller=choice), 0, -40.0)[0]
        for choice in ("auto", "dataset_threshold")
    )
    kinds = [set(image.unique().tolist()) >= {NORMAL, LESION} for image in by_image.lesions]
    assert kinds == [True] * 4
    assert not any((image == LESION).any() for image in by_threshold.lesions)
    normal = by_threshold.tags == NORMAL
    assert torch.equal(by_image.maps[normal], by_threshold.maps[normal])


# -- losses -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alone", [0.0, 1.0])
def test_the_tag_loss_on_pixels_counts_only_without_a_local_labeller(make_experiment: Any, alone: float) -> None:
    batch = one_batch(make_experiment, "tag_transfer")
    with_local, plain = (
        build(make_experiment, tag_weight=0.1, lesion_labeller=choice) for choice in ("auto", "dataset_threshold")
    )
    local_labeller(with_local).choice.segmenter_alone.fill_(alone)
    assert plain.losses("net", batch, {})["tags"] > 0
    assert "tags" not in with_local.losses("net", batch, {})


def test_a_missed_lesion_counts_only_where_the_segmenter_labels_alone(make_experiment: Any) -> None:
    batch = one_batch(make_experiment, "tag_transfer")
    assert batch.target is not None
    batch.target.tags = torch.full((len(batch.target.images),), LESION)
    method = build(make_experiment)
    with torch.no_grad():  # a segmenter that predicts no lesion
        for name, parameter in method.segmenter.named_parameters():
            if parameter.shape == (2,) and name.endswith("bias"):
                parameter[NORMAL] += 20.0
    missed = {}
    for alone in (1.0, 0.0, 1.0):  # the decision may change: a resumed run reads it from its checkpoint
        local_labeller(method).choice.segmenter_alone.fill_(alone)
        missed[alone] = method.eval().losses("net", batch, {}).get("missed")
        assert local_labeller(method).choice.alone() == bool(alone)
    assert missed[0.0] is None and missed[1.0] is not None and missed[1.0] > 0.03
    assert "missed" not in build(make_experiment, missed_weight=0.0).losses("net", batch, {})
    assert "missed" not in build(make_experiment, lesion_labeller="dataset_threshold").losses("net", batch, {})


@pytest.mark.parametrize("alone, like", [(0.0, "tags"), (1.0, "pixels")])
def test_the_loss_is_balanced_by_tag_only_where_images_are_labelled_one_by_one(
    make_experiment: Any, alone: float, like: str
) -> None:
    batch = one_batch(make_experiment, "tag_transfer")
    assert batch.target is not None
    batch.target.stored = torch.zeros_like(batch.target.images[:, 0], dtype=torch.long)
    batch.target.stored[0, :, 5:] = IGNORE  # a few pixels of one image, all of the others
    batch.target.tags = torch.tensor([LESION] + [NORMAL] * (len(batch.target.images) - 1))
    with_local = build(make_experiment, balance_by_tag=True)
    same, other = (
        build(make_experiment, balance_by_tag=like == balance, lesion_labeller="dataset_threshold")
        for balance in ("tags", "pixels")
    )
    local_labeller(with_local).choice.segmenter_alone.fill_(alone)
    for method in (same, other):
        method.segmenter.load_state_dict(with_local.segmenter.state_dict())
    loss, same_loss, other_loss = (
        each.eval().losses("net", batch, {})["segmentation_target"].item() for each in (with_local, same, other)
    )
    assert loss == pytest.approx(same_loss)
    assert loss != pytest.approx(other_loss)


def test_target_tags_weigh_less_on_s1_only_with_a_local_labeller(make_experiment: Any) -> None:
    batch = one_batch(make_experiment, "tag_transfer")
    light, full = build(make_experiment, tag_head_weight=0.1), build(make_experiment, tag_head_weight=1.0)
    without = build(make_experiment, tag_head_weight=0.1, lesion_labeller="dataset_threshold")
    for method in (full, without):
        method.segmenter.load_state_dict(light.segmenter.state_dict())
    tenth, whole, plain = (
        each.eval().losses("net", batch, {})["classification_target"].item() for each in (light, full, without)
    )
    assert whole > 0 and tenth == pytest.approx(0.1 * whole) and plain == pytest.approx(whole)
