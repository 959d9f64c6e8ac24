"""Model folders for tests: a tiny untrained network, saved as training would save it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import torch

from endotransfer.config import ModelConfig
from endotransfer.data.folders.classes import Classes
from endotransfer.engine.model_folder import save_model
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
    save_model(folder, method, Classes(names), shape, settings, results, {"source with mask": 4})
    return folder


def rewrite_config(folder: Path, change: Callable[[Any], Any]) -> None:
    """Change config.json of a model folder and give it the checksum of what it holds then."""
    path = folder / "config.json"
    changed = change(json.loads(path.read_text()))
    path.write_text(sealed(changed) if isinstance(changed, dict) else json.dumps(changed))
