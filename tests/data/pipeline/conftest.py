"""Sets on disk and sources over them; the helpers beside this file are imported as `tests.data.pipeline.disk`."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from endotransfer.config import AugmentConfig, SuperpixelConfig
from endotransfer.data.pipeline.batch_source import BatchSource, Share
from endotransfer.data.pipeline.stream import Stream
from endotransfer.data.pipeline.superpixel_cache import SuperpixelCache

ROOT = str(Path(__file__).parents[3])
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)

from tests.data.pipeline.disk import AUGMENT, Disk, decoded, maps, write_samples  # noqa: E402


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    counts = {"masked": 5, "tag_only": 3, "target": 7}
    sets = {name: write_samples(tmp_path / name, count) for name, count in counts.items()}
    return Disk(**sets, cache=SuperpixelCache(tmp_path / "cache", SuperpixelConfig(segments_at_512=8000)))


@pytest.fixture
def make_batches(disk: Disk) -> Iterator[Callable[..., BatchSource]]:
    """`make_batches(workers=2, target=None, ...)`: by default 2 masked + 2 tag-only + 4 target images a step."""
    sources = []

    def make(*, cache: bool = True, augment: AugmentConfig | None = AUGMENT, **options: Any) -> BatchSource:
        target = Stream(
            "target", decoded(disk.target, cache=cache), seed=3, augment=augment, maps=maps, superpixels=disk.cache
        )
        shares = {
            "masked": Share(Stream("masked", decoded(disk.masked, True, cache), seed=3, augment=augment), 2),
            "tag_only": Share(Stream("tag-only", decoded(disk.tag_only, False, cache), seed=3, augment=augment), 2),
            "target": Share(target, 4),
        }
        sources.append(BatchSource(**{**shares, **options}))
        return sources[-1]

    yield make
    for batch_source in sources:
        batch_source.close()
