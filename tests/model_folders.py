"""Model folders for tests: a tiny untrained network, saved as training would save it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch.nn.functional import interpolate

from endotransfer.batch import SegOutput
from endotransfer.config import ModelConfig
from endotransfer.data.folders.classes import Classes
from endotransfer.engine.model_folder import save_model
from endotransfer.familiarity.familiarity import FEWEST, Familiarity, fit_familiarity
from endotransfer.familiarity.image_signs import image_signs
from endotransfer.inference import pooled
from endotransfer.methods import TaskInfo, method_config
from endotransfer.results import Results
from endotransfer.sealed_json import sealed

TASKS = {"tagged": (("normal", "lesion"), True), "untagged": (("a", "b", "c", "d", "e"), False)}


def write_model(
    folder: Path,
    task: str = "tagged",
    shape: tuple[int, int] = (48, 64),
    norm: Literal["batch", "group", "per_domain"] = "group",
    backbone: str = "test_resnet",
    *,
    familiarity: bool = True,
) -> Path:
    """Weights are drawn, and those of the classifier enlarged: probabilities are neither all alike nor all sure."""
    names, tags = TASKS[task]
    torch.manual_seed(3)
    model = ModelConfig(
        backbone=backbone, pretrained=False, norm=norm, multi_grid=None, aspp_rates=(1, 2, 3), aspp_channels=16
    )
    cls, preset, config = method_config({"name": "source_only"})
    method = cls(TaskInfo(len(names), tags, model, epochs=1), config)
    with torch.no_grad():
        method.segmenter.pixel_classifier.weight *= 20  # type: ignore[operator, union-attr]
    settings = {"name": cls.name, "preset": preset}
    results = Results(method=cls.name)
    usual = familiarity_of(method.segmenter, shape) if familiarity else None
    counts = {"source with mask": 4}
    save_model(folder, method, Classes(names), shape, settings, results, counts, familiarity=usual)
    return folder


@torch.inference_mode()
def familiarity_of(network: Callable[[torch.Tensor], SegOutput], shape: tuple[int, int]) -> Familiarity:
    """Fitted to coloured clouds."""
    clouds = torch.rand(FEWEST, 3, 4, 5, generator=torch.Generator().manual_seed(0))
    images = (255 * interpolate(clouds, size=shape, mode="bicubic").clamp(0, 1)).round()
    features = pooled(network(images / 255).features).flatten(1).double().numpy()
    pixels = images.byte().permute(0, 2, 3, 1).numpy()
    signs = np.stack([image_signs(one, shape) for one in pixels])
    return fit_familiarity(signs, features, list(map(str, range(FEWEST))), shape)


def rewrite_config(folder: Path, change: Callable[[Any], Any]) -> None:
    """Change config.json of a model folder and give it the checksum of what it holds then."""
    path = folder / "config.json"
    changed = change(json.loads(path.read_text()))
    path.write_text(sealed(changed) if isinstance(changed, dict) else json.dumps(changed))
