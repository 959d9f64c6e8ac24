"""Settings, presets and figures in the documentation are those of the code."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import yaml
from pydantic import BaseModel

from endotransfer import config
from endotransfer.compare.suite import read_suite
from endotransfer.config import experiment_from
from endotransfer.engine.run_log import COLUMNS
from endotransfer.methods import METHODS, method_config
from endotransfer.methods.semantic_transfer import SemanticTransfer
from endotransfer.metrics import Scores, tag_evidence
from endotransfer.recipes import FOLDER as RECIPES
from tests.docs.pages import PAGES, ROOT, blocks, named, section, spelt, table, text_of

SECTIONS: dict[str, type[BaseModel]] = {
    "`experiment`": config.Experiment,
    "`data`": config.DataConfig,
    "An entry of `data.source`, `data.target`, `data.test`": config.FolderConfig,
    "`data.superpixels`": config.SuperpixelConfig,
    "`model`": config.ModelConfig,
    "`training`": config.TrainingConfig,
    "`training.augment`": config.AugmentConfig,
    "`evaluation`": config.EvaluationConfig,
}


def experiments() -> Iterator[tuple[Path, str]]:
    for page in PAGES:
        yield from ((page, block) for block in blocks(page, "yaml") if re.search(r"^data:", block, re.MULTILINE))


@pytest.mark.parametrize(("page", "text"), named(experiments()))
def test_an_experiment_is_valid(page: Path, text: str) -> None:
    method_config(experiment_from(yaml.safe_load(text)).method)


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


@pytest.mark.parametrize("name", ["semantic_transfer", "tag_transfer"])
def test_documented_keys_of_a_method_are_those_of_the_code(name: str) -> None:
    method = METHODS.get(name)
    values = method.Config.model_validate(next(iter(method.presets.values())))
    rows = table(f"`method` of `{name}`")
    expected = {key: spelt(getattr(values, key)) for key in method.Config.model_fields}
    assert {key: cells[1] for key, cells in rows.items()} == expected


def test_every_figure_is_documented() -> None:
    scores = Scores(["normal", "lesion"])
    scores.update(np.zeros((8, 8), int), np.ones((8, 8), int), key="a", tag=1, lesion_probability=0.5)
    figures = scores.summary(resamples=2).to_dict() | tag_evidence([1], [64], [1])
    described = section("results.json")
    for part in (
        figures,
        *(figures[name] for name in ("per_image", "lesion_wise", "tags", "intervals", "tag_evidence")),
    ):
        assert isinstance(part, dict)
        assert [key for key in part if f"`{key}`" not in described] == []
    assert ",".join(COLUMNS) in section("metrics.csv")


def test_every_compared_system_and_every_ablation_has_its_row() -> None:
    """Those of the phantom recipe; a method that is in no recipe needs no page either."""
    rows = set(re.findall(r"^\| `([^`]+)` \|", text_of(ROOT / "docs" / "systems.md"), re.MULTILINE))
    compared = {str(row.method["name"]) for row in read_suite(RECIPES / "phantom.yaml").rows}
    assert rows == {*compared, *SemanticTransfer.variants}
