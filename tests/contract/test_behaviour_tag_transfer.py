"""The local labeller does what it is for: tags and source masks teach a linear layer where target lesions are."""

import csv
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console
from sklearn.metrics import roc_auc_score
from torch import Tensor
from torch.nn.functional import interpolate

import endotransfer
from endotransfer.batch import IGNORE, LESION, NORMAL, PassBatch, SegOutput
from endotransfer.config import experiment_from
from endotransfer.data.phantom import write_phantom
from endotransfer.data.pipeline.decoded_images import DecodedImages, DecodedPicture
from endotransfer.data.pipeline.pass_set import PassSet
from endotransfer.engine import run as engine
from endotransfer.engine import target_pass as whole_sets
from endotransfer.engine.checkpoint import list_steps, load_latest
from endotransfer.engine.experiment_data import load_data
from endotransfer.engine.source_set import WholeSource
from endotransfer.engine.trainer import Trainer
from endotransfer.engine.training_data import load_training_data
from endotransfer.errors import ConfigError, DataError
from endotransfer.methods.resolve import method_config
from endotransfer.methods.tag_transfer import TagTransfer
from endotransfer.methods.task import Progress, TaskInfo
from endotransfer.pseudo_labels import tag_labellers
from endotransfer.pseudo_labels.logit_cache import LogitCache
from endotransfer.pseudo_labels.tag_labellers import LocalTagLabeller, ThresholdTagLabeller
from tests.contract.behaviour import one_batch

SIZE, IMAGES = 64, 160  # with far fewer the tags of the few patients are learnt by their frames
EPOCHS = 4
LAST = EPOCHS - 2  # pass of the stage that follows one epoch of warm-up
Build = Callable[..., TagTransfer]


@pytest.fixture
def build(make_experiment: Any) -> Build:
    """tag_transfer with some settings changed; `model` changes the network's."""

    def make(world: str = "tagged", model: dict[str, Any] | None = None, **settings: Any) -> TagTransfer:
        torch.manual_seed(0)
        plain = {"fill_normal": False}
        config = method_config({"name": "tag_transfer"} | plain | settings)[2]
        network = make_experiment(world, "tag_transfer").model.model_copy(update={"dropout": 0.0} | (model or {}))
        tagged = world == "tagged"
        return TagTransfer(TaskInfo(2 if tagged else 5, tagged, network, EPOCHS), config)

    return make


def local(method: TagTransfer) -> LocalTagLabeller:
    assert isinstance(method.labeller, LocalTagLabeller)
    return method.labeller


# -- what it learns ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def larger(make_experiment: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """An experiment on more and larger images."""
    folder = tmp_path_factory.mktemp("larger") / "world"
    write_phantom(folder, IMAGES, seed=1, size=SIZE, variant="lesion", processes=1)
    settings = {"batch_source": 8, "batch_target": 8}
    made = make_experiment("tagged", "tag_transfer", data=folder, **settings).model_dump(mode="json")
    made["data"]["size"] = SIZE
    return experiment_from(made)


@torch.no_grad()
def local_scores(method: TagTransfer, pictures: DecodedImages) -> Tensor:
    """[N, H, W] of all images."""
    images = torch.stack([pictures[i].image for i in range(len(pictures))]) / 255
    scores = local(method).scorer(local(method).features(images)).unsqueeze(1)
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


def test_local_labeller_ranks_the_lesions_of_target_images_that_nobody_has_drawn(larger: Any, build: Build) -> None:
    needs, experiment_data = TagTransfer.needs, load_data(larger.data, TagTransfer.needs)
    fed = load_training_data(larger, experiment_data, needs, lambda *_: None, console=Console(quiet=True))
    source = WholeSource(fed.masked, 16, True, torch.device("cpu"), torch.float32)
    drawn = DecodedImages(
        experiment_data.target, (SIZE, SIZE), experiment_data.classes, masks=True
    )  # for judging alone
    assert ranking(local_scores(build(), drawn), drawn) == 0.5  # a layer that has learnt nothing prefers no pixel
    with_tags, without = build(local_steps=100), build(local_steps=100)
    for method, tagged in ((with_tags, True), (without, False)):
        method.prepare(source, Asked(fed.pass_set, tagged=tagged))  # type: ignore[arg-type]
    scores, scores_without = (local_scores(method, drawn) for method in (with_tags, without))
    assert ranking(scores, drawn) > 0.7
    assert tag_ranking(scores, drawn) > tag_ranking(scores_without, drawn) + 0.05


