"""The Python interface at its border: text or Path, and one sentence for a mistake."""

from collections.abc import Callable
from pathlib import Path

import pytest

import endotransfer
from endotransfer import Experiment
from endotransfer.errors import ConfigError, EndotransferError


def test_every_name_is_there_and_no_other() -> None:
    for name in endotransfer.__all__:
        assert getattr(endotransfer, name) is not None
    assert set(dir(endotransfer)) == {*endotransfer.__all__}
    with pytest.raises(AttributeError, match="'endotransfer' has no attribute 'trian'"):
        _ = endotransfer.trian  # type: ignore[attr-defined]


TWO = (endotransfer.export_model, endotransfer.compare_runs, endotransfer.evaluate, endotransfer.train)
ONE = (endotransfer.inspect_folder, endotransfer.load, endotransfer.split_folder, endotransfer.write_report)


@pytest.mark.parametrize("function", ONE)
def test_what_is_no_path_is_refused(function: Callable[..., object]) -> None:
    with pytest.raises(ConfigError, match=r"is 3, which is no path; give text or a pathlib\.Path\.$"):
        function(3)


@pytest.mark.parametrize("function", TWO)
def test_what_is_no_path_is_refused_of_two(function: Callable[..., object]) -> None:
    with pytest.raises(ConfigError, match=r"is None, which is (no|neither a) path"):
        function(None, "b")


@pytest.mark.parametrize("kind", [str, Path])
@pytest.mark.parametrize("function", [*TWO, endotransfer.split_folder, endotransfer.load, endotransfer.write_report])
def test_what_is_missing_is_one_sentence(
    tmp_path: Path, function: Callable[..., object], kind: Callable[[Path], object]
) -> None:
    paths = [kind(tmp_path / "missing"), kind(tmp_path / "out")]
    with pytest.raises(EndotransferError, match="missing") as told:
        function(*(paths if function in TWO else paths[:1]))
    assert "\n" not in str(told.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", [str, Path])
@pytest.mark.parametrize("name", ["import_dataset", "benchmark", "predict_files", "init_experiment", "sweep"])
def test_the_commands_of_the_terminal_are_functions(tmp_path: Path, name: str, kind: Callable[[Path], object]) -> None:
    missing, out = kind(tmp_path / "missing"), kind(tmp_path / "out")
    given: dict[str, tuple[object, ...]] = {
        "import_dataset": ("folders", missing, out), "benchmark": (missing, out),
        "predict_files": ("polyp", missing, out),
        "init_experiment": (missing, missing), "sweep": (missing, {"mu": [1]}, out),
    }  # fmt: skip
    with pytest.raises(EndotransferError, match="missing"):
        getattr(endotransfer, name)(*given[name])
    assert not (tmp_path / "out").exists()


def test_a_device_of_another_name_is_refused_before_torch_sees_it(tmp_path: Path) -> None:
    for name, given in (("load", ["polyp"]), ("evaluate", ["polyp", tmp_path])):
        with pytest.raises(ConfigError, match="the device is cpu or cuda, not 'gpu'"):
            getattr(endotransfer, name)(*given, device="gpu")


def test_one_text_is_one_folder_and_not_its_letters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EndotransferError, match=r"^missing: is not a folder"):
        endotransfer.evaluate("polyp", "missing", device="cpu")  # a model that ships
    with pytest.raises(EndotransferError, match="there is no missing; give image files"):
        endotransfer.predict_files("polyp", "missing", "out")


def test_the_phantom_is_written_inspected_and_split(tmp_path: Path) -> None:
    folders = endotransfer.write_phantom(str(tmp_path / "phantom"), 12, size=32, processes=1)
    assert not endotransfer.inspect_folder(str(folders[1])).errors
    counts = endotransfer.split_folder(folders[1], 0.5, force=True)
    assert counts["train"]["images"] + counts["test"]["images"] == 12


def test_a_grid_may_be_a_mapping(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no `method` to sweep"):
        (tmp_path / "suite.yaml").write_text("data: {source: a, target: b}")
        endotransfer.sweep(tmp_path / "suite.yaml", {"mu": [1, 2]}, tmp_path / "out")


def test_quick_takes_two_folders_and_any_section(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    experiment = Experiment.quick("a", Path("b"), seed=3, training={"head_lr_factor": 2}, data={"tags": False})
    assert experiment.data.source[0].path == tmp_path / "a"
    assert experiment.data.target[0].path == tmp_path / "b"
    assert (experiment.data.size, experiment.data.tags, experiment.seed) == (256, False, 3)
    assert experiment.method == {"name": "tag_transfer"}
    assert experiment.training.head_lr_factor == 2
    assert experiment.with_settings(["training.lr=0.5", "method.name=lta"]).training.lr == 0.5


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"source": "a", "target": "missing"}, r"there is no folder .*missing; check `target`\."),
        ({"source": 3, "target": "a"}, "source is 3, which is no path"),
        ({"source": "a", "target": "a", "sede": 3}, "unknown key 'sede'; did you mean 'seed'"),
        ({"source": "a", "target": "a", "data": 3}, "data is 3; write a mapping"),
    ],
)
def test_quick_names_the_mistake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: dict[str, object], words: str
) -> None:
    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=words):
        Experiment.quick(**arguments)  # type: ignore[arg-type]
