"""How long a training step waits for its images, as a share of the step.

Generated images through the real batch source, with the workers that training would use, beside a device that is busy
for as long as a step of the paper's size takes it.
"""

import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from endotransfer.config import AugmentConfig
from endotransfer.data.folders.read_folder import read_folder
from endotransfer.data.phantom import write_phantom
from endotransfer.data.pipeline.batch_source import BatchSource, Share
from endotransfer.data.pipeline.decoded_images import DecodedImages
from endotransfer.data.pipeline.stream import Stream
from endotransfer.data.pipeline.to_device import to_device
from endotransfer.engine.training_data import worker_count
from perf.timing import emit

STEP_SECONDS = 0.040  # of a GPU on 4 + 4 images of 256 px; see bench_step
IMAGES, SIZE, STEPS = 48, 256, 100


def main(options: list[str]) -> None:
    augment = AugmentConfig(scale=(1.0, 1.5), colour=0.2)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    with tempfile.TemporaryDirectory() as name:
        shares: dict[str, Share] = {}
        for role, folder in zip(
            ("masked", "target"), write_phantom(Path(name) / "p", IMAGES, 0, size=SIZE), strict=True
        ):
            samples = [sample for sample in read_folder(folder).samples if role == "target" or sample.mask]
            images = DecodedImages(samples, (SIZE, SIZE), read_folder(folder).classes, masks=role == "masked")
            shares[role] = Share(Stream(role, images, seed=0, augment=augment), 4)
        batch_source = BatchSource(masked=shares["masked"], target=shares["target"], workers=worker_count(None, 1))
        waited = _wait_for(batch_source, device)
        batch_source.close()
    share = waited / (waited + STEPS * STEP_SECONDS)
    facts: dict[str, Any] = {"device": device, "workers": worker_count(None, 1), "seconds_a_step": waited / STEPS}
    emit("wait for data, share of a step", share, step_seconds=STEP_SECONDS, size=SIZE, images=8, **facts)


def _wait_for(batch_source: BatchSource, device: str) -> float:
    """Seconds spent in asking for batches while the device (asleep here) works on the previous one."""
    waited = 0.0
    batches = batch_source.batches(0, STEPS + 5, pass_epoch=None)
    for step in range(STEPS + 5):
        began = time.perf_counter()
        to_device(next(batches), device)
        if step >= 5:  # the first batches wait for the workers to start
            waited += time.perf_counter() - began
        time.sleep(STEP_SECONDS)
    return waited


if __name__ == "__main__":
    main([])
