"""The viewer killed in mid-save while two reviewers write to it at once: no decision is lost, no mask is torn.

`python -m perf.server_kills [--kills 200] [--seed 0]`, from the root of the repository.  Both reviewers decide on the
same few images as the page does, by HTTP, as fast as they are answered; each decision's mask holds one value, that of
its author.  At a random moment the server is killed (SIGKILL), and the next one begins on what it left.  Whatever it
confirmed must be on record, with the right author; every mask must be whole.
"""

import argparse
import io
import json
import os
import random
import signal
import socket
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import numpy as np
from PIL import Image

from endotransfer.data.folders.review_files import read_record
from endotransfer.data.folders.reviewed import read_version_mask
from endotransfer.engine.run import train
from endotransfer.label_values import IGNORE
from endotransfer.serve.start import serve
from endotransfer.testing.tiny_tasks import tiny_experiment, write_backbone, write_tasks
from fuzz.kills import Forked
from tests.served import answers

IMAGES, STARTING = 3, 300  # images that are fought over; seconds that a start may take on a busy machine
VALUES = {"Ada": 1, "Grace": IGNORE}
OWN = {"X-Endotransfer": "page"}


@dataclass
class Found:
    """What the reviewers saw: confirmed decisions by image and number, refusals, saves that were cut off."""

    confirmed: dict[tuple[str, int], str] = field(default_factory=dict)
    refused: int = 0
    cut_off: int = 0
    problems: list[str] = field(default_factory=list)


def mask_of(who: str, side: int) -> bytes:
    content = io.BytesIO()
    Image.fromarray(np.full((side, side), VALUES[who], np.uint8)).save(content, "PNG")
    return content.getvalue()


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def review_for_ever(port: int, who: str, draw: random.Random, found: Found) -> None:
    """Decide on one image or another until the server is gone."""
    saving = False
    try:
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}/api", headers=OWN, timeout=60) as client:
            rows = client.get("images").json()["images"][:IMAGES]
            mask = mask_of(who, client.get(f"images/{rows[0]['id']}").json()["shown"][0])
            known = {row["id"]: row["revision"] for row in rows}
            while True:
                row, saving = draw.choice(rows), True
                image, before = row["id"], known[row["id"]]
                said = client.put(
                    f"images/{image}/review", headers={"If-Match": f'"{before}"'}, files={"mask": mask},
                    data={"review": json.dumps({"decision": "corrected", "who": who})},
                )  # fmt: skip
                saving, known[image] = False, said.json()["revision"]
                if said.status_code == 200:
                    found.confirmed[row["name"], before + 1] = who
                else:
                    assert said.status_code == 412, said.text
                    found.refused += 1
    except httpx2.TransportError:
        found.cut_off += saving
    except Exception as problem:
        found.problems.append(f"{who}: {problem!r}")


def one_kill(run: Path, images: Path, log: Path, draw: random.Random, found: Found) -> None:
    port = free_port()
    server = Forked(lambda: serve([run], images, port=port, browser=False), log)
    limit = time.monotonic() + STARTING
    while not answers(port):
        assert time.monotonic() < limit, f"the viewer does not start: {log.read_text()[-300:]}"
        time.sleep(0.02)
    before = len(found.confirmed)
    people = [
        threading.Thread(target=review_for_ever, args=(port, who, random.Random(draw.random()), found))
        for who in VALUES
    ]
    for person in people:
        person.start()
    while len(found.confirmed) == before and any(person.is_alive() for person in people):
        time.sleep(0.005)  # from the first save on
    time.sleep(draw.uniform(0, 0.3))
    os.kill(server.pid, signal.SIGKILL)
    os.waitpid(server.pid, 0)
    for person in people:
        person.join()
    assert not found.problems, found.problems
    assert len(found.confirmed) > before, "nothing was saved before the kill"


def check(images: Path, names: list[str], found: Found) -> int:
    """The decisions on record; each whole and by its author, and every confirmed one among them."""
    total = 0
    for name in names:
        versions = read_record(images, name).versions
        total += len(versions)
        by_number = {version.number: version.who for version in versions}
        for (image, number), who in found.confirmed.items():
            assert image != name or by_number.get(number) == who, f"{name}: decision {number} of {who} is lost"
        for version in versions:
            mask = read_version_mask(images, name, version, 2)
            assert (mask == VALUES[version.who]).all(), f"{name}: the mask of decision {version.number} is torn"
    return total


def kill_servers(run: Path, images: Path, log: Path, kills: int, seed: int = 0) -> tuple[Found, int]:
    """What the reviewers saw, and how many decisions are on record; after each kill all of them are looked at."""
    draw, found, total = random.Random(seed), Found(), 0
    names = sorted(path.stem for path in (images / "images").iterdir())[:IMAGES]
    for _ in range(kills):
        one_kill(run, images, log, draw, found)
        total = check(images, names, found)
    return found, total


def main(kills: int, seed: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        os.environ["ENDOTRANSFER_CACHE"] = str(folder / "cache")
        tasks = write_tasks(folder / "tasks")
        experiment = tiny_experiment("tagged", tasks["tagged"], write_backbone(folder / "weights"), "source_only")
        train(experiment, folder / "run")
        found, total = kill_servers(folder / "run", tasks["tagged"] / "capsule", folder / "log", kills, seed)
        print(
            f"{kills} servers killed under two reviewers, {found.cut_off} saves cut off: {len(found.confirmed)} "
            f"decisions confirmed, {found.refused} refused for a newer one, {total} on record, each whole"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    main(asked.kills, asked.seed)
