"""*Next batch* through the service: who may be chosen, and who never is."""

from pathlib import Path

from starlette.testclient import TestClient

from tests.serve.conftest import MakeClient
from tests.serve.learning.conftest import confirm_truth, predicted


def ask(client: TestClient, count: int) -> list[str]:
    said = client.post("/api/learning/batch", json={"count": count})
    assert said.status_code == 201, said.text
    return list(said.json()["names"])


def test_only_what_may_be_trained_on_is_chosen(client: TestClient, folder: Path) -> None:
    rows = {row["name"]: row for row in predicted(client)}
    assert {"test", "train"} == {row["split"] for row in rows.values()}
    names = ask(client, 50)
    assert names and all(rows[name]["split"] == "train" and rows[name]["tag"] == "lesion" for name in names)
    patients = [rows[name]["patient"] or name for name in names]
    assert len({*patients}) == len(patients)
    assert names == ask(client, 50)
    confirm_truth(folder, names[:1])
    assert names[0] not in ask(client, 50)


def test_images_drawn_for_measuring_are_never_chosen(client: TestClient, folder: Path) -> None:
    predicted(client)
    names = ask(client, 50)
    plan = "\n".join(f"- '{name}'" for name in names)
    (folder / "reviewed").mkdir()
    (folder / "reviewed" / "sample.yaml").write_text(f"images:\n{plan}\ndrawn_from: all\nseed: 1\nwhen: now\n")
    assert not {*names} & {*ask(client, 50)}


def test_it_waits_until_every_image_is_predicted(client: TestClient) -> None:
    said = client.post("/api/learning/batch", json={"count": 3})
    assert (said.status_code, said.json()["code"]) == (409, "not-predicted")
    predicted(client)
    assert len(ask(client, 1)) == 1
    assert client.post("/api/learning/batch", json={"count": 0}).status_code == 422


def test_only_the_page_may_ask_and_only_with_a_folder(make_client: MakeClient, runs: list[Path]) -> None:
    client = make_client(runs)
    assert client.post("/api/learning/batch", json={"count": 3}).json()["code"] == "no-folder"
    assert client.get("/api/learning").json()["possible"] is False
    del client.headers["X-Endotransfer"]
    for method, path in (
        ("POST", "batch"),
        ("POST", "job"),
        ("DELETE", "job"),
        ("POST", "job/resume"),
        ("POST", "serve"),
    ):
        assert client.request(method, f"/api/learning/{path}").json()["code"] == "foreign"
