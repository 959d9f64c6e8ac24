"""Whoever names a network of a hub, as a process of its own: huggingface_hub reads its settings when it is imported.

Prints one JSON object: name -> the network's name, its files and what it finds, or why not.
"""

import json
import sys

import numpy as np

from endotransfer.errors import EndotransferError
from endotransfer.predict.prompts.prompt import Point, Prompt
from endotransfer.predict.prompts.prompt_files import find_prompt_files
from endotransfer.predict.prompts.prompt_model import PromptModel
from endotransfer.predict.prompts.prompted_image import EmbeddedImage


def attempt(named: str) -> list[str]:
    pixels = np.full((20, 40, 3), 20, np.uint8)
    pixels[:, 20:] = 220
    try:
        files, model = find_prompt_files(named), PromptModel(named, threads=1)
        area = EmbeddedImage(model, model.embed(pixels), (20, 40)).segment(Prompt((Point(30, 10),)))
        found = "bright" if area[:, 21:].all() and not area[:, :19].any() else "something else"
        return [files.name, files.encoder.name, files.decoder.name, found]
    except EndotransferError as reason:
        return [f"{type(reason).__name__}: {reason}"]


if __name__ == "__main__":
    print(json.dumps({named: attempt(named) for named in sys.argv[1:]}))
