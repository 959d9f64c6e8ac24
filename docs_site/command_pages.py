"""A page for every command, and one that lists them: made from the code when the site is built, so never stale."""

import inspect
import io
from contextlib import redirect_stdout
from pathlib import Path

from docs_site.commands import Command, Parameter, all_commands
from docs_site.shown_examples import examples_of
from endotransfer.cli import list_commands
from endotransfer.data.importers import IMPORTERS

_LISTS = {"methods": list_commands.methods, "datasets": list_commands.datasets, "recipes": list_commands.recipes}


def command_pages(docs: Path) -> dict[str, str]:
    """Path in the site -> Markdown, in the order of the navigation."""
    commands = all_commands()
    return {"commands/index.md": _overview(commands)} | {one.page: _page(one, docs) for one in commands}


def _overview(commands: list[Command]) -> str:
    rows = [f"| [`{one.name}`]({Path(one.page).name}) | {one.summary} |" for one in commands]
    text = """# Commands

These pages are made from the program itself. `endotransfer COMMAND --help` prints the same.

| command | what it does |
|---|---|
{rows}

Nothing is overwritten without `--force`. A mistake is one sentence on stderr: what, where, how to fix; its kind is the
[exit code](../formats.md#exit-codes). `--import MODULE` (before or behind the command) loads methods of
[your own package](../adding-a-method.md#in-your-own-package); `endotransfer --version` prints the version.
"""
    return text.format(rows="\n".join(rows))


def _page(command: Command, docs: Path) -> str:
    parts = [f"# {command.name}", command.help, f"```text\n{command.usage}\n```"]
    parts += _table("Arguments", command.arguments)
    parts += _table("Options", command.options)
    if command.name == "data import":
        parts += _importers()
    if command.name in _LISTS:
        parts += ["## What it prints", f"```text\n{_printed(command.name)}```"]
    parts += _examples(command, docs)
    parts += ["## Exit codes", _exit_codes(docs)]
    return "\n\n".join(parts) + "\n"


def _table(title: str, parameters: list[Parameter]) -> list[str]:
    if not parameters:
        return []
    rows = [f"| `{_plain(one.written)}` | {_cell(one.meaning)} | {_cell(one.limits)} |" for one in parameters]
    return [f"## {title}", "\n".join(["| | meaning | |", "|---|---|---|", *rows])]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("0.3333333333333333", "1/3")


def _plain(written: str) -> str:
    """Types in the words of users."""
    for kind, word in (("<list[Path]>", "<path> ..."), ("<str>", "<text>"), (" range>", ">"), ("<int>", "<number>")):
        written = written.replace(kind, word)
    return written.replace("RUN ... <path> ...", "RUN ...")


def _examples(command: Command, docs: Path) -> list[str]:
    found = examples_of(command.name, docs)
    if not found:
        return []
    lines = "\n".join(example.line for example in found)
    pages = sorted({f"[{example.title}](../{example.page})" for example in found})
    return ["## Examples", f"```sh\n{lines}\n```", f"Explained in: {', '.join(pages)}."]


def _importers() -> list[str]:
    parts = ["## Importers and their options"]
    for name, importer in IMPORTERS.items():
        options = ", ".join(
            f"`--{key.replace('_', '-')}`{_default(value)}" for key, value in importer.options().items()
        )
        parts.append(f"### {name}\n\n{importer.summary}.")
        if options:
            parts.append(f"Options: {options}.")
            parts.append(inspect.cleandoc(importer.read.__doc__ or ""))
    return parts


def _exit_codes(docs: Path) -> str:
    """The table of docs/formats.md, which is the same for every command."""
    section = (docs / "formats.md").read_text(encoding="utf-8").partition("## Exit codes\n")[2]
    return "\n".join(line for line in section.splitlines() if line.startswith("|"))


def _default(value: str) -> str:
    return f" (default `{value}`)" if value else ""


def _printed(name: str) -> str:
    with redirect_stdout(io.StringIO()) as printed:
        _LISTS[name]()
    return printed.getvalue()
