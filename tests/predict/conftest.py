"""A predictor whose answers are known, and small videos."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from endotransfer.data.read.video_reader import import_av
from endotransfer.predict.image_input import ImageLike, as_batch
from endotransfer.predict.image_predictor import ImagePredictor
from endotransfer.predict.prediction import Pixels, Prediction
from tests.model_folders import write_model

MakeVideo = Callable[..., Path]


def break_packet(path: Path, index: int) -> None:
    """Overwrite the content of one packet with noise."""
    av = import_av()
    with av.open(str(path)) as container:
        packet = [packet for packet in container.demux(video=0) if packet.size][index]
        start, size = packet.pos, packet.size
    raw = bytearray(path.read_bytes())
    raw[start + 6 : start + size] = np.random.default_rng(1).integers(0, 256, size - 6, dtype=np.uint8).tobytes()
    path.write_bytes(raw)


class TopHalf(ImagePredictor):
    """Calls the upper half of every image a lesion, with a probability of 0.8."""

    classes = ["normal", "lesion"]  # noqa: RUF012

    def predict_batch(self, images: Sequence[ImageLike]) -> list[Prediction]:
        return [self._one(image) for image in as_batch(images)]

    def _one(self, image: Pixels) -> Prediction:
        height, width = image.shape[:2]
        lesion = np.full((height, width), 0.2, np.float32)
        lesion[: height // 2] = 0.8
        return Prediction((lesion > 0.5).astype(np.uint8), np.stack([1 - lesion, lesion]), 0.75)


@pytest.fixture
def top_half() -> TopHalf:
    return TopHalf()


@pytest.fixture
def images(tmp_path: Path) -> Path:
    folder = tmp_path / "images"
    folder.mkdir()
    for name in ("a", "b"):
        Image.fromarray(np.full((8, 6, 3), 90, np.uint8)).save(folder / f"{name}.png")
    return folder


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def make_video(tmp_path: Path) -> MakeVideo:
    """`make_video("v.mp4", frames=20, size=(W, H), rate=...)`: blocks that move, frame i showing grey value 3 i too."""

    def make(
        name: str,
        *,
        codec: str = "libx264",
        pixel_format: str = "yuv420p",
        frames: int = 20,
        size: tuple[int, int] = (64, 48),
        rate: Fraction = Fraction(25),
    ) -> Path:
        av = import_av()
        width, height = size
        blocks = np.random.default_rng(0).integers(0, 255, (8, 10, 3), dtype=np.uint8).repeat(8, 0).repeat(8, 1)
        path = tmp_path / name
        with av.open(str(path), "w") as container:
            stream = container.add_stream(codec, rate=rate)
            stream.width, stream.height, stream.pix_fmt = width, height, pixel_format
            for index in range(frames):
                picture = np.roll(blocks, 2 * index, axis=1)[:height, :width].copy()
                picture[:16, :16] = 3 * index
                container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
            container.mux(stream.encode())
        return path

    return make
