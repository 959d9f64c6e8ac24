"""Who is let in, how much may be sent, and what an answer gives away."""

import asyncio
from http.cookies import CookieError
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import ClientDisconnect
from starlette.testclient import TestClient

from endotransfer.errors import ConfigError
from endotransfer.serve import security
from endotransfer.serve.security import HEADERS, MAX_BODY, AccessControl
from endotransfer.serve.start import check_address
from tests.serve.conftest import MakeClient

TOKEN = "a-token-that-is-long-enough"


@pytest.mark.parametrize("path", ["/", "/page/main.js", "/api/about", "/nothing", "/health", "/api/images/x"])
def test_every_answer_carries_the_headers(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    assert "server" not in answer.headers


def test_the_policy_allows_no_inline_script_and_no_other_site(client: TestClient) -> None:
    policy = client.get("/").headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "default-src 'none'" in policy


@pytest.mark.parametrize("address", ["192.0.2.7", "2001:db8::1", "no address"])
def test_only_this_machine_may_ask(make_client: MakeClient, runs: list[Path], address: str) -> None:
    stranger = make_client(runs[:1], address=address)
    assert stranger.get("/api/about").status_code == 403
    assert stranger.get("/").status_code == 403
    assert stranger.get("/health").json() == {"status": "ok"}


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "localhost.", "[::1", "10.0.0.1:80"])
def test_a_name_that_is_not_this_machines_is_refused(client: TestClient, host: str) -> None:
    assert client.get("/api/about", headers={"host": host}).status_code == 403


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:9", "[::1]:8731", "LOCALHOST:80"])
def test_names_of_this_machine_are_taken(client: TestClient, host: str) -> None:
    assert client.get("/api/about", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(("method", "path"), [("POST", "/api/uploads"), ("POST", "/api/sample"), ("PUT", "/api/x")])
def test_another_sites_form_changes_nothing(client: TestClient, method: str, path: str) -> None:
    del client.headers["X-Endotransfer"]
    answer = client.request(method, path)
    assert (answer.status_code, answer.json()["code"]) == (403, "foreign")


def test_a_token_is_needed_and_becomes_a_cookie(make_client: MakeClient, runs: list[Path]) -> None:
    client = make_client(runs[:1], address="192.0.2.7", token=TOKEN)
    assert client.get("/api/about").status_code == 401
    assert client.get("/", params={"token": TOKEN[:-1]}).status_code == 401
    assert client.get("/api/about", params={"token": TOKEN}).status_code == 401
    assert client.get("/api/about", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
    assert client.get("/api/about", headers={"Authorization": "Bearer wrong"}).status_code == 401
    assert client.get("/api/about", headers={"Cookie": "endotransfer-token=wrong"}).status_code == 401
    assert client.get("/api/about", headers={"Cookie": "a[b=;;; =\x7f"}).status_code == 401
    answer = client.get("/", params={"token": TOKEN}, follow_redirects=False)
    assert answer.headers["location"] == "/"
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert "samesite=strict" in answer.headers["set-cookie"].lower()
    assert client.get("/api/about").status_code == 200


def test_a_cookie_that_cannot_be_read_is_none(
    make_client: MakeClient, runs: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: str) -> None:
        raise CookieError("control characters")

    monkeypatch.setattr(security, "SimpleCookie", fail)  # which headers do so differs from Python to Python
    client = make_client(runs[:1], token=TOKEN)
    assert client.get("/api/about", headers={"Cookie": "a=b"}).status_code == 401


def test_a_body_that_says_it_is_too_large_is_not_read(client: TestClient) -> None:
    answer = client.post("/api/uploads", headers={"Content-Length": str(MAX_BODY + 1)}, content=b"")
    assert (answer.status_code, answer.json()["code"]) == (413, "too-large")


@pytest.mark.parametrize("length", ["-1", "1e9", "many", "9" * 30])
def test_a_length_that_is_no_number_is_refused(client: TestClient, length: str) -> None:
    assert client.post("/api/uploads", headers={"Content-Length": length}, content=b"x").status_code == 413


def test_a_body_that_grows_too_large_is_cut_off(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security, "MAX_BODY", 50_000)
    form = {"Content-Type": "multipart/form-data; boundary=b"}
    head = b'--b\r\nContent-Disposition: form-data; name="image"; filename="a"\r\n\r\n'
    answer = client.post("/api/uploads", headers=form, content=iter([head, *[b"x" * 10_000] * 10]))
    assert answer.status_code == 413


async def _ask(receive: Any, app: Any = None) -> list[dict[str, Any]]:
    """What access control sends for a POST whose body comes from `receive`."""

    async def read_all(scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass

    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": "POST", "path": "/x", "client": ("127.0.0.1", 1), "query_string": b"",
        "headers": [(b"host", b"localhost"), (b"x-endotransfer", b"page")],
    }  # fmt: skip
    await AccessControl(app or read_all)(scope, receive, send)
    return sent


def test_a_body_that_drips_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security, "WHOLE_BODY_SECONDS", 0.2)

    async def drip() -> Any:
        await asyncio.sleep(0.02)
        return {"type": "http.request", "body": b"x", "more_body": True}

    assert asyncio.run(_ask(drip))[0]["status"] == 408


def test_a_body_that_never_comes_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security, "BODY_SECONDS", 0.05)

    async def never() -> Any:
        await asyncio.sleep(60)

    assert asyncio.run(_ask(never))[0]["status"] == 408


