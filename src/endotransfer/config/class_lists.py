"""Lists of classes that a field agreed on, in their official order, and the further means that it reports.

A protocol says what is learnt and measured; how a data set writes these classes into its files is that set's affair
(`data/layouts/`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from endotransfer.registry import Registry

CITYSCAPES = (
    "road", "sidewalk", "building", "wall", "fence", "pole", "traffic light", "traffic sign", "vegetation", "terrain",
    "sky", "person", "rider", "car", "truck", "bus", "train", "motorcycle", "bicycle",
)  # fmt: skip
NOT_IN_SYNTHIA = ("terrain", "truck", "train")
HARD_IN_SYNTHIA = ("wall", "fence", "pole")  # left out of the mean over 13 classes
CAMVID = (
    "sky", "building", "pole", "road", "pavement", "tree", "sign", "fence", "car", "pedestrian", "bicyclist",
)  # fmt: skip


@dataclass(frozen=True)
class Protocol:
    """`classes` in index order; `means`: figure -> the classes whose mean it is, beside `miou` over all of them."""

    name: str
    classes: tuple[str, ...]
    means: dict[str, tuple[str, ...]] = field(default_factory=dict)


def _without(names: tuple[str, ...], left_out: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if name not in left_out)


CITYSCAPES16 = _without(CITYSCAPES, NOT_IN_SYNTHIA)
CITYSCAPES13 = _without(CITYSCAPES16, HARD_IN_SYNTHIA)

PROTOCOLS: Registry[Protocol] = Registry("list of classes")
for _protocol in (
    Protocol("cityscapes19", CITYSCAPES),
    Protocol("cityscapes16", CITYSCAPES16, {"miou13": CITYSCAPES13}),
    Protocol("cityscapes13", CITYSCAPES13),
    Protocol("camvid11", CAMVID),
):
    PROTOCOLS.add(_protocol.name, _protocol)


def protocol_of(classes: Sequence[str]) -> Protocol | None:
    """The protocol with exactly these classes in this order."""
    return next((protocol for _, protocol in PROTOCOLS.items() if protocol.classes == tuple(classes)), None)


def further_means(classes: Sequence[str]) -> dict[str, list[int]]:
    """Figure -> the indices of the classes it is the mean of; empty where the field reports one mean."""
    protocol = protocol_of(classes)
    if protocol is None:
        return {}
    return {name: [protocol.classes.index(member) for member in members] for name, members in protocol.means.items()}
