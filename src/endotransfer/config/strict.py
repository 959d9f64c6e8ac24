"""What every section of an experiment has in common, and the limits that several of them share."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

LARGEST_SEED = 2**63 - 1  # a signed 64-bit integer, which is what every generator and file format takes
LARGEST_BATCH = 4096  # images; anything larger would load images for ever
MOST_STEPS = 10**9  # of anything counted in steps; the longest runs of the field take a million
MOST_EPOCHS = 10**6
MOST_PROCESSES = 1024  # on one machine
Side = Annotated[int, Field(ge=32, le=4096)]
Sides = tuple[Side, Side]  # height, width
RawConfig = dict[str, Any]  # what a YAML file holds, not yet validated


class Strict(BaseModel):
    """A section of an experiment: typed, frozen, and closed to keys it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=(), allow_inf_nan=False)
