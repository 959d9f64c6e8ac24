"""What config.json of a model folder holds."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from endotransfer.batch import IGNORE
from endotransfer.config import LARGEST_SEED
from endotransfer.inference import InferenceGeometry
from endotransfer.models.network_spec import SavedNetwork

FORMAT = 2  # 1: the network was rebuilt by its method
Side = Annotated[int, Field(ge=1)]


class Origin(BaseModel):
    """Where the method came from that trained the model; for the record, nothing is imported by it."""

    model_config = ConfigDict(frozen=True)

    package: str
    module: str


class MethodRecord(BaseModel):
    """The experiment's `method` section, resolved; for the record, the model runs without its method."""

    model_config = ConfigDict(frozen=True, extra="allow")

    name: str
    preset: str = "default"


class ModelInfo(BaseModel):
    """All that is needed to run the weights beside it, and what they are."""

    model_config = ConfigDict(frozen=True, protected_namespaces=())

    format: int = FORMAT
    sha256: str  # of weights.safetensors
    classes: list[str] = Field(min_length=2, max_length=IGNORE)
    ignore: int
    shape: tuple[Side, Side]
    tags: bool
    domain: Literal["source", "target"]
    seed: int = Field(0, ge=0, le=LARGEST_SEED)
    geometry: InferenceGeometry | None = None  # None: the whole image at `shape`
    network: SavedNetwork
    method: MethodRecord
    method_from: Origin
    model: dict[str, JsonValue]  # the experiment's `model` section, for the record
