"""The command line: parse, call, print.  Heavy imports wait inside the commands, so that `--help` answers at once."""

import sys
from typing import Annotated

import typer

from endotransfer import __version__
from endotransfer.cli import (
    benchmark_commands,
    data_commands,
    list_commands,
    predict_commands,
    report_command,
    serve_command,
    train_commands,
)
from endotransfer.cli.options import Imports
from endotransfer.disclaimer import DISCLAIMER
from endotransfer.errors import EndotransferError
from endotransfer.plugins import asked_for, import_modules

app = typer.Typer(
    help=f"Weakly supervised domain adaptation for lesion segmentation in endoscopy. {DISCLAIMER}",
    no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None,
)  # fmt: skip


def main() -> None:
    """Run a command; a user's mistake becomes one sentence and an exit code."""
    try:
        app()
    except EndotransferError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("interrupted.", file=sys.stderr)
        sys.exit(130)
    except OSError as error:
        if error.errno is None:
            raise
        print(f"error: {error.strerror}: {error.filename or ''}; check space and permissions.", file=sys.stderr)
        sys.exit(3)


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
app.command()(train_commands.train)
app.command()(train_commands.evaluate)
app.command()(benchmark_commands.benchmark)
app.command()(benchmark_commands.sweep)
app.command(cls=benchmark_commands.TwoSides)(benchmark_commands.compare)
app.command()(predict_commands.predict)
app.command()(predict_commands.export)
app.command()(serve_command.serve)
app.command()(report_command.report)
app.command()(list_commands.methods)
app.command()(list_commands.datasets)
app.command()(list_commands.backbones)
app.command()(list_commands.recipes)
app.add_typer(data_commands.app, name="data")

if __name__ == "__main__":  # pragma: no cover
    main()
