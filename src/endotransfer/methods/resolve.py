"""From an experiment's `method` section to a method's class and its checked settings.  Not a method itself."""

from pydantic import ValidationError

from endotransfer.config import Experiment, ModelConfig, RawConfig, Strict, explain
from endotransfer.errors import ConfigError
from endotransfer.methods.base import METHODS, Method
from endotransfer.methods.former_names import with_present_names
from endotransfer.methods.task import TaskInfo
from endotransfer.models.backbones.families import settled_model, settled_training


def method_config(settings: RawConfig) -> tuple[type[Method], str, Strict]:
    """`{name, preset, variant, field: value...}` of an experiment -> the class, the preset's name, its checked config.

    A variant is laid over the preset, and fields over both.
    """
    fields = with_present_names(settings)
    cls = METHODS.get(fields.pop("name", None))
    preset = fields.pop("preset", None)
    preset = next(iter(cls.presets)) if preset is None else preset
    variant = fields.pop("variant", None)
    values = _named("preset", preset, cls.presets, cls)
    values |= {} if variant is None else _named("variant", variant, cls.variants, cls)
    try:
        return cls, str(preset), cls.Config.model_validate(values | fields)
    except ValidationError as reason:
        raise ConfigError(f"method {cls.name}: {'; '.join(explain(reason, cls.Config))}") from None


def resolved(experiment: Experiment) -> Experiment:
    """The same experiment with every field of its method, and all that goes by the backbone's family, written out, so
    that a later default changes nothing."""
    cls, preset, config = method_config(experiment.method)
    settings = {"name": cls.name, "preset": preset, **config.model_dump(mode="json")}
    if (variant := experiment.method.get("variant")) is not None:
        settings["variant"] = variant
    model, training = experiment.model, experiment.training
    settled = {"model": settled_model(model), "training": settled_training(training, model.backbone)}
    return experiment.model_copy(update=settled | {"method": settings})


def task_info(experiment: Experiment, classes: int, tags: bool) -> TaskInfo:
    """What a method may know of `experiment`, whose data have so many classes, and tags or none."""
    training = experiment.training
    return TaskInfo(classes, tags, experiment.model, training.epochs, training.mean_teacher)


def is_proposed(name: str) -> bool:
    """Whether the method of that name is one of this project's own."""
    return name in METHODS and METHODS.get(name).proposed


def _named(kind: str, name: object, known: dict[str, RawConfig], cls: type[Method]) -> RawConfig:
    if not isinstance(name, str) or name not in known:
        raise ConfigError(f"method {cls.name} has no {kind} '{name}'; it has {', '.join(known) or 'none'}.")
    return dict(known[name])


def check_needs(cls: type[Method], model: ModelConfig) -> None:
    """Refuse a model that cannot give the method what it needs.  (What it needs of the data, the data tell.)"""
    if cls.needs.live_statistics and model.norm in ("frozen", "group"):
        raise ConfigError(
            f"method {cls.name} needs batch statistics that move, and model.norm is {model.norm}; "
            "write `model.norm: batch` or `per_domain`."
        )
