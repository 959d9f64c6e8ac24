"""The open segmenter is the plain one, and shows its backbone's map."""

from collections.abc import Callable

import torch
from torch import Tensor

from endotransfer.config import ModelConfig
from endotransfer.models.network_spec import spec_of
from endotransfer.models.segmenters.open_segmenter import build_open_segmenter
from endotransfer.models.segmenters.segmenter import build_segmenter


def test_outputs_are_the_plain_ones_and_the_map_is_the_backbones(
    tiny: Callable[..., ModelConfig], images: Tensor
) -> None:
    plain, opened = build_segmenter(tiny(), 2, True).eval(), build_open_segmenter(tiny(), 2, True).eval()
    opened.load_state_dict(plain.state_dict())
    one, other = plain(images), opened(images)
    assert torch.equal(one.logits, other.logits) and torch.equal(one.features, other.features)
    assert torch.equal(other.aux["backbone"], plain.stages(images)[-1]) and not one.aux


def test_it_is_saved_as_a_plain_segmenter(tiny: Callable[..., ModelConfig]) -> None:
    opened = build_open_segmenter(tiny(), 2, True)
    again = spec_of(opened, "a test").build()
    again.load_state_dict(opened.state_dict())
    assert type(again) is type(build_segmenter(tiny(), 2, True))
