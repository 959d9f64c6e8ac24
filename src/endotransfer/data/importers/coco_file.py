"""The parts of a COCO json file that an import needs, checked."""

from collections import defaultdict
from pathlib import Path

from pydantic import BaseModel, ValidationError

from endotransfer.errors import DataError
from endotransfer.io import LARGEST_TABLE, read_bounded

NOT_DECIDED = "not decided"  # the category under which an export of reviews keeps pixels that nobody could judge


class Category(BaseModel):
    id: int
    name: str


class CocoImage(BaseModel):
    id: int
    file_name: str


class Annotation(BaseModel):
    image_id: int
    category_id: int
    segmentation: object = None


class CocoFile(BaseModel):
    images: list[CocoImage]
    annotations: list[Annotation]
    categories: list[Category]

    def by_image(self) -> dict[int, list[Annotation]]:
        """Image -> its annotations, in the order of the file."""
        grouped: defaultdict[int, list[Annotation]] = defaultdict(list)
        for annotation in self.annotations:
            grouped[annotation.image_id].append(annotation)
        return grouped


def read_coco(source: Path, file: str) -> CocoFile:
    """The file called `file`, or the only json in `source` or `source`/annotations."""
    files = [source / file] if file else sorted([*source.glob("*.json"), *source.glob("annotations/*.json")])
    if len(files) != 1:
        names = ", ".join(path.name for path in files) or "none"
        raise DataError(f"{source} should hold one json file but holds {names}; name it (option file=NAME).")
    try:
        content = CocoFile.model_validate_json(read_bounded(files[0], DataError, "export it again", LARGEST_TABLE))
    except FileNotFoundError:
        raise DataError(f"there is no {files[0]}; check the name.") from None
    except ValidationError as reason:
        first = reason.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise DataError(f"{files[0]} is no COCO file ({where}: {first['msg']}); export it again.") from reason
    unknown = {annotation.category_id for annotation in content.annotations} - {
        category.id for category in content.categories
    }
    if unknown:
        raise DataError(f"{files[0]} uses category {min(unknown)}, which it does not list; export it again.")
    return content
