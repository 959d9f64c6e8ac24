"""*Retrain with these*: a run's experiment once more, with the reviewed masks, in a process and a run of its own."""

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from endotransfer.engine.run_log import read_log
from endotransfer.errors import ConfigError
from endotransfer.io import write_atomically
from endotransfer.results import Results
from endotransfer.serve.answers import Refusal
from endotransfer.serve.learning.job_file import JobFolder, TrainingJob
from endotransfer.serve.learning.job_log import read_job_log
from endotransfer.serve.learning.job_process import ask_to_stop, identity_of, start_process
from endotransfer.serve.learning.retrainable import CONFIG, Retrainable
from endotransfer.serve.run_history import read_curves

JobState = Literal["running", "stopped", "failed", "done"]
NO_WORD = "training ended without a word; it goes on from its last checkpoint, or its log says more."


@dataclass(frozen=True)
class Retraining:
    """The trainings beside one run.  Nothing is kept in memory: a viewer that starts anew knows as much."""

    run: Path

    @property
    def folder(self) -> JobFolder:
        return JobFolder(self.run.resolve().parent)

    def job(self) -> TrainingJob | None:
        """The newest that begins or ends in this run."""
        name = self.run.resolve().name
        found = [job for job in self.folder.read_all() if name in (job.before, job.out)]
        return found[-1] if found else None

    def start(self, known: Retrainable) -> TrainingJob:
        reviewed = known.reviewed()
        if not reviewed:
            raise Refusal(409, "nothing-reviewed", "no training image is accepted or corrected yet; review some first.")
        with self.folder.alone():
            self._refuse_second()
            before = known.run.resolve().name
            job = TrainingJob(
                out=self.folder.free_name(before), before=before, reviewed=len(reviewed), began=time.time()
            )
            return self._begin(job)

    def resume(self) -> TrainingJob:
        """Go on from the last checkpoint; a run that was never begun begins."""
        with self.folder.alone():
            self._refuse_second()
            job = self._known()
            if self.state_of(job) == "done":
                raise Refusal(409, "finished", "this training is finished.")
            step = max((row.step for row in read_log(self.folder.run_of(job))), default=0)
            again = job.model_copy(update={"began": time.time(), "first_step": step})
            resume = (self.folder.run_of(job) / CONFIG).exists()
            return self._begin(again, *(["--resume"] if resume else []))

    def stop(self) -> None:
        job = self._known()
        if self.state_of(job) == "running":
            ask_to_stop(job.pid, job.process or "")

    def state_of(self, job: TrainingJob) -> JobState:
        if Results.read_if_whole(self.folder.run_of(job) / "results.json") is not None:  # written last
            return "done"
        if job.process is not None and identity_of(job.pid) == job.process:
            return "running"
        return "stopped" if read_job_log(self.folder.log_of(job)).stopped else "failed"

    def status(self) -> dict[str, object] | None:
        """What the page shows of the newest training; None where there is none."""
        job = self.job()
        if job is None:
            return None
        run, said, state = self.folder.run_of(job), read_job_log(self.folder.log_of(job)), self.state_of(job)
        step = max((row.step for row in read_log(run)), default=0)
        steps = said.steps or max((row.step for row in read_log(self.folder.runs / job.before)), default=0)
        passed = time.time() - job.began
        done = step - job.first_step
        return {
            "name": job.out, "before": job.before, "state": state, "reviewed": job.reviewed, "step": step,
            "steps": max(step, steps), "seconds": passed,
            "left": passed / done * (steps - step) if state == "running" and done > 0 and step <= steps else None,
            "message": (said.error or NO_WORD) if state == "failed" else "", "curves": read_curves(run),
        }  # fmt: skip

    def _begin(self, job: TrainingJob, *more: str) -> TrainingJob:
        """The record comes first, so that no process is ever without one."""
        folder = self.folder
        folder.write(job)
        config = folder.runs / job.before / CONFIG
        command = [sys.executable, "-m", "endotransfer", "train", str(config), "--set", "data.reviewed=use"]
        write_atomically(folder.log_of(job), b"", ConfigError)  # a link of that name is replaced, not followed
        pid = start_process([*command, "--out", str(folder.run_of(job)), *more], folder.log_of(job))
        begun = job.model_copy(update={"pid": pid, "process": identity_of(pid)})
        folder.write(begun)
        return begun

    def _refuse_second(self) -> None:
        if any(self.state_of(job) == "running" for job in self.folder.read_all()):
            raise Refusal(409, "training", "a training is going on already; wait for it, or stop it.")

    def _known(self) -> TrainingJob:
        job = self.job()
        if job is None:
            raise Refusal(404, "no-job", "nothing was trained from here yet.")
        return job
