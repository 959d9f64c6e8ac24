"""An experiment's samples as images in memory, role by role.  Target images are opened without their masks."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console

from endotransfer.batch import Sample
from endotransfer.config import DataConfig
from endotransfer.data.folders.reviewed_targets import as_indices
from endotransfer.data.pipeline.decode_cache import DecodeCache
from endotransfer.data.pipeline.decoded_images import DecodedImages
from endotransfer.data.pipeline.pixel_cache import PixelCache
from endotransfer.engine.experiment_data import ExperimentData
from endotransfer.engine.progress_bar import progress_bar
from endotransfer.methods.task import Needs


@dataclass(frozen=True)
class DecodedRoles:
    """None: the experiment has no such images."""

    masked: DecodedImages  # source images with masks
    tagged: DecodedImages | None  # source images with tags only
    target: DecodedImages | None
    reviewed: DecodedImages | None  # target images with a mask that a person confirmed
    normals: DecodedImages | None  # target images tagged normal, where they count as masks

    @property
    def notes(self) -> Counter[str]:
        """What was converted while reading, and how often."""
        roles = (self.masked, self.tagged, self.target, self.reviewed, self.normals)
        return sum((images.notes for images in roles if images), Counter[str]())


def decode_roles(
    data: DataConfig, roles: ExperimentData, needs: Needs, decoder: DecodeCache, console: Console, *,
    rank: int, world_size: int,
) -> DecodedRoles:  # fmt: skip
    """Decode every role once, into memory where it fits."""
    source_shape = data.shape if needs.masks_of_target else data.source_shape
    keep_contradictions = data.contradictions == "keep"
    disk = None if data.cache == "never" else PixelCache()

    def decode(
        samples: Sequence[Sample], what: str, shape: tuple[int, int], *, masks: bool, reviewed: bool = False
    ) -> DecodedImages | None:
        if not samples:
            return None
        with progress_bar(console, shown=rank == 0) as bar:
            task = bar.add_task(f"reading {what}", total=len(samples), note="")
            return decoder.decoded_images(
                samples, shape, as_indices(roles.classes) if reviewed else roles.classes, masks=masks,
                # A person's mask goes before the tag, so that the two may differ.
                keep_contradictions=keep_contradictions or reviewed,
                cache=data.cache, memory_share=0.5 / world_size, disk=disk,
                progress=lambda done, total: bar.update(task, completed=done),
            )  # fmt: skip

    masked = decode(roles.masked, "source masks", source_shape, masks=True)
    assert masked is not None  # `load_data` refuses a source without masks
    return DecodedRoles(
        masked,
        decode(roles.tagged, "source tags", source_shape, masks=False),
        decode(roles.target, "target", data.shape, masks=False),
        decode(roles.reviewed, "reviewed masks", data.shape, masks=True, reviewed=True),
        decode(roles.normals, "normal target images", data.shape, masks=False),
    )