def test_somebody_who_left_is_not_answered() -> None:
    async def leaves(scope: Any, receive: Any, send: Any) -> None:
        raise ClientDisconnect

    async def nothing() -> Any:
        return {"type": "http.disconnect"}

    assert asyncio.run(_ask(nothing, leaves)) == []


def test_waiting_for_the_end_of_a_connection_is_no_slow_body(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security, "BODY_SECONDS", 0.05)
    messages = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Any:
        if messages:
            return messages.pop()
        await asyncio.sleep(0.2)
        return {"type": "http.disconnect"}

    async def listens(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await receive()

    assert asyncio.run(_ask(receive, listens)) == []


def test_web_sockets_are_not_spoken(client: TestClient) -> None:
    sent: list[Any] = []
    asyncio.run(AccessControl(client.app)({"type": "websocket"}, None, sent.append))  # type: ignore[arg-type]
    assert sent == []


def test_a_fault_of_ours_says_nothing_of_the_inside(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise RuntimeError("/secret/path of the machine")

    monkeypatch.setattr(client.app.state.service, "about", fail)  # type: ignore[attr-defined]
    answer = client.get("/api/about")
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert "Traceback" not in answer.text


@pytest.mark.parametrize("path", ["/docs", "/redoc", "/openapi.json", "/page/..%2fapp.py", "/page/__init__.py", "/api"])
def test_there_is_nothing_beside_the_page(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/api/images/x/map/nine", 422), ("DELETE", "/", 405), ("GET", "/api/images?order=<script>", 422)],
)
def test_a_refusal_repeats_nothing_that_was_sent(client: TestClient, method: str, path: str, status: int) -> None:
    answer = client.request(method, path)
    assert answer.status_code == status
    assert set(answer.json()) == {"code", "message"}
    assert "nine" not in answer.text
    assert "<script>" not in answer.text


@pytest.mark.parametrize(
    ("host", "token", "word"),
    [("0.0.0.0", None, "--token"), ("example.org", None, "--token"), ("127.0.0.1", "short", "16"),
     ("0.0.0.0", "with a \n in the middle", "16")],
)  # fmt: skip
def test_an_open_address_needs_a_good_token(host: str, token: str | None, word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        check_address(host, token)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.9.9.9"])
def test_loopback_needs_none(host: str) -> None:
    check_address(host, None)
    check_address("0.0.0.0", TOKEN)
