"""The images behind a run, wherever they lie on this machine."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from endotransfer.batch import Sample
from endotransfer.config import DataConfig, FolderConfig
from endotransfer.data.layouts import is_data_folder
from endotransfer.data.read.read_image import read_image
from endotransfer.engine.experiment_data import ExperimentData, load_data
from endotransfer.errors import DataError
from endotransfer.methods.task import Needs
from endotransfer.report.study import Run

HIDDEN = 120  # the grey that stands for a photograph that may not be shown


class RunImages:
    """Reads the folders of a run's experiment, each experiment's once.

    `folders` are where data folders lie now, or their parents; one replaces a folder of the experiment of its name.
    Without `photographs` figures show masks alone: the images of many sets may not be passed on.
    """

    def __init__(self, folders: Sequence[Path] = (), *, photographs: bool = True) -> None:
        for folder in folders:
            if not folder.is_dir():
                raise DataError(f"there is no folder {folder}; give --data a folder of images, or its parent.")
        inside = [entry for folder in folders for entry in folder.iterdir() if is_data_folder(entry)]
        self._places = {entry.resolve().name: entry for entry in [*inside, *folders] if is_data_folder(entry)}
        self._read: dict[str, ExperimentData] = {}
        self.photographs = photographs

    def of(self, run: Run) -> ExperimentData:
        """Source, target and test samples as `run` had them; raises DataError where they are not on this machine."""
        data = self._moved(run.experiment.data)
        name = data.model_dump_json()
        if name not in self._read:
            self._read[name] = load_data(data, Needs(target=bool(data.target)))
        return self._read[name]

    def shown(self, sample: Sample) -> NDArray[np.uint8]:
        """What a figure may show of an image, [H, W, 3]: itself, or nothing but its shape."""
        pixels = read_image(sample.image)
        return pixels if self.photographs else np.full_like(pixels, HIDDEN)

    def _moved(self, data: DataConfig) -> DataConfig:
        def moved(entries: tuple[FolderConfig, ...] | None) -> tuple[FolderConfig, ...] | None:
            if entries is None:
                return None
            return tuple(e.model_copy(update={"path": self._places.get(e.path.name, e.path)}) for e in entries)

        return data.model_copy(update={name: moved(getattr(data, name)) for name in ("source", "target", "test")})
