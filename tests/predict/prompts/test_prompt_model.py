"""A promptable network in ONNX Runtime: what it is shown, what it answers, and what of it is kept."""

import logging
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from endotransfer.errors import CheckpointError, ConfigError
from endotransfer.predict.prompts.embedding_store import EmbeddingStore
from endotransfer.predict.prompts.prompt import Point, Prompt
from endotransfer.predict.prompts.prompt_model import EMBEDDING, PromptModel, network_image, network_points
from endotransfer.predict.prompts.prompted_image import EmbeddedImage
from tests.prompt_graphs import RATINGS, decoder, encoder, write_prompt_model

BRIGHT, DARK = Point(30, 10), Point(5, 10)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> PromptModel:
    return PromptModel(write_prompt_model(tmp_path_factory.mktemp("network") / "tiny"), threads=1)


def halves() -> np.ndarray:
    """Dark on the left, bright on the right: [20, 40, 3]."""
    pixels = np.full((20, 40, 3), 20, np.uint8)
    pixels[:, 20:] = 220
    return pixels


def test_points_keep_their_places_when_the_image_becomes_a_square() -> None:
    prompt = Prompt((Point(0, 0), Point(39, 19, positive=False)), (10, 5, 30, 15))
    places, labels = network_points(prompt, (20, 40))
    assert labels.tolist() == [2, 3, 1, 0]
    for place, (x, y) in zip(places, [(10, 5), (30, 15), (0, 0), (39, 19)], strict=True):
        assert (place + 0.5) / 1024 == pytest.approx([(x + 0.5) / 40, (y + 0.5) / 20])


def test_the_network_sees_colours_as_imagenet_has_them() -> None:
    pixels = np.full((4, 6, 3), (0, 128, 255), np.uint8)
    wanted = [(0 - 0.485) / 0.229, (128 / 255 - 0.456) / 0.224, (1 - 0.406) / 0.225]
    shown = network_image(pixels)
    assert shown.shape == (1, 3, 1024, 1024)
    assert shown[0, :, 500, 7] == pytest.approx(wanted, abs=1e-5)


def test_an_image_becomes_an_embedding_and_a_prompt_masks(model: PromptModel) -> None:
    embedding = model.embed(halves())
    assert {name: value.shape for name, value in embedding.items()} == EMBEDDING
    proposals = model.propose(embedding, (20, 40), Prompt((BRIGHT,)))
    assert proposals.expected_iou.tolist() == pytest.approx(RATINGS)
    assert (proposals.logits[0, :, 140:] > 0).all()
    assert (proposals.logits[0, :, :116] < 0).all()
    refined = model.propose(embedding, (20, 40), Prompt((BRIGHT,)), np.full((256, 256), 7, np.float32))
    assert np.allclose(refined.logits, proposals.logits + 7, atol=1e-4)


def test_clicks_choose_among_the_masks_and_come_back_at_the_images_size(model: PromptModel) -> None:
    image = EmbeddedImage(model, model.embed(halves()), (20, 40))
    bright, dark = image.segment(Prompt((BRIGHT,))), image.segment(Prompt((DARK,)))
    assert bright.shape == (20, 40)
    assert bright[:, 21:].all() and not bright[:, :19].any()
    assert dark[:, :19].all() and not dark[:, 21:].any()
    both = Prompt((BRIGHT, Point(DARK.x, DARK.y, positive=False)))
    assert (image.segment(both) == bright).mean() > 0.95


def test_an_answer_does_not_depend_on_what_was_asked_before(model: PromptModel) -> None:
    embedding = model.embed(halves())
    prompt = Prompt((BRIGHT, DARK, Point(25, 3)))
    asked = EmbeddedImage(model, embedding, (20, 40))
    for count in (1, 2):
        asked.segment(Prompt(prompt.points[:count]))
    assert (asked.segment(prompt) == EmbeddedImage(model, embedding, (20, 40)).segment(prompt)).all()


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, "holds no files called"),
        ({"encoder.onnx": encoder(), "old-encoder.onnx": encoder(), "decoder.onnx": decoder()}, "holds 2 files"),
        ({"encoder.onnx": b"text", "decoder.onnx": decoder()}, "cannot use"),
        ({"encoder.onnx": encoder(("a", "b", "c")), "decoder.onnx": decoder()}, "does not turn one image"),
        ({"encoder.onnx": encoder(), "decoder.onnx": encoder()}, "its inputs are not"),
    ],
    ids=["none", "two", "text", "names", "inputs"],
)
def test_a_folder_that_holds_no_network_is_one_sentence(files: dict[str, bytes], words: str, tmp_path: Path) -> None:
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    with pytest.raises(CheckpointError, match=words) as caught:
        PromptModel(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"there is no .*nothing; name a folder"):
        PromptModel(tmp_path / "nothing")


@pytest.mark.parametrize(("answers", "words"), [(decoder(masks=2), "shape"), (decoder(scale=np.inf), "not finite")])
def test_masks_of_no_use_are_one_sentence(answers: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / "encoder.onnx").write_bytes(encoder())
    (tmp_path / "decoder.onnx").write_bytes(answers)
    model = PromptModel(tmp_path, threads=1)
    with pytest.raises(CheckpointError, match=words):
        model.propose(model.embed(halves()), (20, 40), Prompt((BRIGHT,)))


class Counted(PromptModel):
    """Counts what it embeds."""

    embedded = 0

    def embed(self, pixels: np.ndarray) -> dict[str, np.ndarray]:
        self.embedded += 1
        return super().embed(pixels)


@pytest.fixture
def counted(tmp_path: Path) -> Counted:
    return Counted(write_prompt_model(tmp_path / "network"), threads=1)


def test_an_image_is_embedded_once_whoever_asks(counted: Counted, tmp_path: Path) -> None:
    first = EmbeddingStore(counted, tmp_path / "kept").get(halves())
    again = EmbeddingStore(counted, tmp_path / "kept").get(halves())
    assert counted.embedded == 1
    assert all((first[name] == again[name]).all() for name in EMBEDDING)
    EmbeddingStore(counted, tmp_path / "kept").get(np.asarray(Image.fromarray(halves()).rotate(180)))
    assert counted.embedded == 2


def test_a_broken_embedding_is_made_anew(counted: Counted, tmp_path: Path) -> None:
    store = EmbeddingStore(counted, tmp_path / "kept")
    store.get(halves())
    (kept,) = store.folder.iterdir()
    kept.write_bytes(kept.read_bytes()[:-5])
    store.get(halves())
    store.get(halves())
    assert counted.embedded == 2


def test_the_embedding_that_was_not_used_longest_makes_room(counted: Counted, tmp_path: Path) -> None:
    images = [np.full((4, 4, 3), value, np.uint8) for value in (1, 2, 3)]
    store = EmbeddingStore(counted, tmp_path / "kept", room=20_000_000)  # of two
    store.get(images[0])
    (oldest,) = store.folder.iterdir()
    os.utime(oldest, (1, 1))
    for image in images[1:]:
        store.get(image)
    assert len([*store.folder.iterdir()]) == 2
    assert not oldest.exists()


def test_without_a_place_for_them_embeddings_are_not_kept(
    counted: Counted, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    store = EmbeddingStore(counted, tmp_path / "file" / "kept")
    with caplog.at_level(logging.WARNING, "endotransfer.predict"):
        assert store.get(halves())["image_embed"].shape == EMBEDDING["image_embed"]
    assert "embeddings are not kept" in caplog.text
