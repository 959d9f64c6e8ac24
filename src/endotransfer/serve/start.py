"""Start the viewer: check where it may listen, load the models, open the page."""

import logging
import threading
import webbrowser
from pathlib import Path
from urllib.parse import quote

from rich.console import Console

from endotransfer.disclaimer import DISCLAIMER
from endotransfer.errors import ConfigError
from endotransfer.pretrained import locate_model
from endotransfer.serve.loopback import is_loopback

SHORTEST_TOKEN = 16
PORT = 8731


def serve(
    runs: list[Path], images: Path | None, *, host: str = "127.0.0.1", port: int = PORT, token: str | None = None,
    browser: bool = True, console: Console | None = None, prompt_model: Path | None = None,
) -> None:  # fmt: skip
    """Serve until Ctrl-C."""
    check_address(host, token)
    try:
        import uvicorn

        from endotransfer.serve.app import create_app
        from endotransfer.serve.connections import BoundedProtocol
    except ModuleNotFoundError as reason:
        fix = "install it with `pip install endotransfer[serve]`"
        raise ConfigError(f"the viewer needs {reason.name}; {fix}.") from None
    app = create_app([locate_model(run, "run") for run in runs], images, token=token, prompt_model=prompt_model)
    logging.getLogger("python_multipart").setLevel(logging.ERROR)  # a broken form is its sender's business
    address = f"http://{_shown(host)}:{port}/" + (f"?token={quote(token)}" if token else "")
    console = console or Console()
    console.print(f"viewer: {address}\nCtrl-C ends it.  {DISCLAIMER}", markup=False,
                  soft_wrap=True, highlight=False)  # fmt: skip
    if browser:
        timer = threading.Timer(1.0, webbrowser.open, [address])
        timer.daemon = True
        timer.start()
    uvicorn.run(
        app, host=host, port=port, log_level="warning", access_log=False, server_header=False, ws="none",
        http=BoundedProtocol,
        timeout_keep_alive=10, timeout_graceful_shutdown=3, h11_max_incomplete_event_size=32_768,
    )  # fmt: skip


def check_address(host: str, token: str | None) -> None:
    """Other machines may ask only where a token keeps strangers out."""
    if token is not None and (len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable()):
        raise ConfigError(f"--token must be at least {SHORTEST_TOKEN} plain characters; choose a longer one.")
    if token is None and not (host == "localhost" or is_loopback(host)):
        raise ConfigError(f"{host} can be reached by other machines; give --token as well, or leave out --host.")


def _shown(host: str) -> str:
    """A host as an address has it; one that stands for every interface is shown as this machine."""
    if host in ("0.0.0.0", "::"):
        return "localhost"
    return f"[{host}]" if ":" in host else host
