"""SYNTHIA-RAND-CITYSCAPES: RGB/0000000.png with GT/LABELS/0000000.png, 16-bit colour PNGs: class, instance, nothing."""

from pathlib import Path

from endotransfer.config.class_lists import Protocol
from endotransfer.data.folders.folder_contents import FolderContents
from endotransfer.data.layouts.layout import layout
from endotransfer.data.layouts.numbers import classes_as
from endotransfer.data.layouts.published_files import find, pair, require, require_images

END = ".png"
# Lane markings (22) have no counterpart among Cityscapes' classes; like void they stay unlabelled.
IDS = {
    1: "sky", 2: "building", 3: "road", 4: "sidewalk", 5: "fence", 6: "vegetation", 7: "pole", 8: "car",
    9: "traffic sign", 10: "person", 11: "bicycle", 12: "motorcycle", 15: "traffic light", 16: "terrain", 17: "rider",
    18: "truck", 19: "bus", 20: "train", 21: "wall",
}  # fmt: skip
COUNT = 23


@layout(
    "synthia",
    summary="SYNTHIA-RAND-CITYSCAPES: RGB/ and GT/LABELS/ (9,400)",
    protocol="cityscapes16",
    recognises=lambda path: (path / "RGB").is_dir() and (path / "GT" / "LABELS").is_dir(),
)
def fill(contents: FolderContents, protocol: Protocol) -> None:
    contents.classes = classes_as(protocol, "SYNTHIA", IDS, COUNT, wide=True)
    contents.columns = ["image"]
    images_at, labels_at = contents.path / "RGB", contents.path / "GT" / "LABELS"
    require(contents.path, "RGB", "GT/LABELS")
    images, labels = find(contents, images_at, END), find(contents, labels_at, END)
    pair(contents, images, labels, lambda name: (images_at / _file(name), labels_at / _file(name)))
    require_images(contents, "RGB")


def _file(name: str) -> Path:
    return Path(name + END)
