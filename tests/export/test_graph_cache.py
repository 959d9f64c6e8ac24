"""The graph that `predict` makes of a network: equal to torch, made once, never in the way."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn.functional import interpolate

from endotransfer import api
from endotransfer.errors import CheckpointError
from endotransfer.export import graph_cache
from endotransfer.export.check import LARGEST, phantoms
from endotransfer.export.graph_cache import WORTHWHILE, choose_graph, graphs_folder
from endotransfer.predict.load import load
from endotransfer.predict.network_graph import FACTS, GRAPH, NetworkGraph, read_facts
from endotransfer.predict.predictor import Predictor
from endotransfer.predict.upsample import upsample
from endotransfer.sealed_json import sealed
from tests.model_folders import write_model


@pytest.fixture(scope="module")
def cached(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, list[str]]:
    """(model folder, its graph, what was said): exporting takes seconds, so it is done once."""
    said: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ENDOTRANSFER_CACHE", str(tmp_path_factory.mktemp("graphs")))
        model = write_model(tmp_path_factory.mktemp("graph-model"))
        choose_graph(model, WORTHWHILE, said.append)
        (folder,) = graphs_folder().iterdir()
    facts = read_facts(folder)
    # Which is quicker depends on the machine; what follows is about the rest.
    (folder / FACTS).write_text(sealed(facts.model_dump(mode="json") | {"seconds": 1.0, "torch_seconds": 2.0}))
    return model, folder, said


@pytest.fixture
def in_cache(cached: tuple[Path, Path, list[str]], monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    model, folder, _ = cached
    monkeypatch.setenv("ENDOTRANSFER_CACHE", str(folder.parent.parent))
    return model, folder


def test_upsampling_is_that_of_torch_larger_and_smaller() -> None:
    maps = np.random.default_rng(0).normal(size=(3, 7, 5)).astype(np.float32)
    for size in ((31, 44), (7, 5), (4, 3), (1, 1), (6, 90)):
        expected = interpolate(torch.from_numpy(maps)[None], size, mode="bilinear", align_corners=False)[0].numpy()
        assert np.abs(upsample(maps, size) - expected).max() < 1e-5


@pytest.mark.parametrize("flips", [False, True])
def test_the_graph_predicts_what_torch_predicts(in_cache: tuple[Path, Path], flips: bool) -> None:
    model, folder = in_cache
    ours, theirs = NetworkGraph(folder, flips=flips), load(model, "cpu", flips=flips)
    assert isinstance(theirs, Predictor)
    for image in phantoms([(48, 64), (97, 61), (20, 30)], each=2):
        mine, other = ours.predict(image), theirs.predict(image)
        assert np.abs(mine.probabilities - other.probabilities).max() < LARGEST
        assert mine.lesion_probability == pytest.approx(other.lesion_probability, abs=LARGEST)
        (marks,), (expected,) = ours.mark_batch([image]), theirs.mark_batch([image])
        assert np.abs(marks.certainty - expected.certainty).max() < LARGEST
        sure = expected.certainty > 0.5 + LARGEST
        assert sure.mean() > 0.9 and np.array_equal(marks.mask[sure], expected.mask[sure])


def test_five_classes_are_marked_as_torch_marks_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENDOTRANSFER_CACHE", str(tmp_path / "cache"))
    model = write_model(tmp_path / "model", "untagged")
    choose_graph(model, 0, lambda _: None, force=True)
    (folder,) = graphs_folder().iterdir()
    (image,) = phantoms([(97, 61)], each=1)
    (marks,), (expected,) = NetworkGraph(folder).mark_batch([image]), load(model, "cpu").mark_batch([image])
    assert np.abs(marks.certainty - expected.certainty).max() < LARGEST
    assert (marks.mask == expected.mask).mean() > 0.999 and marks.lesion_probability is None


def test_it_is_made_once_and_only_for_many_pictures(
    cached: tuple[Path, Path, list[str]], in_cache: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model, folder = in_cache
    assert len(cached[2]) == 1 and "exporting" in cached[2][0]
    monkeypatch.setattr(graph_cache, "_make", None)  # it would fail
    assert choose_graph(model, 1, lambda _: None).folder == folder
    monkeypatch.setenv("ENDOTRANSFER_CACHE", str(tmp_path))
    few = choose_graph(model, WORTHWHILE - 1, lambda _: None)
    assert few.folder is None and "repay" in few.why


def test_a_slower_or_damaged_graph_is_not_used(in_cache: tuple[Path, Path], tmp_path: Path) -> None:
    model, folder = in_cache
    facts, text = read_facts(folder), (folder / FACTS).read_text()
    (folder / FACTS).write_text(sealed(facts.model_dump(mode="json") | {"seconds": 3.0}))
    assert "not faster" in choose_graph(model, 1, lambda _: None).why
    (folder / FACTS).write_text(text)
    graph = (folder / GRAPH).read_bytes()
    (folder / GRAPH).write_bytes(graph[:-1] + b"\0")
    with pytest.raises(CheckpointError, match=r"network\.onnx is damaged"):
        NetworkGraph(folder)
    (folder / GRAPH).write_bytes(graph)
    away = folder.rename(tmp_path / "away")
    folder.mkdir()  # what is not whole is removed, not trusted
    (folder / FACTS).write_text(text[:-9])
    assert choose_graph(model, 1, lambda _: None).folder is None and not folder.exists()
    away.rename(folder)


def test_without_a_model_torch_says_what_is_missing(tmp_path: Path) -> None:
    assert "no model" in choose_graph(tmp_path, WORTHWHILE, lambda _: None).why


def test_predict_says_which_it_is_and_torch_overrules(
    in_cache: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from PIL import Image

    model, _ = in_cache
    (image,) = phantoms([(48, 64)], each=1)
    Image.fromarray(image).save(tmp_path / "a.png")
    said = {}
    for backend in ("auto", "torch"):
        api.predict_files(model, tmp_path / "a.png", tmp_path / backend, backend=backend, device="cpu")
        said[backend] = capsys.readouterr().out
    assert "ONNX Runtime predicts (2.0 times" in said["auto"] and "torch predicts on cpu" in said["torch"]
    assert (tmp_path / "auto/masks/a.png").read_bytes() == (tmp_path / "torch/masks/a.png").read_bytes()


def test_asking_for_onnx_where_it_cannot_be_is_an_error(tmp_path: Path) -> None:
    from PIL import Image

    Image.new("RGB", (8, 8)).save(tmp_path / "a.png")
    with pytest.raises(CheckpointError, match="no run, model folder or bundle"):
        api.predict_files(tmp_path / "none", tmp_path / "a.png", tmp_path / "out", backend="onnx", device="cpu")


def test_a_graph_that_was_cut_short_is_made_again(in_cache: tuple[Path, Path], tmp_path: Path) -> None:
    model, folder = in_cache
    shutil.copytree(folder, tmp_path / "copy")
    try:
        for damaged in (b"", (folder / GRAPH).read_bytes()[:-1]):
            (folder / GRAPH).write_bytes(damaged)
            assert choose_graph(model, 1, lambda _: None).folder is None and not folder.exists()
            shutil.copytree(tmp_path / "copy", folder)
    finally:
        if not folder.exists():
            shutil.copytree(tmp_path / "copy", folder)


def refuse(*_: object) -> None:
    raise CheckpointError("cannot write it: the disk is full; free some space.")


def test_a_full_disk_leaves_torch_to_predict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_cache: tuple[Path, Path]
) -> None:
    monkeypatch.setenv("ENDOTRANSFER_CACHE", str(tmp_path))
    monkeypatch.setattr(graph_cache, "write_atomically", refuse)
    choice = choose_graph(in_cache[0], WORTHWHILE, lambda _: None)
    assert choice.folder is None and "no graph could be kept" in choice.why
    assert list(graphs_folder().iterdir()) == []


def test_a_model_that_is_exchanged_while_its_graph_is_made_gives_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_cache: tuple[Path, Path]
) -> None:
    """The graph of the new weights would lie under the name of the old ones, and be used for them ever after."""
    model = tmp_path / "model"
    shutil.copytree(in_cache[0], model)
    facts = read_facts(in_cache[1])

    def exchanged(model: Path, part: Path) -> object:
        (model / "weights.safetensors").write_bytes(b"other weights")
        return facts

    monkeypatch.setenv("ENDOTRANSFER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(graph_cache, "_export", exchanged)
    assert choose_graph(model, WORTHWHILE, lambda _: None).folder is None
    assert list(graphs_folder().iterdir()) == []
