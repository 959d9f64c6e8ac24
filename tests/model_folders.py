"""Model folders for tests: a tiny untrained network, saved as training would save it."""

from pathlib import Path
from typing import Literal

import torch

from endotransfer.config import ModelConfig
from endotransfer.data.folders.classes import Classes
from endotransfer.engine.model_folder import save_model
from endotransfer.methods import TaskInfo, method_config
from endotransfer.results import Results

TASKS = {"tagged": (("normal", "lesion"), True), "untagged": (("a", "b", "c", "d", "e"), False)}


def write_model(
    folder: Path,
    task: str = "tagged",
    shape: tuple[int, int] = (48, 64),
    norm: Literal["batch", "group", "per_domain"] = "group",
) -> Path:
    """Weights are drawn, and those of the classifier enlarged: probabilities are neither all alike nor all sure."""
    names, tags = TASKS[task]
    torch.manual_seed(3)
    model = ModelConfig(
        backbone="test_resnet", pretrained=False, norm=norm, multi_grid=None, aspp_rates=(1, 2, 3), aspp_channels=16
    )
    cls, preset, config = method_config({"name": "source_only"})
    method = cls(TaskInfo(len(names), tags, model, epochs=1), config)
    with torch.no_grad():
        method.segmenter.pixel_classifier.weight *= 20  # type: ignore[operator, union-attr]
    settings = {"name": cls.name, "preset": preset}
    results = Results(method=cls.name)
    save_model(folder, method, Classes(names), shape, settings, results, {"source with mask": 4})
    return folder
