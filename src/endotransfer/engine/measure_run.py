"""From a trained model to results.json: the figures of its test images, and what they cost."""

import datetime
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from endotransfer import __version__
from endotransfer.batch import SegOutput
from endotransfer.config import Experiment, FolderConfig, read_experiment
from endotransfer.config.class_lists import protocol_of
from endotransfer.data.pipeline.decode_cache import DecodeCache
from endotransfer.engine.calibrate import fit_temperature
from endotransfer.engine.choose_device import choose_device
from endotransfer.engine.evaluate import evaluate_samples
from endotransfer.engine.experiment_data import ExperimentData, read_role
from endotransfer.engine.model_folder import load_model, save_model
from endotransfer.engine.run_folder import RunFolder
from endotransfer.errors import CheckpointError, ConfigError, DataError
from endotransfer.inference import geometry_of, with_temperature
from endotransfer.io import write_atomically
from endotransfer.methods import Method
from endotransfer.results import Results


def evaluate(
    run: Path | str,
    folders: Sequence[Path | str],
    *,
    split: str | None = None,
    out: Path | None = None,
    device: str | None = None,
    pranet: bool = False,
    flips: bool = False,
    contradictions: Literal["stop", "keep"] | None = None,
) -> Results:
    """Measure the model of `run` on the images of `folders`: their split `test` where they have one, unless asked.

    `contradictions`: what becomes of a tag against its mask; None: what the run's experiment says, else an error.

    `pranet` adds the figures of the PraNet protocol under that key; `flips` averages over four mirror images, and the
    results say so.
    """
    if out is not None and out.exists():
        raise ConfigError(f"{out} exists already; choose another --out.")
    where = choose_device(device)
    model = load_model(Path(run), where)
    protocol = protocol_of(model.classes.names)
    parts = [FolderConfig(path=Path(folder), split=split) for folder in folders]
    domain = read_role(parts, "test", classes=protocol.name if protocol else None)
    assert domain is not None
    theirs, known = domain.classes.names, model.classes.names
    if theirs != known and not (len(theirs) == len(known) == 2):  # polyp or lesion, two classes mean the same
        raise DataError(
            f"the data have the classes {list(theirs)} but the model knows {list(known)}; "
            "evaluate it on data with its own classes."
        )
    lesions = model.info.tags or domain.classes.binary
    keep = (contradictions or _contradictions_of(Path(run))) == "keep"
    scores, of_tags = evaluate_samples(
        model, domain.samples, domain.classes, model.geometry, where, lesions=lesions, pranet=pranet, flips=flips,
        keep_contradictions=keep,
    )  # fmt: skip
    found = head_of(model.info.method.model_dump(), model.info.seed, theirs) | scores.summary().to_dict() | of_tags
    found |= {"temperature": {"value": model.info.temperature}}
    results = Results.model_validate(found | ({"flips": True} if flips else {}))
    if out is not None:
        results.write(out, ConfigError)
    return results


def _contradictions_of(run: Path) -> str:
    """As the run was trained; a model folder by itself does not know."""
    try:
        return read_experiment(run / "config.yaml").data.contradictions
    except ConfigError:
        return "stop"


def finish(
    run: RunFolder,
    experiment: Experiment,
    experiment_data: ExperimentData,
    method: Method,
    device: torch.device,
    cost: Mapping[str, object],
    *,
    writes: bool = True,
    decode_cache: DecodeCache | None = None,
) -> Results | None:
    """Measure the last weights (the checkpoint that counts), then write scores, model and results.

    All processes measure, each a part of the test images; the one that `writes` writes, the others return None.
    """
    method.eval()
    predictor, student = method.predictor(), method.segmenter

    def predict(images: Tensor) -> SegOutput:
        output: SegOutput = predictor(images, domain=method.predict_as)
        return output

    def predict_as_student(images: Tensor) -> SegOutput:
        output: SegOutput = student(images, domain=method.predict_as)
        return output

    # Without autocast, as `evaluate` and `predict` will run the saved model.
    dtype = next(predictor.parameters()).dtype
    temperature = fit_temperature(
        predict, experiment, experiment_data, device, dtype, target_masks=method.needs.masks_of_target
    )
    scores, of_tags = evaluate_samples(
        lambda images: with_temperature(predict(images), temperature.value), experiment_data.test,
        experiment_data.test_classes, geometry_of(experiment), device, batch=experiment.evaluation.batch, dtype=dtype,
        student=predict_as_student if predictor is not student else None,
        lesions=experiment_data.tags or experiment_data.classes.binary, pranet=experiment.evaluation.pranet,
        shared=True, decode_cache=decode_cache,
    )  # fmt: skip
    if not writes:
        return None
    head = head_of(experiment.method, experiment.seed, experiment_data.classes.names) | {"name": experiment.name}
    figures = scores.summary(experiment.evaluation.resamples).to_dict()
    fitted = {"temperature": temperature, "cost": cost}
    results = Results.model_validate(head | figures | of_tags | fitted | method.findings())
    counts = {
        "source with mask": len(experiment_data.masked),
        "source with tag only": len(experiment_data.tagged),
        "target (no mask read)": len(experiment_data.target),
        "test": len(experiment_data.test),
    }
    save_model(
        run.model, method, experiment_data.classes, experiment.data.shape, experiment.method, results, counts,
        geometry_of(experiment),
    )  # fmt: skip
    write_atomically(run.path / "scores.json", json.dumps(scores.rows()), CheckpointError)
    results.write(run.results)
    return results


def head_of(settings: Mapping[str, object], seed: int, classes: Sequence[str]) -> dict[str, object]:
    """What a row of a table is about."""
    variant = {"variant": settings["variant"]} if settings.get("variant") else {}
    return {
        "method": settings["name"],
        "preset": settings.get("preset", "default"),
        **variant,
        "seed": seed,
        "classes": list(classes),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "version": __version__,
    }
