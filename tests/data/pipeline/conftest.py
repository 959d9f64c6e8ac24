"""Sets on disk and feeds over them; the helpers beside this file are imported as `tests.data.pipeline.disk`."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from endotransfer.data.pipeline.streams import BatchSource, Share, Stream
from endotransfer.data.pipeline.superpixels import SuperpixelCache, SuperpixelSettings
from endotransfer.data.pipeline.transforms import Augment

ROOT = str(Path(__file__).parents[3])
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)

from tests.data.pipeline.disk import AUGMENT, Disk, decoded, maps, write_samples  # noqa: E402


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    counts = {"masked": 5, "tag_only": 3, "target": 7}
    sets = {name: write_samples(tmp_path / name, count) for name, count in counts.items()}
    return Disk(**sets, cache=SuperpixelCache(tmp_path / "cache", SuperpixelSettings(8000)))


@pytest.fixture
def make_feed(disk: Disk) -> Iterator[Callable[..., BatchSource]]:
    """`make_feed(workers=2, target=None, ...)`: by default 2 masked + 2 tag-only + 4 target images a step."""
    feeds = []

    def make(*, cache: bool = True, augment: Augment | None = AUGMENT, **options: Any) -> BatchSource:
        target = Stream(
            "target", decoded(disk.target, cache=cache), seed=3, augment=augment, maps=maps, superpixels=disk.cache
        )
        shares = {
            "masked": Share(Stream("masked", decoded(disk.masked, True, cache), seed=3, augment=augment), 2),
            "tag_only": Share(Stream("tag-only", decoded(disk.tag_only, False, cache), seed=3, augment=augment), 2),
            "target": Share(target, 4),
        }
        feeds.append(BatchSource(**{**shares, **options}))
        return feeds[-1]

    yield make
    for feed in feeds:
        feed.close()
