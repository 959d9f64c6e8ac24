"""The experiment: data, model, method, training.  Unknown keys are refused; defaults are the paper's, if it has any."""

from collections.abc import Iterable
from typing import Self

from pydantic import Field, field_validator, model_validator

from endotransfer.config.data_config import DataConfig
from endotransfer.config.evaluation_config import EvaluationConfig
from endotransfer.config.model_config import ModelConfig
from endotransfer.config.strict import LARGEST_SEED, RawConfig, Strict
from endotransfer.config.training_config import TrainingConfig
from endotransfer.errors import ConfigError, shown
from endotransfer.paths import AnyPath, as_path


class Experiment(Strict):
    """One experiment is one YAML file; this is its type.  `method` is checked by the method's own class."""

    name: str = "experiment"
    seed: int = Field(default=0, ge=0, le=LARGEST_SEED)
    data: DataConfig
    model: ModelConfig = ModelConfig()
    method: RawConfig = Field(default_factory=lambda: {"name": "tag_transfer"})
    training: TrainingConfig = TrainingConfig()
    evaluation: EvaluationConfig = EvaluationConfig()

    @field_validator("method", mode="before")
    @classmethod
    def _plain_method(cls, value: object) -> object:
        return {"name": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _method_has_a_name(self) -> Self:
        if not isinstance(self.method.get("name"), str):
            raise ValueError("method.name is missing; `endotransfer methods` lists what there is")
        return self

    @model_validator(mode="after")
    def _crops_fit(self) -> Self:
        crop, data = self.training.augment.crop, self.data
        if crop is None and data.source_shape != data.shape:
            raise ValueError("data.source_size differs from data.size; set training.augment.crop to make them equal")
        for shape in (data.source_shape, data.shape):
            if crop is not None and (crop[0] > shape[0] or crop[1] > shape[1]):
                raise ValueError(f"training.augment.crop {list(crop)} is larger than images of {list(shape)}; lower it")
        if self.training.batch_normals and not data.tags:
            raise ValueError("training.batch_normals needs the target's tags, and data.tags is false; leave one out")
        if self.evaluation.window is not None and data.tags:
            raise ValueError("evaluation.window needs `data.tags: false`, since a tag is about the whole image")
        return self

    @classmethod
    def quick(
        cls,
        source: AnyPath,
        target: AnyPath,
        size: int | tuple[int, int] = 256,
        method: str | RawConfig = "tag_transfer",
        **settings: object,
    ) -> "Experiment":
        """An experiment on two folders: `source` has masks, `target` has tags.

        `settings` are other parts of an experiment: `seed=1, training={"epochs": 5}, model={"backbone": "resnet18"}`.
        """
        from endotransfer.config.experiment_file import experiment_from

        folders = {"source": as_path(source, "source").absolute(), "target": as_path(target, "target").absolute()}
        for name, folder in folders.items():
            if not folder.is_dir():
                raise ConfigError(f"there is no folder {folder}; check `{name}`.")
        further = settings.pop("data", {})
        if not isinstance(further, dict):
            raise ConfigError(f"data is {shown(further)}; write a mapping such as {{'tags': False}}.")
        raw = {"data": {**folders, "size": size, **further}, "method": method, **settings}
        return experiment_from(raw, "Experiment.quick")

    def with_settings(self, settings: Iterable[str]) -> "Experiment":
        """The same experiment with `a.b=c` changed, as `--set` does it."""
        from endotransfer.config.experiment_file import experiment_from, overridden

        said = self.model_dump(mode="json", exclude_unset=True)  # what is unset may be settled later
        return experiment_from(overridden(said, list(settings)))
