"""What a click is worth: a scripted expert on images with masks, by clicks and by strokes of the brush.

`python -m perf.click_bench FOLDER --prompt-model DIR [--model RUN] [--images 100] [--seed 0]`, from the root of the
repository; FOLDER in the native layout.  Every row starts from an empty mask and has ten clicks or strokes an image;
those that never reach a bound count as ten.  The encoder takes seconds of a CPU an image, once.
"""

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from endotransfer.data.folders.read_folder import read_folder
from endotransfer.data.read.read_image import read_image
from endotransfer.predict.predictor import load
from endotransfer.predict.prompts.embedding_store import EmbeddingStore
from endotransfer.predict.prompts.grow_regions import GrownImage
from endotransfer.predict.prompts.model_hint import model_hint
from endotransfer.predict.prompts.prompt import Point, Prompt
from endotransfer.predict.prompts.prompt_model import PromptModel
from endotransfer.predict.prompts.prompted_image import EmbeddedImage, PromptedImage
from perf.scripted_expert import Area, actions_to, correct, next_click, next_stroke

MOST = 10
Pixels = np.ndarray
Prepare = Callable[[Pixels], PromptedImage]


def clicking(image: PromptedImage, truth: Area, seconds: list[float]) -> list[float]:
    points: list[Point] = []

    def answer(mask: Area) -> Area | None:
        point = next_click(mask, truth)
        if point is None:
            return None
        points.append(point)
        began = time.perf_counter()
        found = image.segment(Prompt(tuple(points)))
        seconds.append(time.perf_counter() - began)
        return found

    return correct(truth, answer, MOST)


def summarise(name: str, scores: list[list[float]], seconds: list[float]) -> dict[str, object]:
    means = {
        f"dice_{count}": round(float(np.mean([one[count - 1] for one in scores])), 4) for count in (1, 2, 3, 5, 10)
    }
    to = {f"to_{bound}": round(float(np.mean([actions_to(bound, one) for one in scores])), 2) for bound in (0.85, 0.9)}
    never = {f"never_{bound}": sum(max(one) < bound for one in scores) for bound in (0.85, 0.9)}
    wait = {"seconds": round(statistics.median(seconds), 3)} if seconds else {}
    return {"by": name, "images": len(scores), **means, **to, **never, **wait}


def ways(prompt_model: Path | None, run: Path | None) -> dict[str, Prepare]:
    found: dict[str, Prepare] = {"super-pixels": GrownImage}
    if run is not None:
        model = load(run, "cpu")

        found["super-pixels and the model"] = lambda pixels: GrownImage(pixels, model_hint(model, pixels))
        found["and its features"] = lambda pixels: GrownImage(pixels, model_hint(model, pixels, features=True))
    if prompt_model is not None:
        network = PromptModel(prompt_model)
        store = EmbeddingStore(network)
        found["promptable model"] = lambda pixels: EmbeddedImage(network, store.get(pixels), pixels.shape[:2])
    return found


def main(folder: Path, prompt_model: Path | None, run: Path | None, images: int, seed: int) -> None:
    samples = [one for one in read_folder(folder).samples if one.mask is not None]
    samples = random.Random(seed).sample(sorted(samples, key=lambda one: one.key), min(images, len(samples)))
    known = [(read_image(one.image), read_image(one.mask)[..., 0] > 127) for one in samples if one.mask is not None]
    known = [(pixels, truth) for pixels, truth in known if truth.any()]
    strokes = [correct(truth, partial(next_stroke, truth=truth), MOST) for _, truth in known]
    print(json.dumps(summarise("strokes", strokes, [])), flush=True)
    for name, prepare in ways(prompt_model, run).items():
        seconds: list[float] = []
        scores = [clicking(prepare(pixels), truth, seconds) for pixels, truth in known]
        print(json.dumps(summarise(name, scores, seconds)), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--prompt-model", type=Path)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--images", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    main(asked.folder, asked.prompt_model, asked.model, asked.images, asked.seed)
