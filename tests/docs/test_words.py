"""The documentation speaks today's words, and quotes only what the program says."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from endotransfer.pseudo_labels.labeller_choice import LabellerChoice
from endotransfer.pseudo_labels.place_scores import PlaceScores
from tests.docs.pages import GUIDE, PAGES, SOURCE, named, section, text_of

FORMER = (  # names that nothing has any more
    r"worlds?|World|verdicts?|believ\w+|judg\w+|witness\w*|Tally|shelf|LogitShelf|[Ss]ight|Material|material\.py|"
    r"Feeding|Feed|Book|kept\.py|guard\.py|reduce\.py|head_lr|lesion_rule|local evidence|Evidence|transfer/\w+\.py"
)
PLACEHOLDER = "..."


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_uses_no_former_name(page: Path) -> None:
    assert re.findall(rf"(?<![\w/])(?:{FORMER})\b", text_of(page)) == []


@cache
def messages() -> list[str]:
    """Every text in the source, with dots where a value is put in."""
    texts = []
    for file in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(text_of(file))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append(node.value)
            elif isinstance(node, ast.JoinedStr):
                texts.append("".join(_literal(part) for part in node.values))
    return texts


def _literal(part: ast.expr) -> str:
    return part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else PLACEHOLDER


def quoted() -> Iterator[tuple[Path, str]]:
    """What the guide's table of mistakes quotes."""
    rows = re.findall(r"^\| (`{1,2})(.+?)\1 \|", section("Frequent mistakes", GUIDE), re.MULTILINE)
    yield from ((GUIDE, message) for _, message in rows)


@pytest.mark.parametrize(("page", "message"), named(quoted()))
def test_a_quoted_message_is_one_that_the_program_says(page: Path, message: str) -> None:
    """A sentence may be put together from several: each part between dots or semicolons is looked for."""
    parts = [part.strip(" .,:'()") for part in re.split(rf"{re.escape(PLACEHOLDER)}|; ", message)]
    assert [part for part in parts if not any(part in text for text in messages())] == []


def test_the_note_on_the_labeller_is_the_one_that_a_run_prints() -> None:
    note = " ".join(re.findall(r"^    (.+)$", section("Which labeller tag_transfer uses", GUIDE), re.MULTILINE))
    choice = LabellerChoice("auto")
    choice.tag_auroc.fill_(0.6)
    choice.localisation_gap.fill_(-0.036)
    assert note == f"note: {choice.sentence()}"


def test_the_note_on_the_local_layer_is_the_one_that_a_run_prints() -> None:
    note = " ".join(re.findall(r"^    (.+)$", section("What the local labeller learns from", GUIDE), re.MULTILINE))
    places = PlaceScores("auto")
    for buffer, value in ((places.places, 1.0), (places.source_auroc, 0.56), (places.led, 1.0)):
        buffer.fill_(value)
    assert [note] == [f"note: {sentence}" for sentence in places.sentences()]
