"""The commands of the program as it is installed, and what their `--help` says."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import typer
from typer.core import TyperCommand, TyperGroup

from endotransfer.cli.main import app

_LIMITS = re.compile(r"(.*?)\s*\[([^\[\]]*)\]", re.DOTALL)


@dataclass(frozen=True)
class Parameter:
    """An argument or option: how it is written, what it means, and `limits` such as `required` or `default: 8`."""

    written: str
    meaning: str
    limits: str


@dataclass(frozen=True)
class Command:
    words: tuple[str, ...]  # ("data", "inspect")
    usage: str
    help: str
    arguments: list[Parameter]
    options: list[Parameter]

    @property
    def name(self) -> str:
        return " ".join(self.words)

    @property
    def page(self) -> str:
        return f"commands/{'-'.join(self.words)}.md"

    @property
    def summary(self) -> str:
        """The first sentence of its help."""
        return re.split(r"(?<=[.?])\s", self.help, maxsplit=1)[0].rstrip(".")


def all_commands() -> list[Command]:
    """In the order in which `endotransfer --help` lists them."""
    return [_described(command, words) for command, words in _walk(typer.main.get_command(app), ())]


def _walk(command: object, words: tuple[str, ...]) -> Iterator[tuple[TyperCommand, tuple[str, ...]]]:
    if isinstance(command, TyperGroup):
        for name, below in command.commands.items():
            yield from _walk(below, (*words, name))
    elif isinstance(command, TyperCommand):
        yield command, words


def _described(command: TyperCommand, words: tuple[str, ...]) -> Command:
    context = command.context_class(command, info_name=" ".join(["endotransfer", *words]))
    usage = " ".join(command.get_usage(context).removeprefix("Usage: ").split())
    kinds: dict[str, list[Parameter]] = {"argument": [], "option": []}
    for parameter in command.params:
        if record := parameter.get_help_record(context):  # none for what is hidden
            kinds[parameter.param_type_name].append(_parameter(*record))
    return Command(words, usage, (command.help or "").strip(), kinds["argument"], kinds["option"])


def _parameter(written: str, told: str) -> Parameter:
    """`Folder to write.  [required]` -> what it means, and `required`."""
    found = _LIMITS.fullmatch(told.strip())
    return Parameter(written, found[1], found[2]) if found else Parameter(written, told.strip(), "")
