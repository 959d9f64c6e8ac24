"""Requests that mean harm against the viewer: no 5xx, no growth, no silence."""

import io
import random
import re
import time
from pathlib import Path

import numpy as np
from PIL import Image

from endotransfer.engine.run import train
from endotransfer.testing.tiny_tasks import tiny_experiment, write_backbone, write_tasks
from fuzz.outcome import FuzzOutcome
from tests.serve.hostile import Hostile
from tests.serve.test_hostile import GROWTH, settle, status_of, warm_up
from tests.served import serving


def fuzz_requests(folder: Path, share: float, draw: random.Random) -> list[FuzzOutcome]:
    """At `share` 1: two thousand requests."""
    outcome = FuzzOutcome("hostile requests")
    tasks, backbone = write_tasks(folder / "tasks"), write_backbone(folder / "backbone.safetensors")
    train(tiny_experiment("tagged", tasks["tagged"], backbone, "source_only", epochs=1), folder / "run")
    content = io.BytesIO()
    noise = np.random.default_rng(0).integers(0, 255, (48, 48, 3), np.uint8)
    Image.fromarray(noise).save(content, "PNG")
    with serving([folder / "run"], tasks["tagged"] / "capsule", folder / "home") as server:
        settle(server)
        image = re.findall(rb'"id":"([0-9a-f]+)"', server.get("/api/images")[1])[0].decode()
        hostile = Hostile(draw.randrange(10**6), server.port, image, content.getvalue())
        warm_up(server, hostile)
        before, began = server.resident(), time.monotonic()
        for request, whole in hostile.requests(round(2000 * share)):
            _ask(outcome, server.port, request, whole=whole)
        outcome.seconds = time.monotonic() - began
        if server.get("/health")[0] != 200:
            outcome.problems.append("the viewer does not answer afterwards")
        if (grown := server.resident() - before) > GROWTH:
            outcome.problems.append(f"memory grew by {grown / 1e6:.0f} MB")
    return [outcome]


def _ask(outcome: FuzzOutcome, port: int, request: bytes, *, whole: bool) -> None:
    outcome.tried += 1
    try:
        status = status_of(port, request, whole=whole)
    except (AssertionError, OSError) as reason:
        outcome.problems.append(f"{request[:60]!r}: {reason}")
        return
    if status is not None and status >= 500:
        outcome.problems.append(f"{request[:60]!r}: status {status}")
    outcome.refused += status is None or status >= 400
    outcome.unharmed += status is not None and status < 400
