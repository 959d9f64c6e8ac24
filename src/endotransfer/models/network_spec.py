"""How a network was built, in a form that JSON holds: a saved model is rebuilt from it, without the method behind it.

Every network that a method predicts with has a `spec`.  A class of settings is registered by its `kind`; only what is
registered is ever built, so that a model folder from elsewhere cannot make Python import a module of its choice.
"""

from importlib.metadata import packages_distributions
from typing import Annotated, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, JsonValue
from torch import nn

from endotransfer.config import ModelConfig, Strict
from endotransfer.errors import CheckpointError, ConfigError
from endotransfer.registry import Registry, load_plugins

NETWORKS: Registry[type["NetworkSpec"]] = Registry("network")


def _without_weights(model: ModelConfig) -> ModelConfig:
    return model.model_copy(update={"pretrained": False, "weights": None, "region_weights": None, "start_from": None})


Architecture = Annotated[ModelConfig, AfterValidator(_without_weights)]  # the model section, whatever it started from


class NetworkSpec(Strict):
    """Settings of one kind of network.  Subclassing with a `kind` registers it."""

    kind: ClassVar[str]

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: object) -> None:
        if "kind" in cls.__dict__:
            NETWORKS.add(cls.kind, cls)

    def build(self) -> nn.Module:
        """The network, its weights still to be loaded."""
        raise NotImplementedError


class SavedNetwork(BaseModel):
    """`network` of config.json."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: str
    package: str  # what to install where the kind is not known
    settings: dict[str, JsonValue]


def spec_of(network: nn.Module, used_by: str) -> NetworkSpec:
    """The spec of a network; `used_by` names its owner in the message where there is none."""
    spec = getattr(network, "spec", None)
    if isinstance(spec, NetworkSpec) and spec.kind in NETWORKS:
        return spec
    raise ConfigError(
        f"{used_by} predicts with a {type(network).__name__}, which could not be loaded again; "
        "give it an attribute `spec`, a `NetworkSpec` with a `kind` of its own."
    )


def saved_network(spec: NetworkSpec) -> SavedNetwork:
    return SavedNetwork(kind=spec.kind, package=package_of(type(spec)), settings=spec.model_dump(mode="json"))


def rebuild(saved: SavedNetwork) -> nn.Module:
    """The network that `saved` describes, without weights.  Raises what pydantic and torch say of wrong settings."""
    if saved.kind not in NETWORKS:
        load_plugins("endotransfer.networks", "endotransfer.methods")  # what is installed, not what the file names
    if saved.kind not in NETWORKS:
        raise CheckpointError(
            f"the model's network '{saved.kind}' comes from the package '{saved.package}', which is not installed; "
            "install it, or name its module with --import."
        )
    return NETWORKS.get(saved.kind).model_validate(saved.settings).build()


def package_of(cls: type) -> str:
    """The distribution that a class comes from; its module's name where it is in none."""
    top = cls.__module__.partition(".")[0]
    if top == __name__.partition(".")[0]:
        return top
    return next(iter(packages_distributions().get(top, [])), cls.__module__)