class Asked:
    """A target set as `prepare` asks for it, with its tags or without."""

    def __init__(self, target: Any, *, tagged: bool) -> None:
        self.target, self.tagged, self.total = target, tagged, len(target.images)

    def after(self, batches: int) -> Iterator[PassBatch]:
        for batch in self.target.after(batches):
            yield PassBatch(batch.images, batch.tags if self.tagged else None, batch.keys)


# -- when it is used --------------------------------------------------------------------------------------------------

WITHOUT = [
    ("tagged", {"weights": None}, {}),  # features that nobody has trained
    ("untagged", {}, {}),
    ("tagged", {}, {"lesion_labeller": "dataset_threshold"}),
]


def test_with_tags_and_weights_there_is_a_local_labeller_and_the_stages_are_the_plain_ones(build: Build) -> None:
    method = build()
    assert isinstance(method.labeller, LocalTagLabeller)
    assert [stage.name for stage in method.stages()] == ["warm-up", "transfer"]
    assert sum(stage.epochs for stage in method.stages()) == EPOCHS


@pytest.mark.parametrize("world, model, settings", WITHOUT)
def test_otherwise_thresholds_label_and_there_is_nothing_to_prepare(
    build: Build, world: str, model: dict[str, Any], settings: dict[str, Any]
) -> None:
    method = build(world, model, **settings)
    assert isinstance(method.labeller, ThresholdTagLabeller) and not method.labeller.state_dict()
    assert method.labeller.for_pass(0, 0.0) is None


# -- what a pass makes of it ------------------------------------------------------------------------------------------


class Shown:
    """Eight random images of 32 pixels, every other one tagged lesion, in batches of three."""

    def __init__(self) -> None:
        self.images = torch.rand(8, 3, 32, 32, generator=torch.Generator().manual_seed(0))
        self.tags = torch.tensor([NORMAL, LESION] * 4)
        self.keys, self.size = [str(i) for i in range(8)], (32, 32)
        self.cache, self.maps = LogitCache(), torch.zeros(8, 32, 32, dtype=torch.uint8)

    def logit_cache(self, channels: int) -> LogitCache:
        return self.cache

    def without_images(self) -> Iterator[PassBatch]:
        return self.after(0)

    def after(self, batches: int) -> Iterator[PassBatch]:
        for start in range(3 * batches, 8, 3):
            part = slice(start, start + 3)
            yield PassBatch(self.images[part], self.tags[part], self.keys[part])

    def superpixels(self, keys: list[str]) -> Tensor:
        raise AssertionError("no rule asks for them")

    def store(self, keys: list[str], maps: Tensor) -> None:
        self.maps[[int(key) for key in keys]] = maps

    @property
    def lesions(self) -> Tensor:
        return self.maps[self.tags == LESION]


def pass_over(
    method: TagTransfer,
    epoch: int,
    tells: float,
    channel: int = 0,
) -> tuple[Shown, dict[str, float]]:
    """A pass in which the segmenter prefers images tagged lesion by `tells`, and in each what is bright."""
    shown = Shown()
    by_image = {float(image.sum()): tag for image, tag in zip(shown.images, shown.tags, strict=True)}

    def predict(images: Tensor) -> SegOutput:
        tags = torch.stack([by_image[float(image.sum())] for image in images])
        bright = interpolate(images, size=(4, 4), mode="bilinear", antialias=True)[:, channel]
        score = 9 * (bright - 0.5) + tells * (tags.view(-1, 1, 1) - 0.5)
        return SegOutput(torch.stack([-score / 2, score / 2], dim=1), None, bright)

    method.predict_target = predict  # type: ignore[method-assign]
    method.progress = Progress(stage="transfer", stage_epoch=epoch)
    method.eval()
    return shown, method.target_pass(shown)  # type: ignore[arg-type]


