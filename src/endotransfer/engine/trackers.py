"""MLflow and Weights & Biases beside metrics.csv, through Lightning's loggers.

Each is told the figures and the settings of a run, never an image.  A resumed run goes on in the run it began there;
a tracker that fails (a server that is gone) is left out from then on, because it must not cost a run.
"""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from endotransfer.config import Experiment
from endotransfer.errors import CheckpointError, ConfigError
from endotransfer.io import LARGEST_TEXT, read_json_object, write_atomically

if TYPE_CHECKING:
    from lightning.pytorch.loggers import Logger

TRACKERS = ("mlflow", "wandb")
FILE = "trackers.json"  # the run's name in each of them
Ending = Literal["finished", "stopped", "failed"]
_STATUS = {"finished": "success", "stopped": "KILLED", "failed": "failed"}  # in the words of the loggers


def chosen_trackers(loggers: Sequence[str]) -> list[str]:
    """Those of `loggers` that are trackers; ConfigError where one is not installed."""
    chosen = [name for name in loggers if name in TRACKERS]
    for name in chosen:
        if find_spec(name) is None:
            fix = f"install endotransfer[{name}], or leave it out"
            raise ConfigError(f"training.loggers names {name}, which is not installed; {fix}.")
    return chosen


class Trackers:
    """The trackers of one run, opened with its first figures: a run that fails before them leaves nothing behind."""

    def __init__(self, names: Sequence[str], experiment: Experiment, run: Path) -> None:
        self._names, self._experiment, self._run = names, experiment, run
        self._open: dict[str, Logger] | None = None

    def write(self, step: int, figures: Mapping[str, float]) -> None:
        if self._open is None:
            self._open = {}
            self._start()
        for name, logger in list(self._open.items()):
            try:
                logger.log_metrics(dict(figures), step=step)
            except Exception as reason:  # of a foreign library, and of the network behind it
                self._give_up(name, reason)

    def close(self, ending: Ending) -> None:
        for name, logger in (self._open or {}).items():
            try:
                logger.finalize(_STATUS[ending])
                if name == "wandb":
                    _finish_wandb(ending)
            except Exception as reason:
                _tell(name, reason)
        self._open = None

    def _start(self) -> None:
        known = _known_runs(self._run / FILE)
        for name in self._names:
            try:
                self._open_one(name, known.get(name))
            except Exception as reason:
                self._give_up(name, reason)
        names = {name: str(logger.version) for name, logger in (self._open or {}).items()}
        write_atomically(self._run / FILE, json.dumps(known | names), CheckpointError)

    def _open_one(self, name: str, known: str | None) -> None:
        assert self._open is not None
        opened = {"mlflow": _mlflow, "wandb": _wandb}[name](self._experiment.name, self._run, known)
        if known is None:  # MLflow refuses a setting that changed, and on resume some may
            opened.log_hyperparams(self._experiment.model_dump(mode="json"))
        self._open[name] = opened

    def _give_up(self, name: str, reason: Exception) -> None:
        assert self._open is not None
        self._open.pop(name, None)
        _tell(name, reason)


def _finish_wandb(ending: Ending) -> None:
    """Else the next run of this process would be written into this one."""
    import wandb

    wandb.finish(exit_code=int(ending == "failed"))


def _tell(name: str, reason: Exception) -> None:
    print(f"note: {name} failed ({reason}); the run goes on without it.", file=sys.stderr)


def _known_runs(path: Path) -> dict[str, str]:
    if not path.exists():
        return {}
    known = read_json_object(path, CheckpointError, "remove it, and the run is tracked as a new one", LARGEST_TEXT)
    return {name: str(run) for name, run in known.items()}


def _mlflow(experiment: str, run: Path, known: str | None) -> "Logger":
    """In the run folder, unless MLFLOW_TRACKING_URI names a server or another folder."""
    from lightning.pytorch.loggers import MLFlowLogger

    where = os.environ.get("MLFLOW_TRACKING_URI") or (run / "mlflow").absolute().as_uri()
    if where.startswith("file:"):  # MLflow 3 asks for it
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
    return MLFlowLogger(experiment_name=experiment, run_name=run.name, tracking_uri=where, run_id=known)


def _wandb(experiment: str, run: Path, known: str | None) -> "Logger":
    """Offline, unless somebody has logged in here or WANDB_MODE says otherwise."""
    import wandb
    from lightning.pytorch.loggers import WandbLogger

    quiet = wandb.Settings(console="off", disable_code=True, disable_git=True, silent=True)
    mode = os.environ.get("WANDB_MODE") or ("online" if wandb.api.api_key else "offline")
    project = os.environ.get("WANDB_PROJECT", experiment)
    return WandbLogger(name=run.name, project=project, save_dir=run, id=known, mode=mode, settings=quiet)
