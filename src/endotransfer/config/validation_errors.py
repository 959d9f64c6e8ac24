"""Faults of a mapping in plain words: what is wrong, and the nearest right key."""

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from endotransfer.errors import shortened, shown
from endotransfer.registry import nearest

MOST_FAULTS = 10  # told at once
_LONGEST_PLACE = 200  # characters; keys are whatever the file says


def explain(reason: ValidationError, root: type[BaseModel]) -> list[str]:
    """Pydantic's faults in plain words; an unknown key is answered with the nearest known one."""
    faults = reason.errors(include_url=False, include_context=False)
    more = [f"and {len(faults) - MOST_FAULTS} more."] if len(faults) > MOST_FAULTS else []
    return [_explain_one(fault, root) for fault in faults[:MOST_FAULTS]] + more


def _explain_one(fault: ErrorDetails, root: type[BaseModel]) -> str:
    place = shortened(".".join(str(part) for part in fault["loc"]), _LONGEST_PLACE)
    if fault["type"] == "extra_forbidden":
        key = str(fault["loc"][-1])[:_LONGEST_PLACE]
        return f"unknown key '{place}'; {nearest(key, _known_keys(root, fault['loc'][:-1]))}"
    if fault["type"] == "missing":
        return f"'{place}' is missing; add it."
    message = fault["msg"].removeprefix("Value error, ")
    return f"'{place}' is {shown(fault['input'])}: {message[0].lower()}{message[1:]}." if place else f"{message}."


def _known_keys(root: type[BaseModel], place: tuple[int | str, ...]) -> list[str]:
    """The keys that are allowed at `place`, found by walking the types."""
    model: type[BaseModel] = root
    for part in place:
        if isinstance(part, int) or part not in model.model_fields:
            continue
        model = _model_within(model.model_fields[part].annotation) or model
    return list(model.model_fields)


def _model_within(annotation: object) -> type[BaseModel] | None:
    """The section type inside an annotation such as `tuple[FolderConfig, ...] | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inner = (_model_within(part) for part in getattr(annotation, "__args__", ()))
    return next((model for model in inner if model), None)
