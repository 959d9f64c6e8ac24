"""The parts of a job: whose process a number means, what a log says, which names are free."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from endotransfer.serve.learning.job_file import JobFolder, TrainingJob
from endotransfer.serve.learning.job_log import JobLog, read_job_log
from endotransfer.serve.learning.job_process import ask_to_stop, identity_of, start_process
from endotransfer.serve.learning.retraining import Retraining
from endotransfer.serve.learning.sentences import without_paths


def test_a_process_is_known_by_when_it_began(tmp_path: Path) -> None:
    code = "import time; print('here', flush=True); time.sleep(60)"
    pid = start_process([sys.executable, "-c", code], tmp_path / "log")
    identity = identity_of(pid)
    assert identity is not None and identity != identity_of(os.getpid())
    ask_to_stop(pid, "somebody else")
    while not (tmp_path / "log").read_bytes():
        time.sleep(0.02)
    assert identity_of(pid) == identity
    ask_to_stop(pid, identity)
    while identity_of(pid) is not None:
        time.sleep(0.02)


def test_a_child_that_has_ended_is_gone_although_nobody_asked() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    while identity_of(child.pid) is not None:
        time.sleep(0.02)
    child.wait()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", JobLog()),
        ("epoch 1 (all): step 40 of 400, loss 0.3, 0:01:00 left\n", JobLog(400)),
        ("stopped at step 3 of 9; go on with --resume.\n", JobLog(9, stopped=True)),
        ("terminated; a run goes on\n", JobLog(stopped=True)),
        ("note: x\nerror: there is no /home/ada/data; make it.\n", JobLog(error="there is no data; make it.")),
    ],
)  # fmt: skip
def test_a_log_says_how_far_and_why_not(tmp_path: Path, text: str, found: JobLog) -> None:
    assert read_job_log(tmp_path / "none") == JobLog()
    (tmp_path / "log").write_text("x" * 100_000 + "\n" + text)
    assert read_job_log(tmp_path / "log") == found


def test_sentences_lose_their_paths_and_nothing_else() -> None:
    said = f"cannot read {Path.home()}/a b/c.png: no/yes, /var/x/y.csv; give ~/z or 1/2."
    assert without_paths(said) == "cannot read a b/c.png: no/yes, y.csv; give z or 1/2."


def test_names_are_never_used_twice(tmp_path: Path) -> None:
    folder = JobFolder(tmp_path)
    assert folder.free_name("tags") == "tags-reviewed-1"
    (tmp_path / "tags-reviewed-1").mkdir()
    folder.path.mkdir()
    (folder.path / "tags-reviewed-2.log").touch()
    assert folder.free_name("tags") == folder.free_name("tags-reviewed-1") == "tags-reviewed-3"


def job(**more: object) -> TrainingJob:
    return TrainingJob.model_validate({"out": "a-reviewed-1", "before": "a", "reviewed": 3, "began": 1.0, **more})


@pytest.mark.parametrize("name", ["..", ".", "../a", "a/b", "", "a\x00"])
def test_a_job_names_a_folder_beside_it_and_no_other(name: str) -> None:
    for field in ("out", "before"):
        with pytest.raises(ValueError, match=field):
            job(**{field: name})


def test_the_number_of_another_process_is_not_the_job(tmp_path: Path) -> None:
    retraining = Retraining(tmp_path / "a")
    retraining.folder.path.mkdir()
    retraining.folder.write(job(pid=os.getpid(), process="another boot 1"))
    (retraining.folder.path / "torn.json").write_text("{")
    known = retraining.job()
    assert known is not None
    assert retraining.state_of(known) == "failed"
    retraining.stop()  # and this process is still there
    retraining.folder.write(job(pid=os.getpid(), process=identity_of(os.getpid())))
    known = retraining.job()
    assert known is not None
    assert retraining.state_of(known) == "running"
