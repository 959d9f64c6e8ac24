"""One batch for each training step, from up to five streams."""

from collections.abc import Iterator

from endotransfer.batch import Batch, SourceBatch, TargetBatch
from endotransfer.data.pipeline.loader_processes import close_loader, make_loader, results
from endotransfer.data.pipeline.step_dataset import Share, Step, StepDataset
from endotransfer.errors import ConfigError

__all__ = ["BatchSource", "Share", "check_shares"]


class BatchSource:
    """Batches by number.  Step s takes positions s b to (s + 1) b - 1 of each stream, b its share of a batch.

    A batch depends on its step and on nothing before it, so a run resumed at step s continues as if it had never
    stopped.  Batches hold bytes; `to_device` converts them to floats.
    """

    def __init__(
        self,
        *,
        masked: Share | None = None,
        tag_only: Share | None = None,
        target: Share | None = None,
        reviewed: Share | None = None,
        normals: Share | None = None,
        tags: bool = True,
        workers: int = 0,
    ) -> None:
        if any(share is not None and share.stream.images.masks for share in (target, normals)):
            raise ConfigError("the target stream was opened with masks; target training masks may not be read.")
        shares = {
            "masked": masked, "tag-only": tag_only, "target": target, "reviewed": reviewed, "normals": normals,
        }  # fmt: skip
        self.shares = {name: share for name, share in shares.items() if share is not None and share.images > 0}
        self.tags = tags
        self._plan: list[Step] = []
        self._loader = make_loader(StepDataset(self.shares, tags), self._plan, workers)

    def batches(
        self,
        first_step: int,
        last_step: int,
        *,
        rank: int = 0,
        world_size: int = 1,
        pass_epoch: int | None = 0,
        use_target: bool = True,
    ) -> Iterator[Batch]:
        """The batches of steps `first_step` to `last_step` - 1 for process `rank` of `world_size`.

        One loader iterator for each call, so that nothing is prefetched from beyond `last_step`, where a
        target pass may store new maps.  A second call ends the first.
        """
        check_shares(self.shares, world_size)
        steps = range(first_step, last_step)
        return self._batches([Step(number, rank, world_size, pass_epoch, use_target) for number in steps])

    def _batches(self, steps: list[Step]) -> Iterator[Batch]:
        self._plan[:] = steps
        for parts in results(self._loader):
            yield Batch(
                SourceBatch(**parts["source"]) if "source" in parts else None,
                TargetBatch(**parts["target"]) if "target" in parts else None,
                SourceBatch(**parts["reviewed"]) if "reviewed" in parts else None,
                TargetBatch(**parts["normals"]) if "normals" in parts else None,
            )

    def close(self) -> None:
        """End the loader processes; a later call of `batches` starts new ones."""
        close_loader(self._loader)


def check_shares(shares: dict[str, Share], world_size: int) -> None:
    """Refuse a batch that `world_size` processes cannot divide evenly."""
    for name, share in shares.items():
        if share.images % world_size:
            what = f"{share.images} {name} images in a batch cannot be shared by {world_size} processes"
            raise ConfigError(f"{what}; make their number a multiple of {world_size}.")
