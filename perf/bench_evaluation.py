"""Evaluation against bare inference on the same files: reading, forward, up-sampling and argmax, nothing counted."""

import tempfile
from pathlib import Path

import torch

from endotransfer.data.folders.read_folder import read_folder
from endotransfer.data.pipeline.host_copy import HostCopy
from endotransfer.engine.evaluate import evaluate_samples
from endotransfer.engine.evaluation_images import read_batches
from endotransfer.inference import logits_at, to_batch
from endotransfer.methods import TaskInfo, method_config
from perf.bench_step import small_or_real
from perf.generated_folder import write_folder
from perf.timing import alternating_seconds, emit

BATCH = 16


def main(options: list[str]) -> None:
    cuda = torch.cuda.is_available()
    images, side = (400, 512) if cuda else (48, 256)
    device = torch.device("cuda" if cuda else "cpu")
    setting = small_or_real()
    size = (setting.size, setting.size)
    cls, _, config = method_config({"name": "source_only"})
    network = cls(TaskInfo(2, True, setting.model, epochs=1), config).predictor().to(device).eval()
    with tempfile.TemporaryDirectory() as name:
        folder = read_folder(write_folder(Path(name) / "test", images, side, 0))
        samples, classes = folder.samples, folder.classes

        def ours() -> None:
            with torch.autocast("cuda", torch.bfloat16, enabled=cuda):
                evaluate_samples(network, samples, classes, size, device, batch=BATCH)

        @torch.inference_mode()
        def rival() -> None:
            found = []
            for batch in read_batches(samples, classes, size, BATCH):
                with torch.autocast("cuda", torch.bfloat16, enabled=cuda):
                    output = network(to_batch([one.input for one in batch], device))
                places = [logits_at(output, index, one.size).max(0).indices for index, one in enumerate(batch)]
                found += [HostCopy(place.to(torch.uint8)) for place in places]
            for copy in found:
                copy.get()

        @torch.inference_mode()
        def reading() -> None:
            for _ in read_batches(samples, classes, size, BATCH):
                pass

        seconds = alternating_seconds({"ours": ours, "rival": rival, "reading": reading}, rounds=2, each=1)
    emit(
        "evaluation against bare inference on the same files", seconds["ours"] / seconds["rival"],
        at_most=1.15 if cuda else None, images_a_second=images / seconds["ours"],
        rival_images_a_second=images / seconds["rival"],
        reading_alone_images_a_second=images / seconds["reading"], images=images, side=side,
        device="cuda" if cuda else "cpu", rival="read, forward, up-sample, argmax",
    )  # fmt: skip


if __name__ == "__main__":
    main([])