@pytest.fixture
def seeing(build: Build) -> Build:
    """Methods whose local layer has an opinion: in lesion images that of the segmenter in `pass_over`."""

    def make(**settings: Any) -> TagTransfer:
        method = build(**settings)
        if isinstance(method.labeller, LocalTagLabeller):
            torch.manual_seed(0)
            torch.nn.init.normal_(method.labeller.scorer.linear.weight)
            method.labeller.scorer.linear.weight.data.neg_()  # as drawn it is of the opposite opinion
        return method

    return make


@pytest.mark.parametrize("tells, trust", [(9.0, 1.0), (-9.0, 0.0)])
def test_trust_is_found_in_the_first_pass_and_stays(seeing: Build, tells: float, trust: float) -> None:
    method = seeing()
    _, figures = pass_over(method, 0, tells)
    assert figures["localisation_gap"] > 0, "the opinion drawn by `seeing` is not that of the segmenter any more"
    assert (figures["tag_auroc"] > 0.5) == (trust == 1)
    assert figures["segmenter_alone"] == method.state_dict()["labeller.choice.segmenter_alone"] == trust
    for epoch in (1, 2):  # what the segmenter has learnt of the tags since is no scorer of its own
        _, later = pass_over(method, epoch, -tells)
        assert later["segmenter_alone"] == local(method).choice.segmenter_alone == trust


@pytest.mark.parametrize("lesion_labeller, tells, trust", [("segmenter", -9.0, 1.0), ("local", 9.0, 0.0)])
def test_the_experiment_may_know_better_than_the_first_pass(
    seeing: Build, lesion_labeller: str, tells: float, trust: float
) -> None:
    method, judged = seeing(lesion_labeller=lesion_labeller), seeing()
    assert pass_over(judged, 0, tells)[1]["segmenter_alone"] == 1 - trust
    for epoch in (0, 1):
        assert pass_over(method, epoch, tells)[1]["segmenter_alone"] == local(method).choice.segmenter_alone == trust
    one, other = (pass_over(each, 1, tells)[0].lesions for each in (method, judged))
    assert not torch.equal(one, other)


def test_a_method_filled_from_a_checkpoint_goes_on_with_the_same_trust(seeing: Build) -> None:
    method, resumed = seeing(), seeing()
    pass_over(method, 0, 9.0)
    resumed.load_state_dict(method.state_dict())
    for epoch in (1, 2):
        (one, figures), (other, again) = (pass_over(each, epoch, -9.0) for each in (method, resumed))
        assert torch.equal(one.maps, other.maps) and figures == again and again["segmenter_alone"] == 1


def test_the_segmenter_takes_over_as_far_as_the_handover_goes(seeing: Build) -> None:
    """Untrusted from the start, its ranking (of one channel or another) counts for nothing, then for something."""
    for handover in (0.0, 0.5, 1.0):
        found = []
        for channel in (0, 1):
            method = seeing(handover=handover)
            pass_over(method, 0, -9.0)
            found.append(pass_over(method, LAST, -9.0, channel)[0].lesions)
        assert torch.equal(*found) == (handover == 0)


def test_a_segmenter_that_is_trusted_wholly_labels_by_the_thresholds_of_the_set(seeing: Build) -> None:
    with_local, alone = seeing(), seeing(lesion_labeller="dataset_threshold")
    (one, figures), (other, plain) = (pass_over(method, 0, 9.0) for method in (with_local, alone))
    assert torch.equal(one.maps, other.maps)
    assert figures.keys() - plain.keys() == {"segmenter_alone", "tag_auroc", "localisation_gap", "local_limit"}


