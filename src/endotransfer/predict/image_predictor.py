"""What anything that predicts can be asked, whether torch or ONNX Runtime computes the network."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from endotransfer.data.read.read_image import read_image
from endotransfer.errors import DataError
from endotransfer.predict.image_input import ImageLike, as_pixels
from endotransfer.predict.inputs import list_inputs
from endotransfer.predict.prediction import Marks, Pixels, Prediction


class ImagePredictor(ABC):
    """Images of any size in, masks of the same size out."""

    classes: list[str]
    batch_size = 1  # images that are best predicted at a time

    @abstractmethod
    def predict_batch(self, images: Sequence[ImageLike]) -> list[Prediction]:
        """Paths, or RGB pixels uint8 [H, W, 3], each of its own size."""

    def mark_batch(self, images: Sequence[Pixels]) -> list[Marks]:
        """The same without the probabilities of the losing classes."""
        found = self.predict_batch(images)
        return [Marks(one.mask, one.certainty, one.lesion_probability, one.unfamiliarity) for one in found]

    def predict(self, image: ImageLike) -> Prediction:
        """`image`: a path, or RGB pixels uint8 [H, W, 3]."""
        return self.predict_batch([as_pixels(image)])[0]

    def predict_folder(
        self, folder: Path | str, *, unreadable: Callable[[Path, DataError], None] | None = None
    ) -> Iterator[tuple[Path, Prediction]]:
        """Every image of `folder` and the folders in it, in the order of names, as it is predicted.

        A file that cannot be read raises its error; with `unreadable` it is handed there, and the rest goes on.
        """
        files = [one.file for one in list_inputs([Path(folder)], videos=False)]
        return self._predict_files(files, unreadable)

    def _predict_files(
        self, files: Sequence[Path], unreadable: Callable[[Path, DataError], None] | None
    ) -> Iterator[tuple[Path, Prediction]]:
        for start in range(0, len(files), self.batch_size):
            read: dict[Path, Pixels] = {}
            for file in files[start : start + self.batch_size]:
                try:
                    read[file] = read_image(file)
                except DataError as reason:
                    if unreadable is None:
                        raise
                    unreadable(file, reason)
            if read:
                yield from zip(read, self.predict_batch(list(read.values())), strict=True)
