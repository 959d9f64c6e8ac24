"""A run folder: all that one training run leaves behind, and the promise that none of it is overwritten unasked."""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from endotransfer.engine.data_record import FILE as DATA
from endotransfer.engine.run_lock import FILE as LOCK
from endotransfer.engine.run_lock import RunLock
from endotransfer.engine.trackers import FILE as TRACKED
from endotransfer.errors import ConfigError

PROPAGATION = "propagation"  # pseudo-labels of a few images, epoch by epoch
OWN = {
    LOCK, DATA, "checkpoints", "config.yaml", "diverged.json", "maps", "metrics.csv", "mlflow", "model", PROPAGATION,
    "report", "results.json", "scores.json", "tensorboard", TRACKED, "wandb",
}  # fmt: skip
_UNFINISHED = re.compile(r"\.[a-z]+\.[a-z]+\.\w+\.part")  # what a kill leaves of a file that was being written


@dataclass(frozen=True)
class RunFolder:
    path: Path

    @property
    def config(self) -> Path:
        return self.path / "config.yaml"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def maps(self) -> Path:
        return self.path / "maps"

    @property
    def propagation(self) -> Path:
        return self.path / PROPAGATION

    @property
    def model(self) -> Path:
        return self.path / "model"

    @property
    def results(self) -> Path:
        return self.path / "results.json"


def open_run(path: Path, *, resume: bool, force: bool, lock: RunLock | None = None) -> RunFolder:
    """A new run folder, or an old one to go on with (`resume`) or to replace (`force`); `lock` is this process's then.

    A run that was killed while it wrote its first file has nothing to go on from: it begins, whatever was asked.
    """
    run = RunFolder(path)
    try:
        if path.exists() and not path.is_dir():
            raise ConfigError(f"{path} is a file; give a folder for the run.")
        if resume and not run.config.exists() and not _barely_begun(path):
            raise ConfigError(f"{path} holds no run to resume; leave out --resume to start one.")
        path.mkdir(parents=True, exist_ok=True)
        if any(entry.name != LOCK for entry in path.iterdir()) and not resume:
            _refuse(run, force=force)
        if lock is not None:
            lock.acquire()
        if not resume or _barely_begun(path):
            _clear(run)
    except OSError as reason:
        raise ConfigError(f"cannot use {path} for the run: {reason.strerror}; choose another --out.") from reason
    return run


def _barely_begun(path: Path) -> bool:
    """Whether a folder holds nothing but what a kill during the first write leaves."""
    names = [entry.name for entry in path.iterdir()] if path.is_dir() else []
    return bool(names) and all(name == LOCK or _UNFINISHED.fullmatch(name) for name in names)


def _refuse(run: RunFolder, *, force: bool) -> None:
    """Only what a run writes may be replaced, and only if there is nothing else beside it: `--force` is no `rm -r`."""
    foreign = sorted(e.name for e in run.path.iterdir() if e.name not in OWN and not _UNFINISHED.fullmatch(e.name))
    if _barely_begun(run.path):
        return
    if foreign or not run.config.exists():
        what = f"holds {foreign[0]}, which no run wrote" if foreign else "is not empty and holds no run"
        raise ConfigError(f"{run.path} {what}; choose another --out.")
    if not force:
        raise ConfigError(
            f"{run.path} already holds a run; go on with --resume, replace it with --force, or choose another --out."
        )


def _clear(run: RunFolder) -> None:
    """Remove a run, what makes it one last: a kill in between leaves something that can be removed again."""
    entries = [entry for entry in run.path.iterdir() if entry.name != LOCK]
    for entry in sorted(entries, key=lambda entry: entry == run.config):
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