def test_every_image_tagged_lesion_gets_both_labels_where_the_segmenter_is_not_trusted(
    seeing: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The set's thresholds paint whole images, or none, where the segmenter knows the tag and not the place."""
    # Half of a small area would lie within one corner, where all places tie.
    monkeypatch.setattr(tag_labellers, "IMAGE_PORTION", (1.0, 1.0))
    by_image, by_set = (pass_over(seeing(lesion_labeller=rule), 0, -40.0)[0] for rule in ("auto", "dataset_threshold"))
    kinds = [set(image.unique().tolist()) >= {NORMAL, LESION} for image in by_image.lesions]
    assert kinds == [True] * 4
    assert not any((image == LESION).any() for image in by_set.lesions)
    normal = by_set.tags == NORMAL
    assert torch.equal(by_image.maps[normal], by_set.maps[normal])


@pytest.mark.parametrize("trust", [0.0, 1.0])
def test_the_loss_that_lets_the_network_choose_counts_only_without_local(
    build: Build, make_experiment: Any, trust: float
) -> None:
    batch = one_batch(make_experiment, "tag_transfer")
    method, plain = build(tag_weight=0.1), build(tag_weight=0.1, lesion_labeller="dataset_threshold")
    local(method).choice.segmenter_alone.fill_(trust)
    with_local, alone = (each.losses("net", batch, {}) for each in (method, plain))
    assert alone["tags"] > 0
    assert "tags" not in with_local


def test_a_lesion_of_which_nothing_is_painted_counts_only_where_the_segmenter_is_trusted(
    build: Build, make_experiment: Any
) -> None:
    batch = one_batch(make_experiment, "tag_transfer")
    assert batch.target is not None
    batch.target.tags = torch.full((len(batch.target.images),), LESION)
    method = build()
    with torch.no_grad():  # a segmenter that paints nothing
        for name, parameter in method.segmenter.named_parameters():
            if parameter.shape == (2,) and name.endswith("bias"):
                parameter[NORMAL] += 20.0
    found = []
    for trust in (0.0, 1.0):
        local(method).choice.segmenter_alone.fill_(trust)
        found.append(method.eval().losses("net", batch, {})["missed"].item())
    assert found[0] == 0 and found[1] > 0.03
    assert "missed" not in build(missed_weight=0.0).losses("net", batch, {})
    assert "missed" not in build(lesion_labeller="dataset_threshold").losses("net", batch, {})


@pytest.mark.parametrize("trust, like", [(0.0, "tags"), (1.0, "pixels")])
def test_each_image_has_its_say_only_where_images_are_labelled_one_by_one(
    build: Build, make_experiment: Any, trust: float, like: str
) -> None:
    batch = one_batch(make_experiment, "tag_transfer")
    assert batch.target is not None
    batch.target.stored = torch.zeros_like(batch.target.images[:, 0], dtype=torch.long)
    batch.target.stored[0, :, 5:] = IGNORE  # a few pixels of one image, all of the others
    batch.target.tags = torch.tensor([LESION] + [NORMAL] * (len(batch.target.images) - 1))
    with_local, plain = (
        build(balance_by_tag=True),
        build(balance_by_tag=like == "tags", lesion_labeller="dataset_threshold"),
    )
    other = build(balance_by_tag=like == "pixels", lesion_labeller="dataset_threshold")
    local(with_local).choice.segmenter_alone.fill_(trust)
    for method in (plain, other):
        method.segmenter.load_state_dict(with_local.segmenter.state_dict())
    mine, theirs, others = (
        each.eval().losses("net", batch, {})["segmentation_target"].item() for each in (with_local, plain, other)
    )
    assert mine == pytest.approx(theirs)
    assert mine != pytest.approx(others)


def test_s1_weighs_less_on_target_tags_where_there_is_local_labeller_and_only_there(
    build: Build, make_experiment: Any
) -> None:
    batch = one_batch(make_experiment, "tag_transfer")
    light, full = build(tag_head_weight=0.1), build(tag_head_weight=1.0)
    without = build(tag_head_weight=0.1, lesion_labeller="dataset_threshold")
    for method in (full, without):
        method.segmenter.load_state_dict(light.segmenter.state_dict())
    tenth, whole, alone = (
        each.eval().losses("net", batch, {})["classification_target"].item() for each in (light, full, without)
    )
    assert whole > 0 and tenth == pytest.approx(0.1 * whole) and alone == pytest.approx(whole)


# -- in a run ---------------------------------------------------------------------------------------------------------


def test_a_run_teaches_local_labeller_before_its_first_step_and_never_again(
    make_experiment: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared, prepare = [], TagTransfer.prepare

    def counted(self: TagTransfer, *sets: Any) -> None:
        prepared.append(self.progress.step)
        prepare(self, *sets)

    monkeypatch.setattr(TagTransfer, "prepare", counted)
    settings = {"epochs": 3, "steps_per_epoch": 2, "checkpoint_every": 2}
    experiment, run = make_experiment("tagged", "tag_transfer", **settings), tmp_path / "run"
    engine.train(experiment, run)
    assert prepared == [0]
    shutil.rmtree(run / "checkpoints" / f"step-{list_steps(run / 'checkpoints')[-1]:08d}")
    (run / "results.json").unlink()
    engine.train(experiment, run, resume=True)
    assert prepared == [0]
    epochs: dict[str, set[int]] = {}
    trusts = set()
    with (run / "metrics.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            epochs.setdefault(row["name"], set()).add(int(row["epoch"]))
            if row["name"] == "pass/segmenter_alone":
                trusts.add(float(row["value"]))
    assert epochs["term/segmentation_source"] == {0, 1, 2}
    assert epochs["pass/segmenter_alone"] == epochs["pass/local_limit"] == {1, 2}
    weights = load_latest(run / "checkpoints")[0].tensors["weights"]
    assert list(trusts) == pytest.approx([weights["labeller.choice.segmenter_alone"].item()])
    assert (weights["labeller.scorer.linear.weight"] != 0).any()


def test_a_run_says_once_whom_it_trusts_and_keeps_it(make_experiment: Any, tmp_path: Path) -> None:
    console, run = Console(record=True, width=400), tmp_path / "run"
    settings = {"epochs": 3, "steps_per_epoch": 2}  # two passes
    results = engine.train(make_experiment("tagged", "tag_transfer", **settings), run, console=console)
    assert results is not None
    (remark,) = results["remarks"]
    assert console.export_text().count(remark) == 1
    assert json.loads(json.dumps(results.to_dict())) == json.loads((run / "results.json").read_text())
    assert results["lesion_labeller"]["used"] in ("segmenter", "local")
    assert remark[1:] in (run / "model" / "README.md").read_text()
    (run / "results.json").unlink()
    again = engine.train(make_experiment("tagged", "tag_transfer", **settings), run, resume=True)
    assert again is not None and again["lesion_labeller"] == results["lesion_labeller"]


@pytest.mark.parametrize("world, model, settings", WITHOUT[:2])
def test_who_has_no_local_labeller_has_nothing_to_say_of_it_and_cannot_ask_for_it(
    build: Build, world: str, model: dict[str, Any], settings: dict[str, Any]
) -> None:
    assert build(world, model, **settings, lesion_labeller="segmenter").findings() == {}
    with pytest.raises(ConfigError, match="needs tags and pretrained weights"):
        build(world, model, **settings, lesion_labeller="local")


def test_local_labeller_that_cannot_be_trusted_is_told_before_the_first_step(
    make_experiment: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make_experiment("tagged", "tag_transfer").model_dump(mode="json")
    experiment = experiment_from(made | {"method": made["method"] | {"lesion_labeller": "local"}})
    assert engine.train(experiment, tmp_path / "run") is not None
    assert endotransfer.load(tmp_path / "run") is not None  # a model needs no local labels any more
    monkeypatch.setattr(Trainer, "_train_step", lambda *_: pytest.fail("a step was trained"))
    untagged = PassSet.without_images
    monkeypatch.setattr(PassSet, "without_images", lambda self: (replace(b, tags=None) for b in untagged(self)))
    with pytest.raises(DataError, match="no target image is tagged normal"):
        engine.train(experiment, tmp_path / "other")


def test_a_run_that_was_stopped_in_its_first_pass_goes_on_with_what_it_was_taught(
    make_experiment: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large pass saves before it begins: here before the first step, with the local layer trained already."""
    monkeypatch.setattr(whole_sets, "LARGE", 0)
    made = make_experiment("tagged", "tag_transfer", epochs=2, steps_per_epoch=2).model_dump(mode="json")
    experiment, run = experiment_from(made | {"method": made["method"] | {"warmup_epochs": 0}}), tmp_path / "run"

    def killed(*_: Any) -> None:
        raise RuntimeError("killed")

    def begun(self: TagTransfer, target: Any) -> None:
        target.logit_cache(3)
        killed()

    with monkeypatch.context() as dying:
        dying.setattr(TagTransfer, "target_pass", begun)
        with pytest.raises(RuntimeError, match="killed"):
            engine.train(experiment, run)
    assert list_steps(run / "checkpoints") == [0]
    monkeypatch.setattr(TagTransfer, "prepare", killed)  # a second time is not called for
    engine.train(experiment, run, resume=True)
    assert (load_latest(run / "checkpoints")[0].tensors["weights"]["labeller.scorer.linear.weight"] != 0).any()
