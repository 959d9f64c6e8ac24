"""EDD2020: originalImages/x.jpg and one mask for each disease in it, such as masks/x_BE.tif."""

import re
from pathlib import Path

from endotransfer.data.importers.find import pictures, set_folders
from endotransfer.data.importers.importer import choice, importer
from endotransfer.data.importers.mask_sources import layered
from endotransfer.data.importers.records import BINARY, Item, Published

DISEASES = ("BE", "suspicious", "HGD", "cancer", "polyp")  # Barrett's oesophagus; high-grade dysplasia
MASK_NAME = re.compile(rf"(.+)_({'|'.join(DISEASES)})(_.*)?", re.IGNORECASE)


@importer(
    "edd2020",
    summary="386 gastroscopy and colonoscopy images of five diseases, one mask for each disease",
    url="https://edd2020.grand-challenge.org",
    terms="CC BY-NC-SA 4.0 (no commercial use)",
    cite="Ali et al., Deep learning for detection and segmentation of artefact and disease, MedIA 2021",
)
def edd2020(source: Path, classes: str = "merged") -> Published:
    """`classes`: merged (lesion or not) or separate (an index for each disease; the later one wins)."""
    separate = choice("classes", classes, "merged", "separate") == "separate"
    images, masks = set_folders(source, "originalImages", "masks")
    published = Published(classes=(BINARY[0], *DISEASES) if separate else BINARY)
    found = _by_image(masks, published)
    for image in pictures(images):
        files = sorted(found.pop(image.stem, []))
        if files:
            layers = [(index if separate else 1, mask) for index, mask in files]
            finding = "+".join(sorted({DISEASES[index - 1] for index, _ in files}))
            published.items.append(Item(image.stem, image, layered(layers), "lesion", finding))
        else:
            published.skipped.append(f"{images.name}/{image.name}: no mask in {masks.name}")
    published.skipped += [f"{masks.name}/{stem}_*: no image in {images.name}" for stem in found]
    return published


def _by_image(masks: Path, published: Published) -> dict[str, list[tuple[int, Path]]]:
    """Image stem -> (disease's index from 1, mask file), from the masks' names."""
    places = {disease.casefold(): place for place, disease in enumerate(DISEASES, start=1)}
    found: dict[str, list[tuple[int, Path]]] = {}
    for mask in pictures(masks):
        name = MASK_NAME.fullmatch(mask.stem)
        if name is None:
            published.skipped.append(f"{masks.name}/{mask.name}: its name ends in no known disease")
        else:
            found.setdefault(name[1], []).append((places[name[2].casefold()], mask))
    return found
