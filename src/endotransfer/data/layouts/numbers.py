"""Maps the label numbers of a published set to the classes of a protocol."""

from collections.abc import Mapping

from endotransfer.config.class_lists import Protocol
from endotransfer.data.folders.classes import Classes, LabelNumbers
from endotransfer.data.folders.faults import failure
from endotransfer.label_values import IGNORE

# Cityscapes' own label ids, which GTA5 uses as well.  Every other id is unlabelled in all protocols.
CITYSCAPES_IDS = {
    7: "road", 8: "sidewalk", 11: "building", 12: "wall", 13: "fence", 17: "pole", 19: "traffic light",
    20: "traffic sign", 21: "vegetation", 22: "terrain", 23: "sky", 24: "person", 25: "rider", 26: "car", 27: "truck",
    28: "bus", 31: "train", 32: "motorcycle", 33: "bicycle",
}  # fmt: skip

# The same ids in the words of CamVid's eleven classes, which join what Cityscapes tells apart.
CITYSCAPES_AS_CAMVID = {
    7: "road", 8: "pavement", 11: "building", 12: "building", 13: "fence", 17: "pole", 19: "sign", 20: "sign",
    21: "tree", 22: "tree", 23: "sky", 24: "pedestrian", 25: "bicyclist", 26: "car", 27: "car", 28: "car", 31: "car",
    32: "bicyclist", 33: "bicyclist",
}  # fmt: skip


def ids_for(protocol: Protocol) -> Mapping[int, str]:
    """Cityscapes' ids in the words of `protocol`."""
    return CITYSCAPES_AS_CAMVID if protocol.name == "camvid11" else CITYSCAPES_IDS


def classes_as(protocol: Protocol, data_set: str, ids: Mapping[int, str], count: int, *, wide: bool = False) -> Classes:
    """The classes of `protocol` in a set that numbers its labels 0 to `count` - 1 and calls them `ids`."""
    if missing := [name for name in protocol.classes if name not in ids.values()]:
        what = f"has no label '{missing[0]}', so it cannot be read as {protocol.name}"
        raise failure("other-classes", data_set, what, "choose other data.classes, or leave them out")
    index = {name: place for place, name in enumerate(protocol.classes)}
    table = tuple(index.get(ids.get(number, ""), IGNORE) for number in range(count))
    return Classes(protocol.classes, numbers=LabelNumbers(data_set, table, wide))
