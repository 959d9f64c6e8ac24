"""The command line: parse, call, print.  Heavy imports wait inside the commands, so that `--help` answers at once."""

import multiprocessing
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Annotated, NoReturn

import typer

from endotransfer import __version__
from endotransfer.cli import (
    benchmark_commands,
    data_commands,
    init_command,
    list_commands,
    predict_commands,
    push_command,
    report_command,
    serve_command,
    train_commands,
)
from endotransfer.cli.options import Imports
from endotransfer.disclaimer import DISCLAIMER
from endotransfer.errors import EndotransferError
from endotransfer.plugins import asked_for, import_modules
from endotransfer.shortage import shortage

app = typer.Typer(
    help=f"Weakly supervised domain adaptation for lesion segmentation in endoscopy. {DISCLAIMER}",
    no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None,
)  # fmt: skip


class Terminated(KeyboardInterrupt):
    """SIGTERM, where nothing else was arranged for it: training's loop saves first, the viewer closes."""


@contextmanager
def _told_of_termination() -> Iterator[None]:
    """Within, SIGTERM and Ctrl-C raise; the handlers of before come back afterwards.

    Where that is swallowed, as some imports do, which then fail in a way of their own, it is raised again.
    """
    if threading.current_thread() is not threading.main_thread():  # nobody can send it a signal
        yield
        return
    asked: list[type[KeyboardInterrupt]] = []

    def leave(number: int, frame: FrameType | None) -> None:
        asked.append(Terminated if number == signal.SIGTERM else KeyboardInterrupt)
        raise asked[0]

    before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    except Exception as error:
        if asked:
            raise asked[0] from error
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def main() -> None:
    """Run a command; a user's mistake, a signal or a full machine becomes one sentence and an exit code."""
    try:
        with _told_of_termination():
            app()
    except EndotransferError as error:
        _leave(f"error: {error}", error.exit_code)
    except Terminated:
        _leave("terminated; a run or benchmark that was begun goes on from its last checkpoint.", 128 + signal.SIGTERM)
    except KeyboardInterrupt:
        _leave("interrupted.", 130)
    except (MemoryError, OSError, RuntimeError, ImportError, SystemError) as error:
        if lacking := shortage(error):
            _give_up_quietly()
            _leave(f"error: {lacking}", lacking.exit_code)
        if not isinstance(error, OSError) or error.errno is None:
            raise
        _leave(f"error: {error.strerror}: {error.filename or ''}; check space and permissions.", 3)


def _give_up_quietly() -> None:
    """What was half built would complain when it is taken down, and half-started loaders would serve for a minute."""
    sys.unraisablehook = lambda half_built: None
    for child in multiprocessing.active_children():
        child.kill()


def _leave(sentence: str, code: int) -> NoReturn:
    print(sentence, file=sys.stderr)
    sys.exit(code)


def _version(asked: bool) -> None:
    if asked:
        print(f"endotransfer {__version__}. {DISCLAIMER}")
        raise typer.Exit


@app.callback()
def _root(
    imports: Imports = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    import_modules(asked_for())  # those of the environment


app.command()(train_commands.demo)
app.command()(init_command.init)
app.command()(train_commands.train)
app.command()(train_commands.evaluate)
app.command()(benchmark_commands.benchmark)
app.command()(benchmark_commands.sweep)
app.command(cls=benchmark_commands.TwoSides)(benchmark_commands.compare)
app.command()(predict_commands.predict)
app.command()(predict_commands.export)
app.command()(push_command.push)
app.command()(serve_command.serve)
app.command()(report_command.report)
app.command()(list_commands.models)
app.command()(list_commands.methods)
app.command()(list_commands.datasets)
app.command()(list_commands.backbones)
app.command()(list_commands.recipes)
app.add_typer(data_commands.app, name="data")

if __name__ == "__main__":  # pragma: no cover
    main()
