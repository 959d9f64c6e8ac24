"""Where a model lies that is named: folders first, then what ships, then a hub, and nothing asked of a network."""

from pathlib import Path

import pytest

from endotransfer.errors import CheckpointError
from endotransfer.pretrained import locate_model, shipped_models, shown_name
from endotransfer.pretrained.shipped_models import FOLDER, card_metadata, shipped_names


@pytest.fixture
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "endotransfer.pretrained.hub_download.fetch_model", lambda *asked: Path("hub", *map(str, asked))
    )


@pytest.mark.usefixtures("_here")
def test_a_shipped_model_is_found_by_its_name() -> None:
    for name in shipped_names():
        assert locate_model(name) == locate_model(f"shipped:{name}") == FOLDER / name


@pytest.mark.usefixtures("_here")
def test_a_folder_of_that_name_wins_and_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    name = shipped_names()[0]
    Path(name).mkdir()
    assert locate_model(name) == Path(name)
    assert f"`shipped:{name}` is the model of that name" in capsys.readouterr().err
    assert locate_model(f"shipped:{name}") == FOLDER / name
    Path("runs").mkdir()
    assert locate_model("runs") == Path("runs") and capsys.readouterr().err == ""


@pytest.mark.usefixtures("_here")
@pytest.mark.parametrize(
    ("named", "repository", "revision"),
    [
        ("hf://owner/name", "owner/name", "None"),
        (Path("hf://owner/name"), "owner/name", "None"),  # pathlib makes one slash of two
        ("hf://owner/name@v1.0", "owner/name", "v1.0"),
        ("owner/name", "owner/name", "None"),
    ],
)
def test_a_hub_is_asked_for_a_repository(named: str | Path, repository: str, revision: str) -> None:
    assert locate_model(named) == Path("hub", repository, revision)


@pytest.mark.usefixtures("_here")
@pytest.mark.parametrize("named", ["runs/tagz", "nothing", "a/b/c", "hf://one", "hf://a/../b", "shipped:none"])
def test_what_is_misspelt_is_told_and_asks_nobody(named: str) -> None:
    """`runs` is a folder here, so `runs/tagz` is a slip and no repository."""
    Path("runs").mkdir()
    with pytest.raises(CheckpointError, match=r"hf://owner/name"):
        locate_model(named)


def test_a_name_that_is_nearly_right_is_told_the_right_one() -> None:
    with pytest.raises(CheckpointError, match="did you mean 'polyp'"):
        locate_model("polpy")


def test_a_folder_of_a_hubs_cache_is_called_by_its_repository(tmp_path: Path) -> None:
    folder = tmp_path / "models--clinic--polyps" / "snapshots" / "0af3"
    folder.mkdir(parents=True)
    assert shown_name(folder) == "clinic/polyps"
    assert shown_name(tmp_path) == tmp_path.name


def test_every_shipped_model_says_its_terms_its_data_and_its_figures() -> None:
    models = shipped_models()
    assert "polyp" in [model.name for model in models]
    for model in models:
        assert model.terms != "unknown" and model.trained_on and model.measured
        assert model.megabytes <= 12
        assert all("%" in line for line in model.measured)  # an interval


@pytest.mark.parametrize("text", ["no fence", "---\nlicense: x\n", "---\n[1]\n---\n", ""])
def test_a_card_without_metadata_is_a_card(tmp_path: Path, text: str) -> None:
    card = tmp_path / "README.md"
    card.write_text(text)
    assert card_metadata(card) == {} == card_metadata(tmp_path / "absent.md")


def test_metadata_that_is_no_yaml_is_one_sentence(tmp_path: Path) -> None:
    card = tmp_path / "README.md"
    card.write_text("---\na: [\n---\n")
    with pytest.raises(CheckpointError, match="not valid YAML"):
        card_metadata(card)
