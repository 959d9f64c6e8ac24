"""CAM-WSSS: weakly supervised segmentation from class activation maps, with source masks beside them.  After SEAM
(Wang, Zhang, Kan, Shan, Chen, "Self-Supervised Equivariant Attention Mechanism for Weakly Supervised Semantic
Segmentation", CVPR 2020) and ToCo (Ru, Zheng, Zhan, Du, "Token Contrast for Weakly-Supervised Semantic Segmentation",
CVPR 2023).  Where S1 finds what makes it say lesion, target images are labelled, and S2 learns these labels.

Faithful: maps of the classifier averaged over scales 0.5, 1, 1.5 and both orientations, rectified and normalised to the
image's range; pixel-adaptive refinement by colour and position; lesion above 0.7, normal below 0.25, nothing between;
both sides count half in the loss of these labels, its weight 0.1; a first stretch of training without labels.
`equivariance`: SEAM's regularisation (the map of a rescaled image is the rescaled map) and classification at both
scales.
Designed here: source masks train S2 as in every system; S1 tells lesion from normal with two logits, whose difference
is the map; images tagged normal are labelled normal all over, and those where S1 finds nothing are left unlabelled;
labels hold for an epoch; the refinement's weights sum to 1, its neighbours are no further than an eighth of the image,
and it comes before normalisation, because small lesions would lose their labels otherwise (on the phantom 85 % of the
images tagged lesion did).  SEAM's scale is 0.5 in place of 0.3, as our images are smaller, and it starts after the
warm-up with weight 0.1 in place of 1: maps that are the same spot of the border in every image are equivariant too, and
with weight 1 that is what S1 finds.
Left out: SEAM's pixel correlation module and its loss, ToCo's token contrast (both change the network) and its
regularisation by a dense energy.
"""

from typing import ClassVar

from pydantic import Field
from torch import Tensor, nn

from endotransfer.batch import Batch, SegOutput, TargetBatch
from endotransfer.config import RawConfig, Strict
from endotransfer.errors import ConfigError
from endotransfer.losses.balanced_segmentation import segmentation_by_side
from endotransfer.losses.cross_entropy import classification
from endotransfer.losses.equivariance import equivariance_loss
from endotransfer.losses.supervised_terms import source_terms, target_tag_term
from endotransfer.methods.base import Memo, Method
from endotransfer.methods.task import Needs, Stage
from endotransfer.models.activation_maps import activation_over_scales, lesion_activation, rescaled
from endotransfer.models.segmenters.segmenter import Segmenter
from endotransfer.pseudo_labels.label_by_activation import label_by_activation
from endotransfer.pseudo_labels.target_set import TargetSet

SCALES = (0.5, 1.0, 1.5)  # of the images in a pass
SMALLER = 0.5  # of the image whose map must be the same


class CamWsssConfig(Strict):
    warmup_epochs: int = Field(1, ge=0)  # S1 learns the tags of both domains, S2 the source's masks
    high: float = Field(0.7, ge=0, le=1)  # of the map: lesion above
    low: float = Field(0.25, ge=0, le=1)  # and normal below
    refine: bool = True  # by colour and position
    label_weight: float = Field(0.1, ge=0)  # of the loss on labels of the target
    equivariance: float = Field(0.0, ge=0)  # weight of SEAM's regularisation; 0: none


class CamWsss(Method):
    name = "cam_wsss"
    summary = "class activation maps of the tag classifier label the target; source masks beside them"
    presets: ClassVar[dict[str, RawConfig]] = {"default": {}, "equivariance": {"equivariance": 0.1}}
    needs = Needs(tags=True)
    records_steps = True
    Config: ClassVar[type[Strict]] = CamWsssConfig
    config: CamWsssConfig
    segmenter: Segmenter

    def networks(self) -> dict[str, nn.Module]:
        config = self.config
        if self.task.classes != 2:
            raise ConfigError(
                f"method cam_wsss tells lesion from normal, and the data have {self.task.classes} classes; "
                "choose another method, or give classes.yaml two."
            )
        if config.low > config.high:
            raise ConfigError(f"method.low ({config.low}) is above method.high ({config.high}); exchange them.")
        return super().networks()

    def stages(self) -> list[Stage]:
        warmup = min(self.config.warmup_epochs, self.task.epochs - 1)
        labelled = Stage("labels", self.task.epochs - warmup, target_pass=True)
        return [Stage("warm-up", warmup), labelled] if warmup else [labelled]

    def target_pass(self, target: TargetSet) -> dict[str, float]:
        def activation(images: Tensor) -> Tensor:
            return activation_over_scales(self._activation, images, SCALES)

        config = self.config
        return label_by_activation(
            activation, target, config.low, config.high, refine=config.refine, device=self.device
        )  # fmt: skip

    def losses(self, phase: str, batch: Batch, memo: Memo) -> dict[str, Tensor]:
        source, target = batch.source, batch.target
        assert source is not None and target is not None
        if not self.config.equivariance or target.stored is None:  # warm-up: maps that show nothing yet
            on_source, on_target = self.forward_both(source.images, target.images)
            terms = target_tag_term(target, on_target)
        else:
            on_source = self.segmenter(source.images, domain="source")
            on_target, terms = self._equivariant(target)
        terms |= source_terms(source, on_source)
        if target.stored is not None:
            by_side = segmentation_by_side(on_target.at(target.images.shape[-2:]), target.stored)
            terms["segmentation_target"] = self.config.label_weight * by_side
        return terms

    def _equivariant(self, target: TargetBatch) -> tuple[SegOutput, dict[str, Tensor]]:
        """What the segmenter makes of target images, and S1's terms on them and on smaller copies."""
        maps, small = self._maps(target.images), self._maps(rescaled(target.images, SMALLER))[-1]
        output, head, whole = self.segmenter.heads(maps), self.segmenter.tag_head, maps[-1]
        assert head is not None and output.tag_logits is not None and target.tags is not None
        tags_of_both = [classification(logits, target.tags) for logits in (output.tag_logits, head(small))]
        apart = equivariance_loss(lesion_activation(head, whole), lesion_activation(head, small), target.tags)
        return output, {
            "classification_target": 0.5 * (tags_of_both[0] + tags_of_both[1]),
            "equivariance": self.config.equivariance * apart,
        }

    def _activation(self, images: Tensor) -> Tensor:
        """S1's map [B, h, w] of target images [B, 3, H, W]."""
        assert self.segmenter.tag_head is not None
        return lesion_activation(self.segmenter.tag_head, self._maps(images)[-1])

    def _maps(self, images: Tensor) -> list[Tensor]:
        """The backbone's maps of target images; S1 sees the last."""
        self.segmenter.enter("target")
        return self.segmenter.stages(images)
