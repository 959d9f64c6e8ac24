"""A network says how it was built, and is built again from that alone."""

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from endotransfer.config import ModelConfig
from endotransfer.errors import CheckpointError, ConfigError
from endotransfer.models.network_spec import (
    NETWORKS,
    NetworkSpec,
    SavedNetwork,
    package_of,
    rebuild,
    saved_network,
    spec_of,
)
from endotransfer.models.segmenters.cdws_segmenter import build_cdws_segmenter
from endotransfer.models.segmenters.dfn_segmenter import build_dfn_segmenter
from endotransfer.models.segmenters.local_segmenter import build_local_segmenter
from endotransfer.models.segmenters.segmenter import build_segmenter
from endotransfer.models.segmenters.two_level import TwoLevelSegmenter

Tiny = Callable[..., ModelConfig]

BUILDERS: dict[str, Callable[[ModelConfig], nn.Module]] = {
    "segmenter": lambda model: build_segmenter(model, 3, tags=False),
    "two_level": lambda model: TwoLevelSegmenter(build_segmenter(model, 2, tags=True), model),
    "dfn": lambda model: build_dfn_segmenter(model, 16, 5, 2, tags=True),
    "cdws": build_cdws_segmenter,
    "local_layer": build_local_segmenter,
}


def test_every_kind_is_tested_here() -> None:
    assert NETWORKS.names() == sorted(BUILDERS)


@pytest.mark.parametrize("norm", ["group", "per_domain", "frozen"])
@pytest.mark.parametrize("kind", BUILDERS)
def test_a_network_is_rebuilt_from_json_and_computes_the_same(
    kind: str, norm: str, tiny: Tiny, taught: Path, images: Tensor
) -> None:
    first = BUILDERS[kind](tiny(norm=norm, weights=taught, region_weights=taught))
    text = saved_network(spec_of(deepcopy(first), "a test")).model_dump_json()  # a copy, as a mean teacher is
    saved = SavedNetwork.model_validate_json(text)
    assert (saved.kind, saved.package) == (kind, "endotransfer") and str(taught) not in text
    second = rebuild(saved)
    second.load_state_dict(first.state_dict())
    one, other = (network.eval()(images, domain="target") for network in (first, second))
    assert torch.equal(one.logits, other.logits) and torch.equal(one.features, other.features)


def test_a_network_without_a_spec_is_refused_before_it_is_trained() -> None:
    with pytest.raises(ConfigError, match=r"method mine predicts with a Linear.*`spec`"):
        spec_of(nn.Linear(1, 1), "method mine")


def test_an_unknown_kind_names_its_package_and_imports_nothing() -> None:
    saved = SavedNetwork(kind="antigravity:net", package="antigravity", settings={})
    with pytest.raises(CheckpointError, match="from the package 'antigravity', which is not installed; install it"):
        rebuild(saved)


def test_a_spec_from_elsewhere_is_built_once_it_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NETWORKS, "_things", dict(NETWORKS._things))

    class LineSpec(NetworkSpec):
        kind = "line"
        width: int

        def build(self) -> nn.Module:
            return nn.Linear(self.width, 1)

    saved = SavedNetwork(kind="line", package="lines", settings={"width": 3})
    assert isinstance(rebuild(saved), nn.Linear)


def test_the_package_is_the_distribution_of_a_class() -> None:
    assert package_of(NetworkSpec) == "endotransfer"
    assert package_of(Tensor) == "torch"
