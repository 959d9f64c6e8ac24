"""DACS: Tranheden, Olsson, Pinto, Svensson, "DACS: Domain Adaptation via Cross-domain Mixed Sampling", WACV 2021.
A mean teacher labels target images on the fly; pixels of source images, with their labels, are pasted onto them, and
the network learns from the mixture.

Faithful: ClassMix across domains, half of a source mask's classes being pasted; hard labels of the teacher (momentum
0.99); labels of the target's part weigh as much as the share of pixels of which the teacher is sure (tau 0.968), those
of the source's part 1; colour jitter and blur on mixed images alone; the source's own loss beside it, with weight 1.
Designed here: of two classes half is one, normal or lesion by the toss of a coin: a lesion comes to a target image, or
target tissue to the place of a lesion.  A source image that shows one class would be pasted whole and hide the target,
so nothing of it is pasted.  The share is taken image by image, where the authors' code takes it over the batch; jitter
and blur are those of `training.augment`, whose hue turns less; noise is a function of image and step, so that two
processes draw what one draws; the source image is found by position in the batch, as streams are shuffled already; the
teacher predicts.  Where images carry tags, S1 learns from those of whole target images, since a mixture's tag is
another; `tags` also labels images tagged normal as normal everywhere, with weight 1, for a fair comparison with methods
that do: a lesion pasted onto one is then known exactly.
"""

from dataclasses import replace
from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor, nn

from endotransfer.batch import NORMAL, Batch, SegOutput, SourceBatch, TargetBatch
from endotransfer.config import RawConfig, Strict
from endotransfer.losses.cross_entropy import segmentation
from endotransfer.losses.supervised_terms import source_terms, target_tag_term
from endotransfer.methods.base import Memo, Method, split_output
from endotransfer.models.mean_teacher import MeanTeacher
from endotransfer.models.segmenters.segmenter import Segmenter
from endotransfer.pseudo_labels.mixed_lesson import BLUR, COLOUR, SURE, Lesson, mixed, strongly, taught
from endotransfer.pseudo_labels.rules import veto


class DacsConfig(Strict):
    teacher_momentum: float = Field(0.99, ge=0, lt=1)
    threshold: float = Field(SURE, ge=0, le=1)  # of a probability that counts as sure
    mixed_weight: float = Field(1.0, gt=0)
    colour: float = Field(COLOUR, ge=0, le=1)  # strength of the jitter
    blur: float = Field(BLUR, ge=0, le=1)  # its probability
    fill_normal: bool = False  # images tagged normal are labelled normal everywhere


class Dacs(Method):
    name = "dacs"
    summary = "DACS: source classes pasted onto target images, which a mean teacher labels"
    presets: ClassVar[dict[str, RawConfig]] = {"default": {}, "tags": {"fill_normal": True}}
    Config: ClassVar[type[Strict]] = DacsConfig
    config: DacsConfig
    segmenter: Segmenter
    teacher: MeanTeacher

    def networks(self) -> dict[str, nn.Module]:
        segmenter = self.plain_segmenter()
        return {"segmenter": segmenter, "teacher": MeanTeacher(segmenter, self.config.teacher_momentum)}

    def losses(self, phase: str, batch: Batch, memo: Memo) -> dict[str, Tensor]:
        source, target = batch.source, batch.target
        assert source is not None and target is not None
        lessons = self.lessons(source, self.labelled(target), target.keys)
        shown = [lesson.images for lesson in lessons.values()]
        whole = [] if target.tags is None else [target.images]  # for S1
        on_source, on_rest = self.forward_both(source.images, torch.cat(shown + whole))
        terms = self.source_part(source, on_source)
        for name, lesson in lessons.items():
            output, on_rest = split_output(on_rest, len(lesson.images))
            logits = output.at(lesson.images.shape[-2:])
            terms[f"segmentation_{name}"] = segmentation(logits, lesson.labels, weights=lesson.weights)
        return terms | target_tag_term(target, on_rest)

    # -- what MIC and DAFormer add to ---------------------------------------------------------------------------

    def source_part(self, source: SourceBatch, output: SegOutput) -> dict[str, Tensor]:
        """The terms of the source's own images."""
        return source_terms(source, output)

    def lessons(self, source: SourceBatch, labelled: Lesson, keys: list[str]) -> dict[str, Lesson]:
        """What is learnt from the target's images, which the teacher has `labelled`, beside their tags."""
        return {"mixed": self.mixed(source, labelled, keys).times(self.config.mixed_weight)}

    # -----------------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def labelled(self, target: TargetBatch) -> Lesson:
        """The target's images as the teacher labels them; with `fill_normal`, what is tagged normal is known."""
        said = self.predict_target(target.images).at(target.images.shape[-2:])
        lesson = taught(target.images, said, self.config.threshold)
        if not self.config.fill_normal or target.tags is None:
            return lesson
        known = (target.tags == NORMAL).view(-1, 1, 1)
        labels = veto(lesson.labels, target.tags, fill_normal=True)
        return replace(lesson, labels=labels, weights=lesson.weights.where(~known, 1.0))

    @torch.no_grad()
    def mixed(self, source: SourceBatch, labelled: Lesson, keys: list[str]) -> Lesson:
        """Each target image under the chosen classes of a source image."""
        mixture = mixed(source, labelled, keys, self.progress.step, self.task.classes)
        return replace(mixture, images=self.strongly(mixture.images, "mixed", keys))

    def strongly(self, images: Tensor, kind: str, keys: list[str]) -> Tensor:
        """Images under strong augmentation: other numbers for every kind, step and image."""
        return strongly(images, keys, self.progress.step, kind, self.config.colour, self.config.blur)
