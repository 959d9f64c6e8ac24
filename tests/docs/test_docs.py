"""The documentation tells the truth: links lead somewhere, commands and keys exist, examples work."""

import ast
import importlib.util
import inspect
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
import yaml
from pydantic import BaseModel

import endotransfer
from endotransfer import config
from endotransfer.cli.main import app
from endotransfer.config import experiment_from
from endotransfer.engine import run as engine
from endotransfer.engine.run_log import COLUMNS
from endotransfer.methods import METHODS, Method, method_config
from endotransfer.methods.semantic_transfer import SemanticTransfer
from endotransfer.metrics import Scores, tag_evidence

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FORMATS = ROOT / "docs" / "formats.md"
SECTIONS = {
    "`experiment`": config.Experiment,
    "`data`": config.DataConfig,
    "An entry of `data.source`, `data.target`, `data.test`": config.FolderConfig,
    "`data.superpixels`": config.SuperpixelConfig,
    "`model`": config.ModelConfig,
    "`training`": config.TrainingConfig,
    "`training.augment`": config.AugmentConfig,
    "`evaluation`": config.EvaluationConfig,
}
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def prose(page: Path) -> str:
    """A page without its code."""
    return FENCED.sub("", page.read_text(encoding="utf-8"))


def blocks(page: Path, language: str) -> list[str]:
    return [code for kind, code in FENCED.findall(page.read_text(encoding="utf-8")) if kind == language]


def named(things: Iterator[tuple[Path, str]]) -> list[Any]:
    """Parameters of a test, each with a name that says which page is wrong."""
    return [pytest.param(page, thing, id=f"{page.name}: {thing.splitlines()[0]}") for page, thing in things]


# -- links ----------------------------------------------------------------------------------------------------------


def anchor(heading: str) -> str:
    """The name that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def links() -> Iterator[tuple[Path, str]]:
    for page in PAGES:
        for link in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
            if "://" not in link:
                yield page, link


@pytest.mark.parametrize(("page", "link"), named(links()))
def test_a_link_leads_to_a_file_and_to_a_heading_of_it(page: Path, link: str) -> None:
    file, _, place = link.partition("#")
    goal = page.parent / file if file else page
    assert goal.exists()
    if place:
        assert place in {anchor(heading) for heading in re.findall(r"^#+ (.+)$", prose(goal), re.MULTILINE)}


# -- commands -------------------------------------------------------------------------------------------------------


def shown_commands() -> Iterator[tuple[Path, str]]:
    """Whole commands: lines of code that begin with the program's name, or that give its module to torchrun."""
    for page in PAGES:
        code = "\n".join([*blocks(page, "sh"), *re.findall(r"^    (.+)$", prose(page), re.MULTILINE)])
        for line in code.replace("\\\n", " ").splitlines():
            if found := re.match(r"(?:torchrun .* -m endotransfer\.cli|endotransfer) (.+)", line):
                yield page, found[1]


def mentioned_commands() -> Iterator[tuple[Path, str]]:
    for page in PAGES:
        yield from ((page, command) for command in re.findall(r"`endotransfer ([^`]+)`", prose(page)))


def find_command(words: list[str]) -> tuple[Any, list[str]]:
    """The command that `words` begin with, and the words behind its name."""
    command: Any = typer.main.get_command(app)
    while hasattr(command, "commands") and words and not words[0].startswith("-"):
        assert words[0] in command.commands, f"there is no command {words[0]}"
        command, words = command.commands[words[0]], words[1:]
    return command, words


@pytest.mark.parametrize(("page", "command"), named(shown_commands()))
def test_a_shown_command_can_be_given_as_it_stands(page: Path, command: str) -> None:
    found, words = find_command(shlex.split(command, comments=True))
    found.make_context(found.name, list(words))  # parses, and runs nothing


@pytest.mark.parametrize(("page", "command"), named(mentioned_commands()))
def test_a_mentioned_command_exists_with_its_options(page: Path, command: str) -> None:
    found, words = find_command(command.split())
    options = (option for one in found.params for option in (*one.opts, *one.secondary_opts))
    known = {"--help", *options}
    assert {word.partition("=")[0] for word in words if word.startswith("--")} <= known


