"""A suite's file: what its rows are, and what is refused in one sentence."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from endotransfer.compare.suite import read_suite
from endotransfer.config import read_experiment
from endotransfer.errors import ConfigError
from endotransfer.methods import method_config
from endotransfer.recipes import FOLDER as RECIPES
from tests.compare.conftest import MakeSuite

PHANTOM = Path("phantom")


def test_rows_are_named_by_text_or_mapping(make_suite: MakeSuite) -> None:
    suite = make_suite(
        [
            "source_only",
            "lta/single",
            "semantic_transfer/paper/BL+AL",
            {"name": "lta", "label": "LtA", "group": "paper", "training": {"lr": 0.5}, "model": {"norm": "batch"}},
        ]
    )
    assert [row.label for row in suite.rows] == ["source_only", "lta/single", "semantic_transfer/paper/BL+AL", "LtA"]
    assert suite.rows[1].method == {"name": "lta", "preset": "single"}
    assert suite.rows[2].method == {"name": "semantic_transfer", "preset": "paper", "variant": "BL+AL"}
    experiment = suite.experiment(suite.rows[3], 7, PHANTOM)
    assert (experiment.training.lr, experiment.model.norm, experiment.seed) == (0.5, "batch", 7)
    assert suite.experiment(suite.rows[0], 0, PHANTOM).model.norm == "group"
    assert (suite.rows[3].label, suite.rows[3].group) == ("LtA", "paper")


def test_a_field_of_the_method_may_stand_in_a_row(make_suite: MakeSuite) -> None:
    suite = make_suite([{"name": "semantic_transfer", "preset": "paper", "mu": 3, "label": "mu 3"}])
    assert suite.experiment(suite.rows[0], 0, PHANTOM).method == {
        "name": "semantic_transfer", "preset": "paper", "mu": 3,
    }  # fmt: skip
    assert suite.rows[0].slug == "mu-3"


@pytest.mark.parametrize(
    ("systems", "keys", "words"),
    [
        ([], {}, "systems"),
        (["source_onyl"], {}, "system 'source_onyl': there is no method .*did you mean 'source_only'"),
        (["lta/triple"], {}, "has no preset 'triple'"),
        (["semantic_transfer/paper/BL+XX"], {}, "has no variant 'BL\\+XX'"),
        (["lta/"], {}, "method/preset"),
        ([{"preset": "single"}], {}, "names no method"),
        ([{"name": "lta", "label": 3}], {}, "'label' is 3"),
        ([{"name": "lta", "model": "batch"}], {}, "'model' is 'batch'"),
        ([{"name": "lta", "model": {"norn": "batch"}}], {}, "system 'lta'.*norn.*did you mean 'norm'"),
        ([{"name": "lta", "mu": 3}], {}, "system 'lta'.*unknown key 'mu'"),
        (["lta", "lta"], {}, "two systems are called 'lta'"),
        (["lta/single", {"name": "lta", "label": "lta-single"}], {}, "two systems are called"),  # one folder for two
        (["lta", {"label": "twin", "same_as": "ltb"}], {}, "no system above it is called.*did you mean 'lta'"),
        (["lta", {"label": "twin", "same_as": "lta", "mu": 3}], {}, "nothing else"),
        (["lta"], {"reference": "source_only"}, "reference 'source_only' is not among"),
        (["lta"], {"table": 5}, "table"),
        (["lta"], {"seeds": 0}, "seeds"),
        (["lta"], {"sytems": 0}, "did you mean 'systems'"),
        (["adabn"], {}, "system 'adabn'.*model.norm"),
        (["lta"], {"training": {"devices": 2}}, "one process"),
    ],
)
def test_what_cannot_be_is_one_sentence(make_suite: MakeSuite, systems: Any, keys: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        make_suite(systems, **keys)
    assert "\n" not in str(caught.value)


def test_seeds_are_a_number_or_a_list(make_suite: MakeSuite) -> None:
    assert make_suite(["lta"]).seed_list() == [0]
    assert make_suite(["lta"], seeds=3, seed=5).seed_list() == [5, 6, 7]
    assert make_suite(["lta"], seeds=[4, 9, 4]).seed_list() == [4, 9]
    assert make_suite(["lta"], seeds=[4, 9]).seed_list(3) == [0, 1, 2]


def test_the_reference_is_source_only_where_there_is_one(make_suite: MakeSuite) -> None:
    assert make_suite(["lta", "source_only"]).reference_label == "source_only"
    assert make_suite(["lta"]).reference_label is None
    assert make_suite(["lta", "fda"], reference="fda").reference_label == "fda"


def test_one_file_serves_train_and_benchmark(suite_file: Callable[..., Path]) -> None:
    path = suite_file(["lta"], seeds=2, reference="lta", table="none")
    assert read_experiment(path).method == {"name": "source_only"}
    assert read_suite(path).table is None


def test_an_experiment_without_systems_knows_no_key_of_a_suite(suite_file: Callable[..., Path]) -> None:
    path = suite_file(None, seeds=2)
    with pytest.raises(ConfigError, match="unknown key 'seeds'; did you mean 'seed'"):
        read_experiment(path)
    with pytest.raises(ConfigError, match="names no systems"):
        read_suite(path)


# -- the phantom ----------------------------------------------------------------------------------------------------


@pytest.fixture
def phantom_file(tmp_path: Path) -> Path:
    raw = {
        "data": {"size": 256},
        "model": {"backbone": "resnet50", "dropout": 0.3},
        "training": {"epochs": 50, "lr": 0.5},
        "systems": ["source_only"],
        "phantom": {
            "images": 12, "size": 32, "training": {"epochs": 2, "lr": 0.1},
            "model": {"backbone": "test_resnet", "pretrained": False, "norm": "group", "multi_grid": None},
        },
    }  # fmt: skip
    path = tmp_path / "suite.yaml"
    path.write_text(yaml.safe_dump(raw))
    return path


def test_without_folders_the_phantom_and_its_settings_are_taken(phantom_file: Path) -> None:
    suite = read_suite(phantom_file, ["training.lr=0.7", "phantom.training.epochs=3"])
    assert suite.drawing == {"images": 12, "seed": 0, "size": 32, "variant": "lesion"}
    experiment = suite.experiment(suite.rows[0], 0, Path("/drawn"))
    assert experiment.data.source[0].path == Path("/drawn/gastroscopy")
    assert (experiment.data.size, experiment.model.backbone, experiment.model.dropout) == (32, "test_resnet", 0.3)
    assert (experiment.training.epochs, experiment.training.lr) == (3, 0.7)  # the command line has the last word


def test_with_folders_nothing_of_the_phantom_is_taken(phantom_file: Path) -> None:
    suite = read_suite(phantom_file, ["data.source=mine", "data.target=theirs", "model.pretrained=true"])
    assert suite.drawing is None
    experiment = suite.experiment(suite.rows[0], 0, PHANTOM)
    assert experiment.data.source[0].path == phantom_file.parent / "mine"  # from the file's own folder
    assert (experiment.data.size, experiment.model.backbone, experiment.training.epochs) == (256, "resnet50", 50)


def test_neither_folders_nor_a_phantom_is_one_sentence(phantom_file: Path) -> None:
    with pytest.raises(ConfigError, match="names no data"):
        read_suite(phantom_file, ["phantom=null"])
    with pytest.raises(ConfigError, match=r"phantom: unknown key 'image'; did you mean 'images'"):
        read_suite(phantom_file, ["phantom={image: 3}"])
    with pytest.raises(ConfigError, match="names no folders"):
        read_experiment(phantom_file)


# -- the recipes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(RECIPES.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_recipe_can_be_read(path: Path) -> None:
    raw = yaml.safe_load(path.read_text())
    if "systems" in raw:
        assert read_suite(path).rows
    if "source" in raw.get("data", {}):
        assert read_experiment(path).name == raw["name"]


def test_every_row_that_takes_robust_apart_changes_it() -> None:
    suite = read_suite(RECIPES / "parts.yaml")
    changed = [method_config(row.method)[2] for row in suite.rows]
    assert len({config.model_dump_json() for config in changed}) == len(suite.rows)
    momenta = [getattr(config, "teacher_momentum", 0.0) for config in changed]
    assert [row.label for row, one in zip(suite.rows, momenta, strict=True) if one is None] == ["no teacher"]


def test_the_phantom_recipe_has_every_ablation_of_the_paper() -> None:
    """And all compared systems, but a new method need not be one of them: it is one file and no other."""
    from endotransfer.methods import METHODS

    rows = read_suite(RECIPES / "phantom.yaml").rows
    assert {row.method["name"] for row in rows} <= set(METHODS.names())
    assert {*METHODS.get("semantic_transfer").variants} <= {row.label for row in rows}


def test_several_transfers_share_one_list_of_rows(tmp_path: Path) -> None:
    labels = [[row.label for row in read_suite(name).rows] for name in ("capsule", "polyp", "reverse", "development")]
    assert len(labels[0]) > 20 and all(some == labels[0] for some in labels)
    (tmp_path / "suite.yaml").write_text("phantom: {}\nsystems: paper\n")
    with pytest.raises(ConfigError, match="names a file without a list of systems"):
        read_suite(tmp_path / "suite.yaml")
