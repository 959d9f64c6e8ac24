"""`endotransfer init` on folders: what it refuses, what it splits, and that its file trains as it stands."""

import csv
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

import endotransfer
from endotransfer.cli.main import app
from endotransfer.config import read_experiment
from endotransfer.errors import ConfigError, DataError, EndotransferError
from endotransfer.setup.backbone_file import backbone_of_file

SMALL = [
    "training.epochs=2", "training.steps_per_epoch=2", "training.accelerator=cpu", "training.workers=0",
    "training.loggers=[]",
]  # fmt: skip


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The phantom as a user has it: nobody has split the target."""
    folder = tmp_path_factory.mktemp("init") / "study"
    endotransfer.write_phantom(folder, 16, size=64, processes=1)
    change_column(folder / "capsule", "split", "")
    return folder


@pytest.fixture
def study(drawn: Path, tmp_path: Path) -> Path:
    return shutil.copytree(drawn, tmp_path / "study")


def change_column(folder: Path, column: str, value: str) -> None:
    table = folder / "labels.csv"
    with table.open(newline="") as file:
        rows = [{**row, column: value} for row in csv.DictReader(file)]
    with table.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def test_its_file_trains_as_it_stands(study: Path, taught: Path) -> None:
    out = study / "experiment.yaml"
    said = CliRunner().invoke(
        app,
        ["init", str(study / "gastroscopy"), str(study / "capsule"), "--out", str(out), "--weights", str(taught)],
        catch_exceptions=False,
    )
    assert said.exit_code == 0, said.output
    assert "capsule had no split: " in said.stdout
    assert f"next: endotransfer train {out} --out runs/first" in said.stdout
    experiment = read_experiment(out)
    assert experiment.model.backbone == "test_resnet"
    assert "  source: gastroscopy  # 8 of 16 images have a mask" in out.read_text()
    results = endotransfer.train(out, study / "run", settings=SMALL)
    assert results is not None
    assert results.images


def test_from_python_without_a_file(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(study)
    lines: list[str] = []
    experiment = endotransfer.init_experiment("gastroscopy", ["capsule"], say=lines.append)
    assert experiment.data.target[0].path == study / "capsule"
    assert experiment.data.size == 64
    assert experiment.training.batch_source == 4
    assert len(lines) == 4
    again = endotransfer.init_experiment("gastroscopy", "capsule")  # the split that it made is now the folder's own
    assert again == experiment


def test_a_target_of_bare_images(study: Path, taught: Path) -> None:
    """Neither tags nor masks: trained by its own labels, and there is nothing to measure."""
    change_column(study / "capsule", "label", "")
    shutil.rmtree(study / "capsule" / "masks")
    out = study / "bare.yaml"
    experiment = endotransfer.init_experiment(study / "gastroscopy", study / "capsule", out, weights=taught)
    assert experiment.data.tags is False
    assert "; without masks results are pictures, no figures\n" in out.read_text()
    assert endotransfer.train(experiment, study / "run", settings=SMALL) is not None


def test_a_mistake_is_one_sentence_and_changes_nothing(study: Path) -> None:
    source, target, out = study / "gastroscopy", study / "capsule", study / "experiment.yaml"
    out.write_text("mine")
    before = (target / "labels.csv").read_bytes()
    mistakes: list[tuple[type[EndotransferError], str, dict[str, object]]] = [
        (ConfigError, "experiment.yaml exists already and is not overwritten", {"out": out}),
        (ConfigError, "there is no folder .*nowhere", {"out": study / "nowhere" / "x.yaml"}),
        (ConfigError, "there is no folder .*capsul; check the path of the target", {"target": study / "capsul"}),
        (ConfigError, "no source folder is named", {"source": []}),
        (ConfigError, "is named as source and as target", {"source": target}),
        (ConfigError, "there is no weights file", {"weights": study / "w.safetensors"}),
        (ConfigError, "no backbone called 'resnet05'; did you mean 'resnet", {"backbone": "resnet05"}),
    ]
    for error, words, changed in mistakes:
        with pytest.raises(error, match=words) as told:
            endotransfer.init_experiment(**{"source": source, "target": target, **changed})  # type: ignore[arg-type]
        assert "\n" not in str(told.value)
    assert (out.read_text(), (target / "labels.csv").read_bytes()) == ("mine", before)


def test_a_faulty_folder_is_refused_by_its_first_fault(study: Path) -> None:
    (study / "gastroscopy" / "images" / "0001.png").write_bytes(b"no image")
    with pytest.raises(DataError, match=r"gastroscopy/images/0001\.png "):
        endotransfer.init_experiment(study / "gastroscopy", study / "capsule")


def test_a_source_without_masks_is_refused(study: Path) -> None:
    shutil.rmtree(study / "capsule" / "masks")
    with pytest.raises(DataError, match="has a mask, and the source needs some"):
        endotransfer.init_experiment(study / "capsule", study / "gastroscopy")


@pytest.mark.parametrize(("split", "words"), [("train", "in 'test'"), ("test", "in 'train'")])
def test_a_split_of_one_part_is_refused(study: Path, split: str, words: str) -> None:
    change_column(study / "capsule", "split", split)
    with pytest.raises(DataError, match=f"has a split without any image {words}"):
        endotransfer.init_experiment(study / "gastroscopy", study / "capsule")


@pytest.mark.parametrize(
    ("name", "backbone"),
    [
        ("resnet50-imagenet-caffe", "resnet50"), ("mobilenet_v2-imagenet", "mobilenetv2_100"),
        ("ResNet50d_x", "resnet50d"), ("resnet18", "resnet18"),
    ],
)  # fmt: skip
def test_a_weights_file_tells_its_backbone(name: str, backbone: str) -> None:
    assert backbone_of_file(Path(f"{name}.safetensors"), ["resnet18", "resnet50", "resnet50d"]) == backbone


def test_a_weights_file_of_no_known_name() -> None:
    with pytest.raises(ConfigError, match="name it with --backbone"):
        backbone_of_file(Path("encoder.safetensors"), ["resnet18"])
