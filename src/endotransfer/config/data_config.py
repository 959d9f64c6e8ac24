"""`data`: which folders are read, and how images reach the network."""

from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from endotransfer.config.class_lists import PROTOCOLS
from endotransfer.config.strict import Strict
from endotransfer.registry import nearest


class FolderConfig(Strict):
    """One folder of a domain.  A plain path may stand in its place."""

    path: Path
    layout: str = "auto"  # native, or one of data/layouts/; auto: recognised by its folders, native if in doubt
    split: str | None = None  # None: all of a source, `train` of a target, `test` of a test set (where splits exist)
    where: dict[str, str] = Field(default_factory=dict)  # further columns of labels.csv that must match


class SuperpixelConfig(Strict):
    """SLIC.  The paper gives no settings."""

    segments_at_512: int = Field(default=1000, ge=1, le=512 * 512)  # scaled with the image's area
    compactness: float = Field(default=10.0, gt=0)


class DataConfig(Strict):
    """Where images come from.  A domain is a list of folders in the native layout (docs/formats.md)."""

    source: tuple[FolderConfig, ...]
    target: tuple[FolderConfig, ...] = ()
    test: tuple[FolderConfig, ...] | None = None  # None: the target folders
    classes: str | None = None  # a list of class_lists.py; None: what the folders themselves say
    size: int | tuple[int, int] = 352  # every image is resized to this (height, width) for the network
    source_size: int | tuple[int, int] | None = None  # of source images, where crops make domains equal; None: size
    tags: bool = True  # False: street scenes, no classification head, no tag is read
    superpixels: SuperpixelConfig = SuperpixelConfig()
    reviewed: Literal["ignore", "use"] = "ignore"  # masks of target images that a person confirmed in the viewer
    contradictions: Literal["stop", "keep"] = "stop"  # a tag against a mask: an error, or stated and left as it is
    cache: Literal["auto", "always", "never"] = "auto"  # keep decoded images in memory

    @field_validator("source", "target", "test", mode="before")
    @classmethod
    def _plain_paths(cls, value: object) -> object:
        if value is None:
            return None
        entries = value if isinstance(value, (list, tuple)) else [value]
        return [{"path": entry} if isinstance(entry, (str, Path)) else entry for entry in entries]

    @field_validator("source")
    @classmethod
    def _some_source(cls, value: tuple[FolderConfig, ...]) -> tuple[FolderConfig, ...]:
        if not value:
            raise ValueError("masks to learn from are needed; name at least one folder")
        return value

    @field_validator("classes")
    @classmethod
    def _known_classes(cls, value: str | None) -> str | None:
        if value is not None and value not in PROTOCOLS:
            raise ValueError(f"there is no list of classes called '{value}'; {nearest(value, PROTOCOLS.names())}")
        return value

    @field_validator("size", "source_size")
    @classmethod
    def _usable_size(cls, value: int | tuple[int, int] | None) -> int | tuple[int, int] | None:
        sides = value if isinstance(value, tuple) else (value,)
        if not all(side is None or 32 <= side <= 4096 for side in sides):
            raise ValueError("height and width are 32 to 4096 pixels each; write for example 352 or [256, 320]")
        return value

    @property
    def shape(self) -> tuple[int, int]:
        return (self.size, self.size) if isinstance(self.size, int) else self.size

    @property
    def source_shape(self) -> tuple[int, int]:
        size = self.size if self.source_size is None else self.source_size
        return (size, size) if isinstance(size, int) else size