@pytest.mark.parametrize("target", re.findall(r"^make ([\w-]+)", "\n".join(blocks(PAGES[0], "sh")), re.MULTILINE))
def test_a_make_target_exists(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


# -- experiments and their keys -------------------------------------------------------------------------------------


def experiments() -> Iterator[tuple[Path, str]]:
    for page in PAGES:
        yield from ((page, block) for block in blocks(page, "yaml") if re.search(r"^data:", block, re.MULTILINE))


@pytest.mark.parametrize(("page", "text"), named(experiments()))
def test_an_experiment_is_valid(page: Path, text: str) -> None:
    method_config(experiment_from(yaml.safe_load(text)).method)


def section(title: str) -> str:
    text = FORMATS.read_text(encoding="utf-8")
    found = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#+ |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"formats.md has no section {title}"
    return found[1]


def table(title: str) -> dict[str, list[str]]:
    """The rows of a section's table: key -> the other cells."""
    rows = [line.strip("| \n").split(" | ") for line in section(title).splitlines() if line.startswith("| `")]
    return {cells[0].strip("`"): cells[1:] for cells in rows}


def spelt(value: Any) -> str:
    """A default as the tables write it: what one would write in an experiment."""
    if isinstance(value, BaseModel):
        return "section"
    text = yaml.safe_dump(list(value) if isinstance(value, tuple) else value, default_flow_style=True)
    plain = text.removesuffix("...\n").strip()  # the mark that ends a bare value
    return f"`{plain}`"


def test_every_section_of_an_experiment_is_documented() -> None:
    kinds = [kind for _, kind in inspect.getmembers(config, inspect.isclass) if issubclass(kind, config.Strict)]
    assert {*SECTIONS.values(), config.Strict} == {*kinds}


@pytest.mark.parametrize("title", SECTIONS)
def test_documented_keys_and_defaults_are_those_of_the_code(title: str) -> None:
    fields = SECTIONS[title].model_fields
    expected = {
        name: "required" if field.is_required() else spelt(field.get_default(call_default_factory=True))
        for name, field in fields.items()
    }
    assert {key: cells[1] for key, cells in table(title).items()} == expected


def test_documented_presets_are_those_of_the_method() -> None:
    method = SemanticTransfer
    rows = table(f"`method` of `{method.name}`")
    for column, preset in ((1, "paper"), (2, "robust")):
        values = method.Config(**method.presets[preset])
        assert {key: cells[column] for key, cells in rows.items()} == {key: spelt(value) for key, value in values}


def test_every_figure_is_documented() -> None:
    scores = Scores(["normal", "lesion"])
    scores.update(np.zeros((8, 8), int), np.ones((8, 8), int), key="a", tag=1, lesion_probability=0.5)
    figures = scores.summary(resamples=2).to_dict() | tag_evidence([1], [64], [1])
    inner = [figures[part] for part in ("per_image", "lesion_wise", "tags", "intervals", "tag_evidence")]
    described = section("results.json")
    assert [key for part in (figures, *inner) for key in part if f"`{key}`" not in described] == []
    assert ",".join(COLUMNS) in section("metrics.csv")


# -- Python ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", [PAGES[0], ROOT / "docs" / "guide.md"], ids=lambda page: page.name)
def test_python_examples_use_the_public_names(page: Path) -> None:
    nodes = [node for block in blocks(page, "python") for node in ast.walk(ast.parse(block))]
    used = [node for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)]
    names = {node.attr for node in used if isinstance(node.value, ast.Name) and node.value.id == "endotransfer"}
    assert names
    assert names <= {*endotransfer.__all__}


def test_the_worked_method_registers_and_trains(
    make_experiment: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (code,) = blocks(ROOT / "docs" / "adding-a-method.md", "python")
    assert len(code.splitlines()) < 60
    path = tmp_path / "minent.py"
    path.write_text(code)
    monkeypatch.setattr(METHODS, "_things", dict(METHODS._things))  # what registers here is forgotten afterwards
    spec = importlib.util.spec_from_file_location("minent", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "minent", module)
    spec.loader.exec_module(module)
    assert issubclass(METHODS.get("minent"), Method)
    results = engine.train(make_experiment("tagged", "minent", epochs=1, steps_per_epoch=2), tmp_path / "run")
    assert results is not None
    assert "term/entropy_target" in (tmp_path / "run" / "metrics.csv").read_text()


# -- systems --------------------------------------------------------------------------------------------------------


def test_every_system_and_every_ablation_has_its_row() -> None:
    text = (ROOT / "docs" / "systems.md").read_text()
    rows = set(re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE))
    assert rows == {*METHODS.names(), *SemanticTransfer.variants}
