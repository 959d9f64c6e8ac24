"""The images of a folder and what the models say of them, as the page gets it."""

import re
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from starlette.testclient import TestClient

from endotransfer.batch import IGNORE, Sample
from endotransfer.data.class_colours import colour_table
from endotransfer.data.folders.classes import Classes
from endotransfer.data.read.read_mask import read_mask
from endotransfer.errors import ConfigError, DataError
from endotransfer.predict.predictor import load
from endotransfer.serve import memory, pictures
from endotransfer.serve.edge_doubt import edge_doubt
from endotransfer.serve.folder_walk import Survey
from endotransfer.serve.image_catalogue import CatalogueEntry, ImageCatalogue, in_order
from endotransfer.serve.image_figures import ImageFigures
from endotransfer.serve.pictures import FILL, LINE
from endotransfer.serve.predictions import HALF, disagreement, encode, labels_of, load_models, overlap, score_of
from tests.model_folders import write_model
from tests.serve.conftest import MakeClient, ids, pixels, saved


def wait_for_survey(client: TestClient) -> None:
    for _ in range(200):
        progress = client.get("/api/survey").json()
        if progress["done"] == progress["total"]:
            return
        time.sleep(0.05)
    raise AssertionError("the walk over the folder does not end")


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_codes_from_half_on_are_exactly_the_most_probable_class(classes: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    logits = random.normal(scale=random.choice([0.0, 1e-7, 1.0, 30.0]), size=(classes, 6, 7)).astype(np.float32)
    shares = np.exp(logits - logits.max(0))
    probabilities = (shares / shares.sum(0)).astype(np.float32)
    assert (labels_of(encode(probabilities)) == probabilities.argmax(0)).all()


def test_with_two_classes_the_code_is_the_lesions_probability_in_256_steps() -> None:
    lesion = np.linspace(0, 1, 1001, dtype=np.float32)[None]
    encoded = encode(np.stack([1 - lesion, lesion]))
    assert (encoded[..., 0] == 1).all()
    for threshold in (1, 64, HALF, 200, 255):
        wanted = lesion > threshold / 256
        assert (labels_of(encoded, threshold) == wanted).mean() > 0.998  # but for rounding on the very edge


def test_a_map_is_what_the_model_predicts(client: TestClient, runs: list[Path], folder: Path) -> None:
    for name, image in list(ids(client).items())[:3]:
        for model, run in enumerate(runs):
            prediction = load(run).predict(folder / "images" / f"{name}.png")
            encoded = pixels(client.get(f"/api/images/{image}/map/{model}").content)
            assert (labels_of(encoded) == prediction.mask).all()
            said = client.get(f"/api/images/{image}").json()["models"][model]
            assert said["area"] == pytest.approx(prediction.lesion_share)
            assert said["doubt"] == pytest.approx(edge_doubt(score_of(prediction.probabilities)[1]))
            assert said["lesion_probability"] == pytest.approx(prediction.lesion_probability)


def test_the_truth_and_the_iou_are_those_of_the_mask(client: TestClient, folder: Path, runs: list[Path]) -> None:
    name, image = next((name, image) for name, image in ids(client).items())
    truth = read_mask(folder / "masks" / f"{name}.png", Classes()).mask
    assert (pixels(client.get(f"/api/images/{image}/truth").content) == truth).all()
    said = client.get(f"/api/images/{image}").json()
    mask = load(runs[0]).predict(folder / "images" / f"{name}.png").mask
    both, either = ((mask == 1) & (truth == 1)).sum(), ((mask == 1) | (truth == 1)).sum()
    assert said["models"][0]["iou_lesion"] == (pytest.approx(both / either) if either else None)


def test_the_list_is_sorted_by_what_the_models_say(client: TestClient) -> None:
    wait_for_survey(client) if client.get("/api/images").status_code == 200 else None
    for order in ("doubt", "area", "disagreement"):
        rows = client.get("/api/images", params={"order": order}).json()["images"]
        values = [row[order] for row in rows]
        assert len(values) == 12
        assert values == sorted(values, reverse=True)
    names = [row["name"] for row in client.get("/api/images").json()["images"]]
    assert names == sorted(names)


def test_an_image_without_a_figure_comes_last() -> None:
    entries = [CatalogueEntry(name, name, Sample(f"f/{name}", Path(name))) for name in "abc"]
    figures: dict[str, ImageFigures] = {
        "a": {"disagreement": 0.1},
        "c": {"disagreement": 0.9},
        "b": {"disagreement": None},
    }
    assert [entry.id for entry in in_order(entries, "disagreement", figures)] == ["c", "a", "b"]
    assert [entry.id for entry in in_order(entries, "name", figures)] == ["a", "b", "c"]


def test_disagreement_counts_only_what_either_marks() -> None:
    one, other = np.array([[1, 1, 0, 0, 2]], np.uint8), np.array([[1, 0, 0, IGNORE, 1]], np.uint8)
    assert disagreement(one, other) == pytest.approx(2 / 3)
    assert disagreement(one * 0, one * 0) == 0


def test_the_overlap_of_an_absent_class_does_not_exist() -> None:
    said = overlap(np.zeros((2, 2), np.uint8), np.zeros((2, 2), np.uint8), 3)
    assert said == {"iou": [1.0, None, None], "iou_lesion": None}


def test_a_plain_folder_of_images_will_do(make_client: MakeClient, runs: list[Path], folder: Path) -> None:
    client = make_client(runs[:1], folder / "images")
    row = client.get("/api/images").json()["images"][0]
    assert row["truth"] is False
    assert client.get(f"/api/images/{row['id']}/truth").status_code == 404
    assert client.get("/api/about").json()["truths"] is False


@pytest.mark.parametrize("made", [False, True])
def test_a_folder_without_images_is_refused(tmp_path: Path, made: bool) -> None:
    if made:
        (tmp_path / "images").mkdir()
    with pytest.raises(DataError):
        ImageCatalogue(tmp_path if made else tmp_path / "absent")
    with pytest.raises(DataError, match="holds no image"):
        (tmp_path / "empty").mkdir()
        ImageCatalogue(tmp_path / "empty")


def test_sub_folders_by_patient_are_looked_into(tmp_path: Path) -> None:
    for name in (
        "p1/a.png",
        "p1/deep/a.JPG",
        "p2/a.png",
        "p1-a.png",
        "reviewed/versions/x.png",
        "masks/a.png",
        ".hid/a.png",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (32, 32)).save(tmp_path / name)
    (tmp_path / "back").symlink_to(tmp_path, target_is_directory=True)
    entries = ImageCatalogue(tmp_path).by_name()
    assert {name: entry.sample.image.relative_to(tmp_path).as_posix() for name, entry in entries.items()} == {
        "p1-a": "p1-a.png", "p1-a_": "p1/a.png", "p1-deep-a": "p1/deep/a.JPG", "p2-a": "p2/a.png",
    }  # fmt: skip


def test_pictures_that_are_not_shown_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a.png", "p1/a.jpg", "p1/a.png", "p1/b.dcm", "p2/c.HEIC", "videos/d.mp4", "masks/e.gif", "notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.new("RGB", (32, 32)).save(tmp_path / name, "png")
    assert len(ImageCatalogue(tmp_path).entries) == 2
    said = capsys.readouterr().err
    assert "note: 3 files with pictures" in said and "(.dcm 1, .heic 1, .png 1; first: p1/a.png)" in said
    for name in ("p1/a.png", "p1/b.dcm", "p2/c.HEIC"):
        (tmp_path / name).unlink()
    ImageCatalogue(tmp_path)
    assert capsys.readouterr().err == ""


def test_links_that_leave_the_folder_are_not_shown(
    make_client: MakeClient, runs: list[Path], folder: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.png"
    outside.write_bytes(saved(Image.new("RGB", (32, 32))))
    (folder / "images" / "link.png").symlink_to(outside)
    shutil.rmtree(folder / "masks")
    (folder / "labels.csv").unlink()
    assert "link" not in ids(make_client(runs[:1], folder))


def test_a_mask_that_does_not_fit_is_no_truth(make_client: MakeClient, runs: list[Path], folder: Path) -> None:
    names = sorted(path.stem for path in (folder / "masks").iterdir())
    (folder / "masks" / f"{names[0]}.png").write_bytes(saved(Image.new("L", (3, 3))))
    (folder / "masks" / f"{names[1]}.png").write_bytes(b"nothing")
    client = make_client(runs[:1], folder)
    known = ids(client)
    for name in names[:2]:
        assert client.get(f"/api/images/{known[name]}/truth").status_code == 404
        assert "iou" not in client.get(f"/api/images/{known[name]}").json()["models"][0]


def test_an_image_that_cannot_be_read_is_told_and_the_others_go_on(
    make_client: MakeClient, runs: list[Path], folder: Path
) -> None:
    names = sorted(path.stem for path in (folder / "images").iterdir())
    (folder / "images" / f"{names[0]}.png").write_bytes(b"\x89PNG\r\n\x1a\nbroken")
    client = make_client(runs[:1], folder)
    known = ids(client)
    wait_for_survey(client)
    rows = {row["name"]: row for row in client.get("/api/images").json()["images"]}
    assert [name for name, row in rows.items() if row["unreadable"]] == [names[0]]
    answer = client.get(f"/api/images/{known[names[0]]}/picture")
    assert answer.status_code == 400
    assert str(folder) not in answer.text


def test_a_large_image_is_shown_smaller(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "SHOWN_SIDE", 20)
    image = next(iter(ids(client).values()))
    details = client.get(f"/api/images/{image}").json()
    assert (details["size"], details["shown"]) == ([32, 32], [20, 20])
    for kind in ("picture", "map/0", "truth", "superpixels"):
        assert pixels(client.get(f"/api/images/{image}/{kind}").content).shape[:2] == (20, 20)


def test_thumbnails_and_superpixels(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "SUPERPIXEL_SIDE", 16)
    image = next(iter(ids(client).values()))
    assert max(pixels(client.get(f"/api/images/{image}/thumbnail").content).shape[:2]) <= 160
    numbers = pixels(client.get(f"/api/images/{image}/superpixels").content).astype(int) @ [1, 256, 65536]
    assert numbers.shape == (32, 32)
    assert (
        client.get(f"/api/images/{image}/superpixels").content == client.get(f"/api/images/{image}/superpixels").content
    )
    assert client.get(f"/api/images/{image}/other").status_code == 404
    assert client.get(f"/api/images/{image}/map/2").status_code == 404
    assert client.get("/api/images/unknown").status_code == 404


def test_a_mask_over_a_thumbnail_is_clear_where_there_is_nothing(client: TestClient) -> None:
    for name, image in list(ids(client).items())[:3]:
        encoded = pixels(client.get(f"/api/images/{image}/map/0").content)
        mask = labels_of(encoded)
        found = pixels(client.get(f"/api/images/{image}/mask-thumbnail").content)
        around = np.pad(mask, 1, mode="edge")
        height, width = mask.shape
        for y, x in np.ndindex(mask.shape):
            beside = {around[y + 1 + dy, x + 1 + dx] for dy, dx in ((0, 1), (0, -1), (1, 0), (-1, 0))}
            opacity = 0 if not mask[y, x] else FILL if beside == {mask[y, x]} else LINE
            assert found[y, x].tolist() == [*colour_table()[mask[y, x]], opacity], name
        assert found.shape == (height, width, 4)


def test_the_page_names_every_module_that_its_first_one_needs(client: TestClient) -> None:
    linked = set(re.findall(r'rel="modulepreload" href="/page/(\w+\.js)"', client.get("/").text))
    assert {path.name for path in (Path(pictures.__file__).parent / "page").glob("*.js")} == linked


def test_memory_is_given_back_where_the_system_can(monkeypatch: pytest.MonkeyPatch) -> None:
    memory.give_back()

    def no_library(_: object) -> None:
        raise OSError

    monkeypatch.setattr("ctypes.CDLL", no_library)
    monkeypatch.setattr(memory, "_trim", memory._find_trim())
    assert memory._trim is None
    memory.give_back()


@given(st.integers(1, 9000), st.integers(1, 9000))
def test_a_shrunken_side_is_never_nothing(height: int, width: int) -> None:
    tall, wide = pictures.fit((height, width), 64)
    assert 1 <= tall <= max(64, 1)
    assert 1 <= wide <= 64


def test_one_run_or_two_of_the_same_classes(
    runs: list[Path],
    make_experiment: Any,
    tmp_path: Path,
) -> None:
    from endotransfer.engine.run import train

    with pytest.raises(ConfigError, match="one run or two"):
        load_models([*runs, runs[0]])
    twin = tmp_path / "other" / runs[0].name
    shutil.copytree(runs[0], twin)
    assert [model.name for model in load_models([runs[0], twin])] == [f"{runs[0].parent.name}/robust", "other/robust"]
    train(make_experiment("untagged", "source_only", epochs=1, steps_per_epoch=1), tmp_path / "five")
    with pytest.raises(ConfigError, match="different classes"):
        load_models([runs[0], tmp_path / "five"])
    assert len(load_models([tmp_path / "five"])[0].predictor.classes) == 5


def test_the_walk_steps_aside_and_can_be_stopped() -> None:
    entries = [CatalogueEntry(str(n), str(n), Sample(f"f/{n}", Path(str(n)))) for n in range(3)]
    looked: list[str] = []
    waits = iter([True, True, False, False])
    survey = Survey(entries, lambda entry: looked.append(entry.id), lambda: next(waits, True))
    survey.start()
    survey.start()
    for _ in range(200):
        if len(looked) == 2:
            break
        time.sleep(0.01)
    survey.stop()
    assert looked == ["0", "1"]
    assert survey.progress() == {"done": 2, "total": 3}
    survey.start()
    assert survey.done == 2


def test_an_image_unlike_the_training_images_is_said_in_list_and_details(
    make_client: MakeClient, folder: Path, tmp_path: Path
) -> None:
    Image.new("RGB", (64, 48)).save(folder / "images" / "0003.png")
    client = make_client([write_model(tmp_path / "model")], folder)
    black = ids(client)["0003"]
    (figures,) = client.get(f"/api/images/{black}").json()["models"]
    assert figures["unfamiliar"] == "almost black" and figures["unfamiliarity"] > 1
    rows = {row["name"]: row for row in client.get("/api/images").json()["images"]}
    assert rows["0003"]["unfamiliar"] == "almost black"


def test_a_model_that_cannot_tell_says_nothing(client: TestClient) -> None:
    image = next(iter(ids(client).values()))
    (*models,) = client.get(f"/api/images/{image}").json()["models"]
    assert models and all(one["unfamiliar"] is one["unfamiliarity"] is None for one in models)
    assert all(row["unfamiliar"] is None for row in client.get("/api/images").json()["images"])
