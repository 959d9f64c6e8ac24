"""What an experiment reads from disk: who is source, target and test, which classes and whether tags there are."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from endotransfer.batch import NORMAL, UNKNOWN_TAG, Sample
from endotransfer.config import DataConfig, FolderConfig
from endotransfer.data.folders.classes import Classes
from endotransfer.data.folders.domain import Domain, FolderPart, distinct_names, read_domain
from endotransfer.data.folders.reviewed_targets import reviewed_samples
from endotransfer.errors import ConfigError, DataError
from endotransfer.methods.task import Needs


@dataclass(frozen=True)
class ExperimentData:
    """Samples by role.  `masked` and `tagged` together are the source; only `masked` and `test` may open a mask."""

    classes: Classes
    tags: bool
    masked: list[Sample]
    tagged: list[Sample]
    target: list[Sample]
    test: list[Sample]
    test_classes: Classes  # the same names; what a value in a mask means is each folder's own affair

    unused: int = 0  # source images with neither mask nor tag
    reviewed: list[Sample] = field(default_factory=list)  # target images with a mask that a person confirmed
    normals: list[Sample] = field(default_factory=list)  # target images tagged normal, where they count as masks
    notes: Counter[str] = field(default_factory=Counter)  # what was left out of the folders, and how many files

    @property
    def source_images(self) -> int:
        return len(self.masked) + len(self.tagged)


def load_data(data: DataConfig, needs: Needs, *, normals: bool = False) -> ExperimentData:
    """Read the folders.  An upper bound (`needs.masks_of_target`) takes the target folders as its labelled source.

    `normals`: images tagged normal are wanted for themselves, by whatever method.
    """
    if (needs.masks_of_target or needs.target) and not data.target:
        raise ConfigError("data.target is empty, and this method needs a target; name its folders.")
    # One set of names for all roles: two folders called `train` must not share the keys of their images.
    names = distinct_names(folder.path for folder in (*data.source, *data.target, *(data.test or ())))
    target = read_role(data.target, "train", names, classes=data.classes)
    undivided = tuple(folder.model_copy(update={"split": None}) for folder in data.target)
    tested = undivided if data.test is None else data.test
    test = read_role(tested, "test", names, strict=data.test is None, classes=data.classes)
    source = target if needs.masks_of_target else read_role(data.source, None, names, classes=data.classes)
    _same_classes(source, target, test)
    if not data.tags:
        source, target, test = (domain and _untagged(domain) for domain in (source, target, test))
    assert source is not None
    masked = [sample for sample in source.samples if sample.mask is not None]
    tagged = [sample for sample in source.samples if sample.mask is None and sample.tag != UNKNOWN_TAG]
    if not masked:
        raise DataError("no source image has a mask; put masks into the masks/ folder of at least one source folder.")
    target_samples = target.samples if target and needs.target else []
    test_samples = test.samples if test else []
    _no_overlap([*source.samples, *target_samples], test_samples)
    tags = data.tags and any(sample.tag != UNKNOWN_TAG for sample in [*source.samples, *target_samples])
    if needs.tags and not any(sample.tag != UNKNOWN_TAG for sample in target_samples):
        raise ConfigError("this method needs image tags in the target; add a label column to its labels.csv.")
    test_classes = test.classes if test else source.classes
    tagged = tagged if tags else []
    unused = len(source.samples) - len(masked) - len(tagged)
    return ExperimentData(
        source.classes, tags, masked, tagged, target_samples, test_samples, test_classes, unused,
        _reviewed(data, target), _normals(target) if normals else [], _left_out(source, target, test),
    )  # fmt: skip


def _reviewed(data: DataConfig, target: Domain | None) -> list[Sample]:
    """Never a test image: what is measured on stays unseen, whoever has drawn on it."""
    if data.reviewed == "ignore":
        return []
    found = reviewed_samples(target.samples) if target else []
    if not found:
        raise DataError(
            "data.reviewed is `use` but no target training image has a reviewed mask; confirm some with "
            "`endotransfer serve RUN --images FOLDER`, or write `reviewed: ignore`."
        )
    return found


def _normals(target: Domain | None) -> list[Sample]:
    """The target's training images tagged normal: not one of their pixels is a lesion, so no mask need be opened."""
    found = [sample for sample in target.samples if sample.tag == NORMAL] if target else []
    if not found:
        raise DataError(
            "training.batch_normals asks for target training images tagged normal and there are none; tag some, or "
            "leave it out."
        )
    return found


def read_role(
    folders: Sequence[FolderConfig],
    default_split: str | None,
    names: Mapping[Path, str] | None = None,
    *,
    strict: bool = False,
    classes: str | None = None,
) -> Domain | None:
    """A domain.  Without a `split` of its own a folder gives its `default_split`, or all of it where it has no splits
    (`strict`: nothing, since what is not divided cannot be both trained and tested on).  For `test` stands `val` where
    no image is in `test`: some sets keep the labels of their test images to themselves."""
    if not folders:
        return None
    parts = [FolderPart(folder.path, folder.split, folder.where, folder.layout) for folder in folders]
    domain = read_domain(parts, names, classes)
    if default_split is None:
        return domain
    chosen = [folder.path for folder in folders if folder.split is not None and not strict]
    splits = {sample.split for sample in domain.samples}
    split = "val" if default_split == "test" and "test" not in splits and "val" in splits else default_split
    accepted = {split} if strict else {split, ""}
    chosen_samples = [s for s in domain.samples if s.split in accepted or any(map(s.image.is_relative_to, chosen))]
    if not chosen_samples:
        raise DataError(
            f"no image of {', '.join(str(folder.path) for folder in folders)} is in the split '{default_split}'; "
            "make one with `endotransfer data split`, or name other folders in data.test."
        )
    return replace(domain, samples=chosen_samples)


def _untagged(domain: Domain) -> Domain:
    """The same images as if nobody had ever tagged one."""
    return replace(domain, samples=[replace(sample, tag=UNKNOWN_TAG) for sample in domain.samples])


def _left_out(*domains: Domain | None) -> Counter[str]:
    """A folder that has two roles says it once."""
    return Counter({note.what: len(note.files) for domain in domains if domain for note in domain.notes})


def _no_overlap(training: Sequence[Sample], test: Sequence[Sample]) -> None:
    seen = {sample.image.resolve() for sample in training}
    for sample in test:
        if sample.image.resolve() in seen:
            raise DataError(
                f"{sample.image} is both a training and a test image; give its training entry `split: train`."
            )


def _same_classes(*domains: Domain | None) -> None:
    first, *others = [domain for domain in domains if domain is not None]
    for other in others:
        if other.classes.names != first.classes.names:
            raise DataError(
                f"source classes {list(first.classes.names)} and target classes {list(other.classes.names)} differ; "
                "give both the same classes.yaml, or say in data.classes what both are read as."
            )
