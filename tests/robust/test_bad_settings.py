"""Settings that cannot be, and files of a run, a model or a demo that were damaged: one sentence, nothing lost."""

import json
import resource
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from endotransfer.cli import demo
from endotransfer.config import Experiment, ModelConfig
from endotransfer.data.phantom import draw_once as once
from endotransfer.data.phantom import write_phantom
from endotransfer.engine.model_folder import load_model, save_model
from endotransfer.engine.run import train
from endotransfer.errors import CheckpointError, ConfigError, DataError
from endotransfer.methods import TaskInfo, method_config
from endotransfer.results import Results
from tests.model_folders import rewrite_config
from tests.robust.conftest import CHECKPOINT, CONFIG, says

SEED = 7


@pytest.fixture(scope="module")
def finished(make_experiment: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run, for reading only."""
    run = tmp_path_factory.mktemp("finished") / "run"
    experiment = make_experiment("tagged", "source_only", epochs=1, steps_per_epoch=2)
    train(experiment.model_copy(update={"seed": SEED}), run, console=Console(quiet=True))
    return run


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    """A copy of it that a test may damage."""
    return Path(shutil.copytree(finished, tmp_path / "run"))


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("data.source=[]", ["data.source", "at least one folder"]),
        ("data.size=0", ["data.size", "32 to 4096"]),
        ("data.size=-3", ["data.size", "32 to 4096"]),
        ("data.size=[8, 64]", ["data.size", "32 to 4096"]),
        ("training.augment.scale=[0, 1]", ["training.augment.scale"]),
        ("training.augment.scale=[-1, 1]", ["training.augment.scale"]),
        ("training.augment.scale=[2, 1]", ["training.augment.scale", "smaller"]),
        ("model.aspp_rates=[-1]", ["model.aspp_rates"]),
        ("model.aspp_rates=[]", ["model.aspp_rates"]),
        ("method=[]", ["'method'"]),
        ("method.preset=[a]", ["no preset", "it has default"]),
        ("method.preset={a: 1}", ["no preset", "it has default"]),
        ("seed=9223372036854775808", ["seed"]),
    ],
)
def test_setting_out_of_range(command: Any, experiment: Path, tmp_path: Path, setting: str, words: list[str]) -> None:
    code, output = command("train", experiment, "--out", tmp_path / "run", "--set", setting)
    assert code == CONFIG
    says(output, *words)
    assert not (tmp_path / "run").exists()


def without(key: str) -> Callable[[dict[str, Any]], Any]:
    return lambda info: {name: value for name, value in info.items() if name != key}


def having(key: str, value: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda info: {**info, key: value}


def settings_having(key: str, value: object) -> Callable[[dict[str, Any]], Any]:
    def damage(info: dict[str, Any]) -> dict[str, Any]:
        network = info["network"]
        return {**info, "network": {**network, "settings": {**network["settings"], key: value}}}

    return damage


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda info: [], "describes no model"),
        (lambda info: "text", "describes no model"),
        (without("format"), "describes no model"),
        *((without(key), key) for key in ("sha256", "classes", "ignore", "shape", "tags")),
        *((without(key), key) for key in ("domain", "method", "method_from", "network")),
        (having("classes", 3), "classes"),
        (having("shape", [64]), "shape"),
        (having("shape", [0, 64]), "shape"),
        (having("domain", "moon"), "domain"),
        (having("seed", -1), "seed"),
        (having("method", {}), "method.name"),
        (having("method", {"name": ["source_only"]}), "method.name"),
        (having("network", {}), "network.kind"),
        (settings_having("classes", 1), "classes"),
        (settings_having("width", 8), "width"),
        (settings_having("model", {"backbone": "resnet51"}), "resnet51"),
        (settings_having("model", {"aspp_rates": [-1]}), "aspp_rates"),
    ],
)
def test_model_described_wrongly(run: Path, damage: Callable[[Any], Any], words: str) -> None:
    rewrite_config(run / "model", damage)
    with pytest.raises(CheckpointError, match=rf"config\.json is damaged[^\n]*{words}[^\n]*; copy the model again"):
        load_model(run)


def test_model_described_in_bytes_that_are_no_text(command: Any, run: Path, tmp_path: Path) -> None:
    (run / "model" / "config.json").write_bytes(b"\xff\xfe\x00")
    code, output = command("evaluate", run, "--data", tmp_path)
    assert code == CHECKPOINT
    says(output, "config.json is damaged", "copy the model again")


@pytest.mark.parametrize(
    ("version", "words"), [(1, r"format 1\); train it again"), (99, r"format 99\); update endotransfer")]
)
def test_model_of_another_version(run: Path, version: int, words: str) -> None:
    path = run / "model" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": version}))
    with pytest.raises(CheckpointError, match=words):
        load_model(run)


def test_evaluation_knows_the_seed_of_the_model(
    command: Any, finished: Path, tasks: dict[str, Path], tmp_path: Path
) -> None:
    out = tmp_path / "figures.json"
    assert command("evaluate", finished, "--data", tasks["tagged"] / "capsule", "--out", out)[0] == 0
    assert json.loads(out.read_text())["seed"] == SEED


@contextmanager
def files_no_larger_than(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


def test_model_that_the_disk_cannot_hold(run: Path) -> None:
    model = load_model(run)
    cls, _, config = method_config(model.info.method.model_dump())
    settings = ModelConfig.model_validate(model.info.model)
    method = cls(TaskInfo(2, model.info.tags, settings, epochs=1), config)
    with files_no_larger_than(1000), pytest.raises(CheckpointError, match=r"cannot write .*weights\.safetensors"):
        save_model(
            run / "model",
            method,
            model.classes,
            model.shape,
            model.info.method.model_dump(),
            Results(method=cls.name),
            {},
        )
    load_model(run)  # the model that was there is whole


@pytest.mark.parametrize("content", [b"\xff\xfe\x00\x81", b"data: [", b"- a list", b"", b"name: 2020-13-01"])
def test_resuming_with_a_damaged_experiment(command: Any, experiment: Path, run: Path, content: bytes) -> None:
    (run / "config.yaml").write_bytes(content)
    code, output = command("train", experiment, "--out", run, "--resume")
    assert code == CHECKPOINT
    says(output, r"config\.yaml is (damaged|not valid YAML)", "start a new run")


def test_resuming_with_keys_that_are_no_text(command: Any, experiment: Path, run: Path) -> None:
    (run / "config.yaml").write_text("1: 2\nname: a")
    code, output = command("train", experiment, "--out", run, "--resume")
    assert code == CONFIG
    says(output, "was begun with")


# --- the demo


@pytest.fixture
def small_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo with one system, few images and two steps."""
    original = demo.demo_experiment

    def shortened(*arguments: Any) -> Experiment:
        experiment = original(*arguments)
        training = {"epochs": 1, "steps_per_epoch": 2, "accelerator": "cpu"}
        return experiment.model_copy(update={"training": experiment.training.model_copy(update=training)})

    monkeypatch.setattr(demo, "demo_experiment", shortened)
    monkeypatch.setattr(demo, "SYSTEMS", (("source_only", "default"),))
    monkeypatch.setattr(demo, "PHANTOM", {"images": 12, "seed": 0, "size": 32})


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """How training was called."""
    calls: list[dict[str, Any]] = []

    def counted(experiment: Experiment, out: Path, **options: Any) -> Any:
        calls.append(options)
        return train(experiment, out, **options)

    monkeypatch.setattr(demo, "train", counted)
    return calls


RUN = "source_only-default-seed0"
QUIET = Console(quiet=True)


def test_a_demo_is_shown_again_and_repeated_only_by_force(
    small_demo: None, trained: list[dict[str, Any]], tmp_path: Path
) -> None:
    first = demo.run_demo(tmp_path / "out", console=QUIET)
    assert (tmp_path / "out" / "predictions.png").exists()
    assert "source_only" in (tmp_path / "out" / "table.md").read_text()
    assert demo.run_demo(tmp_path / "out", console=QUIET) == first
    assert len(trained) == 1
    demo.run_demo(tmp_path / "out", console=QUIET, force=True)
    assert len(trained) == 2 and not trained[1]["resume"]


@pytest.mark.parametrize("damage", [b"{", b"[]", b"\xff\x00", b"{}"])
def test_damaged_results_of_a_demo_are_measured_again(
    small_demo: None, trained: list[dict[str, Any]], tmp_path: Path, damage: bytes
) -> None:
    first = demo.run_demo(tmp_path / "out", console=QUIET)
    (tmp_path / "out" / RUN / "results.json").write_bytes(damage)
    again = demo.run_demo(tmp_path / "out", console=QUIET)
    assert again[0]["miou"] == first[0]["miou"]
    assert trained[1]["resume"]
    assert json.loads((tmp_path / "out" / RUN / "results.json").read_text())["miou"] == first[0]["miou"]


def test_a_demo_killed_while_drawing_draws_again(
    small_demo: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = write_phantom

    def killed(out: Path, *arguments: Any, **options: Any) -> None:
        original(out, *arguments, **options)
        (out / "capsule" / "labels.csv").unlink()
        raise KeyboardInterrupt

    monkeypatch.setattr(once, "write_phantom", killed)
    with pytest.raises(KeyboardInterrupt):
        demo.run_demo(tmp_path / "out", console=QUIET)
    monkeypatch.setattr(once, "write_phantom", original)
    assert demo.run_demo(tmp_path / "out", console=QUIET)
    assert not (tmp_path / "out" / "phantom.part").exists()


def test_half_a_phantom_is_named(small_demo: None, tmp_path: Path) -> None:
    (tmp_path / "out" / "phantom" / "gastroscopy").mkdir(parents=True)
    with pytest.raises(DataError, match=r"gastroscopy is not whole; remove .*phantom"):
        demo.run_demo(tmp_path / "out", console=QUIET)


@pytest.mark.parametrize("name", ["table.md", "predictions.png", "thesis.txt"])
def test_a_demo_never_writes_among_other_things(command: Any, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("years of work")
    code, output = command("demo", "--out", tmp_path, "--force")
    assert code == CONFIG
    says(output, "holds no demo", "--out")
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "years of work"


def test_a_demo_cannot_be_written_into_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="is a file"):
        demo.run_demo(tmp_path / "file", console=QUIET)


def test_a_demo_with_an_impossible_seed_draws_nothing(command: Any, tmp_path: Path) -> None:
    code, output = command("demo", "--out", tmp_path / "out", "--seed", "-1")
    assert code == CONFIG
    says(output, "seed")
    assert not (tmp_path / "out").exists()
