"""Clicks on an image become a mask: with a promptable network, and without one by super-pixels."""

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from endotransfer.errors import ConfigError
from endotransfer.predict.predictor import load
from endotransfer.predict.prompts.grow_regions import GrownImage
from endotransfer.predict.prompts.model_hint import model_hint
from endotransfer.predict.prompts.prompt import Point, Prompt
from endotransfer.predict.prompts.region_graph import Hint
from endotransfer.serve import prepared_images
from endotransfer.serve.pictures import read_shown
from endotransfer.serve.prepared_images import PreparedImages
from tests.prompt_graphs import write_prompt_model
from tests.serve.conftest import MakeClient, ids, pixels

CLICK = {"points": [{"x": 20, "y": 20}]}


def asked(client: TestClient, name: str, prompt: dict[str, Any]) -> np.ndarray:
    answer = client.post(f"/api/images/{ids(client)[name]}/segment", json=prompt)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "image/png"
    return pixels(answer.content)


def shown(folder: Path, name: str) -> np.ndarray:
    return read_shown(folder / "images" / f"{name}.png")[0]


def test_without_a_network_super_pixels_answer_and_the_model_only_where_it_is_not_measured(
    client: TestClient, runs: list[Path], folder: Path
) -> None:
    prompt = Prompt((Point(20, 20), Point(2, 3, positive=False)))
    points = [{"x": 20, "y": 20}, {"x": 2, "y": 3, "positive": False}]
    model, names = load(runs[0], "cpu"), sorted(ids(client))
    plain = {name: GrownImage(shown(folder, name)).segment(prompt) for name in names}
    hinted = {
        name: GrownImage(shown(folder, name), model_hint(model, shown(folder, name))).segment(prompt) for name in names
    }
    assert any((plain[name] != hinted[name]).any() for name in names)
    for name in names:
        found = asked(client, name, {"points": points})
        assert found.shape == plain[name].shape
        assert set(np.unique(found)) <= {0, 1}
        assert (found == hinted[name]).all()
    drawn = client.post("/api/sample", json={"count": 2}).json()["plan"]["images"]
    for name in names:
        assert (asked(client, name, {"points": points}) == (plain if name in drawn else hinted)[name]).all()


def test_where_the_sample_cannot_be_read_no_model_has_a_say(client: TestClient, folder: Path) -> None:
    client.post("/api/sample", json={"count": 2})
    (folder / "reviewed" / "sample.yaml").write_text("images: 7")
    name = sorted(ids(client))[0]
    wanted = GrownImage(shown(folder, name)).segment(Prompt((Point(20, 20),)))
    assert (asked(client, name, CLICK) == wanted).all()


def test_a_promptable_network_answers_where_there_is_one(
    make_client: MakeClient, runs: list[Path], folder: Path, tmp_path: Path
) -> None:
    client = make_client(runs, folder, prompt_model=write_prompt_model(tmp_path / "network"))
    name = next(iter(ids(client)))
    assert client.post(f"/api/images/{ids(client)[name]}/prepare").status_code == 204
    red = shown(folder, name)[..., 0].astype(int)
    y, x = np.unravel_index(red.argmin(), red.shape)
    clear = abs(red - 124) > 60
    for prompt, wanted in (({"points": [{"x": int(x), "y": int(y)}]}, red < 124), ({"box": [0, 0, 30, 30]}, red > 124)):
        assert (asked(client, name, prompt) == wanted)[clear].mean() > 0.9


def test_a_folder_without_a_network_is_refused_at_the_start(runs: list[Path], make_client: MakeClient) -> None:
    with pytest.raises(ConfigError, match="there is no nowhere; name a folder"):
        make_client(runs, None, prompt_model=Path("nowhere"))


@pytest.mark.parametrize(
    "prompt",
    [
        {},
        {"points": []},
        {"points": [{"x": 1, "y": 1, "positive": False}]},
        {"points": [{"x": 1}]},
        {"points": [{"x": 1e9, "y": 1}]},
        {"points": [{"x": "a", "y": 1}]},
        {"points": [{"x": 1, "y": 1}] * 31},
        {"points": [{"x": 1, "y": 1}], "class": 2},
        {"box": [1, 2, 3]},
        {"box": [9, 9, 3, 3]},
        [],
    ],
)
def test_what_is_no_prompt_is_refused(client: TestClient, prompt: object) -> None:
    answer = client.post(f"/api/images/{next(iter(ids(client).values()))}/segment", json=prompt)
    assert answer.status_code == 422
    assert answer.json()["code"] == "invalid"


def test_an_unknown_image(client: TestClient) -> None:
    assert client.post("/api/images/nothing/segment", json=CLICK).status_code == 404
    assert client.post("/api/images/nothing/prepare").status_code == 404


def test_an_image_is_prepared_once_for_many_and_forgotten_in_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    class Counted(GrownImage):
        def __init__(self, image: np.ndarray, hint: Hint | None = None) -> None:
            made.append(image)
            super().__init__(image, hint)

    monkeypatch.setattr(prepared_images, "GrownImage", Counted)
    images, paths = PreparedImages(None), sorted((folder / "images").iterdir())[: prepared_images.MOST + 1]
    threads = [threading.Thread(target=images.prepare, args=(paths[0],)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    for path in paths[1:]:
        images.prepare(path)
    images.prepare(paths[-1])
    assert len(made) == len(paths)
    images.prepare(paths[0])  # made room for the others
    assert len(made) == len(paths) + 1


def test_a_click_on_a_prepared_image_does_not_wait_for_the_next_one(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = list(ids(client).values())[:2]
    assert client.post(f"/api/images/{first}/prepare").status_code == 204
    under, done = threading.Event(), threading.Event()

    class Slow(GrownImage):
        def __init__(self, image: np.ndarray, hint: Hint | None = None) -> None:
            under.set()
            assert done.wait(20)
            super().__init__(image, hint)

    monkeypatch.setattr(prepared_images, "GrownImage", Slow)
    ahead = threading.Thread(target=client.post, args=(f"/api/images/{second}/prepare",))
    ahead.start()
    assert under.wait(20)
    assert client.post(f"/api/images/{first}/segment", json=CLICK).status_code == 200
    assert client.get(f"/api/images/{second}/picture").status_code == 200
    assert ahead.is_alive()
    done.set()
    ahead.join()


def test_the_page_is_told_who_answers(
    make_client: MakeClient, client: TestClient, runs: list[Path], tmp_path: Path
) -> None:
    assert client.get("/api/about").json()["prompt_model"] is None
    networked = make_client(runs, None, prompt_model=write_prompt_model(tmp_path / "tiny"))
    assert networked.get("/api/about").json()["prompt_model"] == "tiny"
