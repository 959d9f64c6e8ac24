"""A run folder: all that one training run leaves behind, and the promise that none of it is overwritten unasked."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from endotransfer.errors import ConfigError

PROPAGATION = "propagation"  # pseudo-labels of a few images, epoch by epoch
OWN = {
    "checkpoints", "config.yaml", "diverged.json", "maps", "metrics.csv", "model", PROPAGATION, "report",
    "results.json", "scores.json", "tensorboard",
}  # fmt: skip


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


def open_run(path: Path, *, resume: bool, force: bool) -> RunFolder:
    """A new run folder, or an old one to go on with (`resume`) or to replace (`force`)."""
    run = RunFolder(path)
    try:
        if path.exists() and not path.is_dir():
            raise ConfigError(f"{path} is a file; give a folder for the run.")
        if resume:
            if not run.config.exists():
                raise ConfigError(f"{path} holds no run to resume; leave out --resume to start one.")
        elif path.exists() and any(path.iterdir()):
            _clear(run, force=force)
        path.mkdir(parents=True, exist_ok=True)
    except OSError as reason:
        raise ConfigError(f"cannot use {path} for the run: {reason.strerror}; choose another --out.") from reason
    return run


def _clear(run: RunFolder, *, force: bool) -> None:
    """Remove a run.  Only what a run writes, and only if there is nothing else beside it: `--force` is no `rm -r`."""
    foreign = sorted(entry.name for entry in run.path.iterdir() if entry.name not in OWN)
    if foreign or not run.config.exists():
        what = f"holds {foreign[0]}, which no run wrote" if foreign else "is not empty and holds no run"
        raise ConfigError(f"{run.path} {what}; choose another --out.")
    if not force:
        raise ConfigError(
            f"{run.path} already holds a run; go on with --resume, replace it with --force, or choose another --out."
        )
    for entry in run.path.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
