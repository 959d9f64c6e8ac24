"""A pass on a GPU: wherever its logits wait, the same labels; nobody waits for the host but at its end."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from endotransfer.batch import PassBatch, SegOutput
from endotransfer.data.pipeline.host_copy import HostCopy
from endotransfer.engine.map_store import MapStore
from endotransfer.errors import TrainingDiverged
from endotransfer.pseudo_labels import logit_cache
from endotransfer.pseudo_labels.assign import assign_clear
from endotransfer.pseudo_labels.label_target_set import _pixels_by_class, label_target_set
from endotransfer.pseudo_labels.logit_cache import LogitCache
from tests.pseudo_labels.memory_target_set import MemoryTargetSet

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


class OnGpu(MemoryTargetSet):
    def __init__(self, folder: Path, cache: LogitCache) -> None:
        super().__init__()
        self.images, self.cache, self.written = self.images.cuda(), cache, MapStore(folder / "maps")
        self.written.open_pass(1)

    def store(self, keys: list[str], maps: Tensor) -> None:
        super().store(keys, maps.clone())
        self.written.store(keys, maps)


def predict(images: Tensor) -> SegOutput:
    pooled = torch.nn.functional.avg_pool2d(images, 4)
    return SegOutput(30 * (pooled[:, :2] - pooled[:, 1:]), None, pooled)


def labels_of(target: OnGpu) -> Tensor:
    label_target_set(predict, target, 2, 0.3, device="cuda")
    target.written.flush()
    target.written.close_pass(1)
    read = torch.stack([torch.from_numpy(target.written.read(1, key)) for key in target.keys])
    assert torch.equal(read, target.maps.cpu())
    return read


def test_labels_are_the_same_wherever_the_logits_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = labels_of(OnGpu(tmp_path / "gpu", LogitCache()))
    assert len(set(kept.flatten().tolist())) == 3
    assert torch.equal(kept, labels_of(OnGpu(tmp_path / "disk", LogitCache(tmp_path / "logits"))))
    monkeypatch.setattr(logit_cache, "GPU_SHARE", 0.0)
    assert torch.equal(kept, labels_of(OnGpu(tmp_path / "host", LogitCache())))


def test_a_batch_that_is_not_finite_is_named_and_never_kept(tmp_path: Path) -> None:
    target = OnGpu(tmp_path, LogitCache(tmp_path / "logits"))
    target.images[3] = torch.nan  # of the second batch of three
    with pytest.raises(TrainingDiverged, match="set/2, set/3"):
        label_target_set(predict, target, 2, 0.3, device="cuda")
    assert target.cache.whole == 1


def test_nothing_in_a_pass_makes_the_host_wait(tmp_path: Path) -> None:
    target = OnGpu(tmp_path, LogitCache())
    logits, limits = torch.randn(2, 2, 16, 16, device="cuda"), torch.ones(2, device="cuda")
    batch = PassBatch(target.images[:2], None, target.keys[:2])
    HostCopy(logits)  # the first pinned block is allocated, which waits
    torch.cuda.set_sync_debug_mode("error")
    try:
        labels = assign_clear(logits, limits)
        counted = _pixels_by_class(labels, 2)
        target.cache.put(0, logits)
        target.written.store(batch.keys, labels)
        copy = HostCopy(labels)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert torch.equal(copy.get(), labels.cpu()) and target.cache.get(0) is logits
    assert torch.equal(counted.cpu(), torch.bincount(labels.cpu().flatten().long(), minlength=256)[:2])
