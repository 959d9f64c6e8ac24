"""The experiment's configuration, one file a section.  Import from `endotransfer.config` itself, not its files."""

from endotransfer.config.aliases import RENAMED, current_key, rename_keys, tell_renamed
from endotransfer.config.data_config import DataConfig, FolderConfig, SuperpixelConfig
from endotransfer.config.evaluation_config import EvaluationConfig
from endotransfer.config.experiment import Experiment
from endotransfer.config.experiment_file import (
    as_yaml,
    experiment_from,
    overridden,
    read_experiment,
    read_mapping,
    resolve_paths,
)
from endotransfer.config.model_config import WEIGHT_FILES, ModelConfig
from endotransfer.config.strict import LARGEST_SEED, RawConfig, Strict
from endotransfer.config.training_config import AugmentConfig, TrainingConfig
from endotransfer.config.validation_errors import explain

__all__ = [
    "LARGEST_SEED",
    "RENAMED",
    "WEIGHT_FILES",
    "AugmentConfig",
    "DataConfig",
    "EvaluationConfig",
    "Experiment",
    "FolderConfig",
    "ModelConfig",
    "RawConfig",
    "Strict",
    "SuperpixelConfig",
    "TrainingConfig",
    "as_yaml",
    "current_key",
    "experiment_from",
    "explain",
    "overridden",
    "read_experiment",
    "read_mapping",
    "rename_keys",
    "resolve_paths",
    "tell_renamed",
]
