"""Models whose JSON is flat: the keys of one field lie beside the others."""

from collections.abc import Iterable, Mapping
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, model_validator


class FlatModel(BaseModel):
    """Keys of the JSON object that are no field are the content of the field `INNER`, in their order.

    What was never set is not written, so that a file read and written again stays the same.
    """

    INNER: ClassVar[str] = ""
    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _collect(cls, raw: object) -> object:
        return cls.collect(raw) if isinstance(raw, Mapping) and cls.INNER and cls.INNER not in raw else raw

    @classmethod
    def collect(cls, raw: Mapping[str, object]) -> dict[str, object]:
        """The flat content of a file as this model's fields."""
        fields = {key: value for key, value in raw.items() if key in cls.model_fields}
        return {**fields, cls.INNER: {key: value for key, value in raw.items() if key not in fields}}

    def to_dict(self) -> dict[str, object]:
        """The JSON object."""
        return self.in_order(type(self).model_fields, (self.INNER,))

    def in_order(self, names: Iterable[str], inner: Iterable[str]) -> dict[str, object]:
        """The fields `names`, with those of `inner` dissolved."""
        content: dict[str, object] = {}
        for name in names:
            if name in inner:
                content |= {key: plain(value) for key, value in getattr(self, name).items()}
            elif name in self.model_fields_set:
                content[name] = plain(getattr(self, name))
        return content


def plain(value: object) -> object:
    """Models, mappings and tuples as JSON has them."""
    if isinstance(value, FlatModel):
        return value.to_dict()
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_unset=True)
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value
