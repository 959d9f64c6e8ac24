"""`model.start_from`: training that begins with a trained model instead of a backbone from ImageNet."""

from collections import Counter
from pathlib import Path

from torch import nn

from endotransfer.config import WEIGHT_FILES, Experiment, ModelConfig
from endotransfer.engine.model_info import ModelInfo
from endotransfer.engine.read_model import read_model_info, read_model_weights
from endotransfer.errors import CheckpointError, ConfigError
from endotransfer.methods import Method
from endotransfer.models.segmenters.segmenter import Segmenter, SegmenterSpec
from endotransfer.pretrained import locate_model

# What may begin anew: the start knew other classes, or no tags.
HEADS = ("pixel_classifier.", "refinement.", "tag_head.")


def as_its_start(experiment: Experiment) -> Experiment:
    """The same experiment, its network as `model.start_from` has it wherever the experiment says nothing."""
    model = experiment.model
    if model.start_from is None:
        return experiment
    _, info = _read(model.start_from)
    recorded = info.network.settings["model"]
    assert isinstance(recorded, dict)
    of_start = {key: value for key, value in recorded.items() if key not in ("pretrained", "start_from", *WEIGHT_FILES)}
    own = {key: getattr(model, key) for key in model.model_fields_set}
    return experiment.model_copy(update={"model": ModelConfig.model_validate(of_start | own)})


def load_start(method: Method, start_from: str | None) -> Counter[str]:
    """Put the weights of `start_from` into the method's segmenter and its teacher; returns what is to be told."""
    if start_from is None:
        return Counter()
    folder, info = _read(start_from)
    segmenter: nn.Module = method.segmenter
    if not isinstance(segmenter, Segmenter):
        raise ConfigError(f"method {method.name} has a network of its own and cannot start from {start_from}.")
    weights = read_model_weights(folder / "weights.safetensors", info.sha256)
    own = segmenter.state_dict()
    fresh = [name for name, value in own.items() if name not in weights or weights[name].shape != value.shape]
    strange = [name for name in fresh if not name.startswith(HEADS)]
    if strange:
        raise ConfigError(
            f"model.start_from: {start_from} is another network ('{strange[0]}' differs); leave out what `model` says "
            "of the network, and it is as the start has it."
        )
    segmenter.load_state_dict({name: own[name] if name in fresh else weights[name] for name in own})
    if method.teacher is not None:
        method.teacher.update(segmenter, 0)  # at the first step the mean is the student itself
    heads = sorted({name.partition(".")[0] for name in fresh})
    anew = f"; {', '.join(heads)} begin anew" if heads else ""
    return Counter({f"the network starts from {start_from}{anew}": len(own) - len(fresh)})


def _read(start_from: str) -> tuple[Path, ModelInfo]:
    """The model folder and what it says of itself."""
    place = locate_model(start_from, "model.start_from")
    folder = place / "model" if (place / "model").is_dir() else place
    info = read_model_info(folder)
    if info.network.kind != SegmenterSpec.kind:
        raise CheckpointError(
            f"model.start_from: {start_from} is a network of the kind '{info.network.kind}', from which no training "
            "can start; name a model that another method trained."
        )
    return folder, info
