"""A folder is predicted image by image, whatever computes the network."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from endotransfer.errors import DataError
from endotransfer.predict.image_predictor import ImagePredictor


def test_a_folder_is_predicted_file_by_file(top_half: ImagePredictor, images: Path) -> None:
    (images / "deeper").mkdir()
    Image.fromarray(np.zeros((4, 4, 3), np.uint8)).save(images / "deeper" / "c.png")
    (images / "notes.txt").write_text("no image")
    for top_half.batch_size in (1, 2, 5):
        found = dict(top_half.predict_folder(images))
        assert list(found) == [file for file, _ in top_half.predict_folder(str(images))]
        assert list(found) == [images / "a.png", images / "b.png", images / "deeper" / "c.png"]
        assert found[images / "a.png"].lesion_share == 0.5 and found[images / "deeper" / "c.png"].mask.shape == (4, 4)


def test_an_unreadable_file_is_raised_or_handed_over(top_half: ImagePredictor, images: Path) -> None:
    (images / "aa.png").write_bytes(b"no png")
    with pytest.raises(DataError, match=r"aa\.png"):
        list(top_half.predict_folder(images))
    told: list[str] = []
    rest = top_half.predict_folder(images, unreadable=lambda file, reason: told.append(f"{file.name}: {reason}"))
    assert [file.name for file, _ in rest] == ["a.png", "b.png"]
    assert len(told) == 1 and told[0].startswith("aa.png: ")


def test_a_missing_folder_is_told_before_the_first_image_is_asked_for(top_half: ImagePredictor, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no"):
        top_half.predict_folder(tmp_path / "gone")
