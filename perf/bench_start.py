"""From the command to the first step with 4,000 images, and where the seconds go; first with empty caches, then again.

`python -m perf start 400` takes fewer images; each of source and target gets half of them, of 512 px.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
import yaml

from perf.generated_folder import write_folder
from perf.timing import emit

IMAGES, SIDE, SECONDS = 4000, 512, 10


def main(options: list[str]) -> None:
    images = int(options[0]) if options else IMAGES
    cuda = torch.cuda.is_available()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for place, domain in enumerate(("source", "target")):
            write_folder(folder / domain, images // 2, SIDE, place, masks=domain == "source")
        experiment = {
            "seed": 0,
            "data": {"source": [str(folder / "source")], "target": [str(folder / "target")], "size": 256, "test": []},
            "model": {"backbone": "resnet50" if cuda else "test_resnet", "pretrained": False, "norm": "group"}
            | ({} if cuda else {"multi_grid": None, "aspp_rates": [1, 2, 3]}),
            "method": {"name": "tag_transfer"},
            "training": {"batch_source": 8, "batch_target": 8, "epochs": 1, "loggers": []},
        }
        (folder / "experiment.yaml").write_text(yaml.safe_dump(experiment))
        for run, caches in enumerate(("empty", "filled")):
            parts = first_step(folder / "experiment.yaml", folder / f"run-{run}", folder / "cache")
            emit(
                f"command to first step, {images} images of {SIDE} px, caches {caches}, seconds",
                parts.pop("first_step"), at_most=SECONDS,
                number_of_cores=os.cpu_count(), device="cuda" if cuda else "cpu", **parts,
            )  # fmt: skip


def first_step(experiment: Path, out: Path, cache: Path) -> dict[str, float]:
    environment = {**os.environ, "ENDOTRANSFER_CACHE": str(cache), "PERF_SPAWNED": str(time.time())}
    command = [sys.executable, "-m", "perf.start_driver", str(experiment), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        sys.exit(done.stderr or done.stdout)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
