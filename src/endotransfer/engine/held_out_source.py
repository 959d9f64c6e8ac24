"""Source images with a mask that training did not see: other splits of the folders that name one."""

from collections.abc import Iterable

from endotransfer.batch import Sample
from endotransfer.config import DataConfig, FolderConfig
from endotransfer.data.folders.classes import Classes
from endotransfer.engine.experiment_data import read_role
from endotransfer.errors import DataError


def held_out_source(data: DataConfig, used: Iterable[Sample]) -> tuple[list[Sample], Classes | None]:
    """The split `val` of each source folder that gives another split to training, or else its split `test`.

    `used`: images of any role, which are never among them; a target image is so kept out however it is listed.
    """
    taken = {sample.image.resolve() for sample in used}
    found: list[Sample] = []
    classes = None
    for folder in data.source:
        for split in ("val", "test") if folder.split not in (None, "") else ():
            samples, classes_here = _masked(folder, split, data.classes)
            free = [sample for sample in samples if sample.image.resolve() not in taken]
            if free and classes in (None, classes_here):
                found, classes = found + free, classes_here
                break
    return found, classes


def _masked(folder: FolderConfig, split: str, classes: str | None) -> tuple[list[Sample], Classes | None]:
    """Nothing where the folder has no such split."""
    try:
        domain = read_role([folder.model_copy(update={"split": split})], None, classes=classes)
    except DataError:
        return [], None
    return ([sample for sample in domain.samples if sample.mask is not None], domain.classes) if domain else ([], None)
