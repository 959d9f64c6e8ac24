"""One Chromium for the browser tests, and a viewer to visit."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from endotransfer.data.phantom import write_phantom
from endotransfer.testing.fixtures import MakeExperiment
from tests.browser.chromium import launch
from tests.browser.looking import unfold
from tests.browser.screens import Screen, for_each_screen
from tests.prompt_graphs import write_prompt_model
from tests.served import Server, serving, train_two

OURS = "willReadFrequently"  # a hint that the browser gives to the test, which reads the canvas


@pytest.fixture(scope="module")  # no longer: while it lives, no other test of this process may run an event loop
def browser() -> Iterator[Any]:
    with launch() as chromium:
        yield chromium


@pytest.fixture(scope="session")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("looked-at")
    write_phantom(root, 6, seed=2, size=96, processes=1)
    return root / "capsule"


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, make_experiment: MakeExperiment, images: Path) -> Iterator[Server]:
    root = tmp_path_factory.mktemp("viewer")
    with serving(train_two(root, make_experiment), images, root / "home") as started:
        yield started


@pytest.fixture(scope="session")
def networked(server: Server, tmp_path_factory: pytest.TempPathFactory, images: Path) -> Iterator[Server]:
    """The same with a promptable network in miniature."""
    root = tmp_path_factory.mktemp("networked")
    with serving([server.run], images, root / "home", write_prompt_model(root / "tiny-network")) as started:
        yield started


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for_each_screen(metafunc)


@pytest.fixture
def screen(request: pytest.FixtureRequest) -> Screen:
    """Width, height and colour scheme: one of `SCREENS`."""
    found: Screen = request.param
    return found


@pytest.fixture
def visit(browser: Any, server: Server, images: Path, screen: Screen) -> Iterator[Callable[..., Any]]:
    """`visit()`: a page that is ready, on the test's screen.  Afterwards: nothing was said, nobody else was asked."""
    contexts, said, asked, addresses = [], list[str](), list[str](), list[str]()

    def open_page(path: str = "", at: Server = server) -> Any:
        context = browser.new_context(**screen.context)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(at.address + path)
        addresses.append(at.address)
        page.wait_for_selector("html[data-ready]")
        unfold(page)
        return page

    open_page.expected = []  # type: ignore[attr-defined]
    yield open_page
    for context in contexts:
        context.close()
    shutil.rmtree(images / "reviewed", ignore_errors=True)
    assert [text for text in said if OURS not in text] == open_page.expected  # type: ignore[attr-defined]
    assert [url for url in asked if not url.startswith((*addresses, "blob:", "data:"))] == []
