"""Commands in the documentation can be given as they stand."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.core import TyperCommand, TyperGroup

from endotransfer.cli.main import app
from tests.docs.pages import PAGES, ROOT, SOURCE, blocks, named, prose, text_of

LINE = re.compile(r"(?:torchrun .* -m endotransfer|srun endotransfer|(?:\w+=\w+ )?endotransfer) (.+)")


def shown_commands() -> Iterator[tuple[Path, str]]:
    """Whole commands: lines of code that begin with the program's name, or that give its module to torchrun."""
    for page in PAGES:
        code = "\n".join([*blocks(page, "sh"), *re.findall(r"^    (.+)$", prose(page), re.MULTILINE)])
        for line in re.sub(r"\\\n\s*", " ", code).splitlines():
            if found := LINE.match(line):
                yield page, found[1]


def mentioned_commands() -> Iterator[tuple[Path, str]]:
    for page in PAGES:
        yield from ((page, command) for command in re.findall(r"`endotransfer ([^`]+)`", prose(page)))


def find_command(words: list[str]) -> tuple[TyperCommand | TyperGroup, list[str]]:
    """The command that `words` begin with, and the words behind its name."""
    command = typer.main.get_command(app)
    while isinstance(command, TyperGroup) and words and not words[0].startswith("-"):
        assert words[0] in command.commands, f"there is no command {words[0]}"
        command, words = command.commands[words[0]], words[1:]
    assert isinstance(command, TyperCommand | TyperGroup)
    return command, words


@pytest.mark.parametrize(("page", "command"), named(shown_commands()))
def test_a_shown_command_can_be_given_as_it_stands(page: Path, command: str) -> None:
    found, words = find_command(shlex.split(command, comments=True))
    if "--import" in words:  # imports as it is parsed
        first = words.index("--import")
        words = words[:first] + words[first + 2 :]
    found.make_context(found.name, list(words))  # parses, and runs nothing


@pytest.mark.parametrize(("page", "command"), named(mentioned_commands()))
def test_a_mentioned_command_exists_with_its_options(page: Path, command: str) -> None:
    found, words = find_command(command.split())
    options = (option for one in found.params for option in (*one.opts, *one.secondary_opts))
    known = {"--help", *options}
    assert {word.partition("=")[0] for word in words if word.startswith("--")} <= known


def test_a_recipe_that_a_command_names_is_built_in() -> None:
    commands = [shlex.split(command, comments=True) for _, command in shown_commands()]
    named_first = {words[1] for words in commands if words[0] in ("benchmark", "sweep", "train")}
    recipes = {name for name in named_first if "/" not in name}
    assert recipes <= {path.stem for path in (SOURCE / "recipes").glob("*.yaml")}


def test_every_recipe_is_in_the_guide() -> None:
    guide = prose(ROOT / "docs" / "guide.md")
    assert [path.stem for path in (SOURCE / "recipes").glob("*.yaml") if f"`{path.stem}`" not in guide] == []


def make_targets() -> Iterator[tuple[Path, str]]:
    for page in PAGES:
        yield from ((page, target) for target in re.findall(r"(?:^|`)make ([\w-]+)", text_of(page), re.MULTILINE))


@pytest.mark.parametrize(("page", "target"), named(make_targets()))
def test_a_make_target_exists(page: Path, target: str) -> None:
    assert re.search(rf"^{target}:", text_of(ROOT / "Makefile"), re.MULTILINE)
