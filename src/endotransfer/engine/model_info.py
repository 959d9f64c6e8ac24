"""What config.json of a model folder holds."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from endotransfer.batch import IGNORE
from endotransfer.config import LARGEST_SEED
from endotransfer.familiarity.familiarity_file import FamiliarityInfo
from endotransfer.inference import InferenceGeometry
from endotransfer.models.network_spec import SavedNetwork

FORMAT = 2  # 1: the network was rebuilt by its method
Side = Annotated[int, Field(ge=1, le=10_000)]
ClassName = Annotated[str, Field(min_length=1, max_length=200)]


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

    model_config = ConfigDict(frozen=True, protected_namespaces=(), extra="forbid")

    format: int = FORMAT
    sha256: str = Field(pattern="^[0-9a-f]{64}$")  # of weights.safetensors
    classes: list[ClassName] = Field(min_length=2, max_length=IGNORE)
    ignore: int = Field(ge=0, le=IGNORE)
    shape: tuple[Side, Side]
    tags: bool
    domain: Literal["source", "target"]
    seed: int = Field(0, ge=0, le=LARGEST_SEED)
    geometry: InferenceGeometry | None = None  # None: the whole image at `shape`
    temperature: float = Field(1.0, gt=0, le=100, allow_inf_nan=False)  # pixel logits are divided by it
    familiarity: FamiliarityInfo | None = None  # None: the model cannot tell what is unlike its training images
    network: SavedNetwork
    method: MethodRecord
    method_from: Origin
    model: dict[str, JsonValue]  # the experiment's `model` section, for the record
    onnx: dict[str, JsonValue] | None = None  # of a bundle: its graph
    checksum: str | None = None  # of all the rest (sealed_json.py)

    def to_json(self) -> dict[str, object]:
        """What config.json holds, but for its checksum."""
        absent = {key for key in ("onnx", "familiarity") if getattr(self, key) is None}
        return self.model_dump(mode="json", exclude={"checksum", *absent})
