"""metrics.csv and TensorBoard hold the same figures, also where a run was killed and resumed."""

import math
import time
from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from endotransfer.engine.run_log import RunLog


def shown_by_tensorboard(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """Every scalar as TensorBoard reads it back from all event files: name -> (step, value)."""
    events = EventAccumulator(str(folder / "tensorboard"))
    events.Reload()
    return {
        name: [(scalar.step, round(scalar.value, 4)) for scalar in events.Scalars(name)]
        for name in events.Tags()["scalars"]
    }


def test_a_resumed_log_forgets_later_steps(tmp_path: Path) -> None:
    log = RunLog(tmp_path, tensorboard=False)
    for step in (1, 2, 3):
        log.write(step, 0, "train", {"loss/net": step / 3})
    log.rewind(2)
    log.write(3, 0, "train", {"loss/net": math.pi})
    log.close()
    rows = (tmp_path / "metrics.csv").read_text().splitlines()
    assert rows == ["step,epoch,stage,name,value", "1,0,train,loss/net,0.33333333", "2,0,train,loss/net,0.66666667",
                    "3,0,train,loss/net,3.1415927"]  # fmt: skip


def test_other_processes_log_nothing(tmp_path: Path) -> None:
    log = RunLog(None)
    log.write(1, 0, "train", {"loss/net": 1.0})
    log.rewind(0)
    log.close()
    assert not list(tmp_path.iterdir())


def test_tensorboard_gets_the_same_figures(tmp_path: Path) -> None:
    log = RunLog(tmp_path, tensorboard=True)
    log.write(1, 0, "train", {"loss/net": 1.0})
    log.close()
    assert shown_by_tensorboard(tmp_path) == {"loss/net": [(1, 1.0)]}


def test_a_resumed_run_shows_no_step_twice_in_tensorboard(tmp_path: Path) -> None:
    """Killed after step 4 with its checkpoint at step 2, before the pass that belongs to step 2."""
    log = RunLog(tmp_path)
    for step in (1, 2):
        log.write(step, 0, "train", {"loss/net": float(step)})
    log.write(2, 1, "train", {"pass/coverage": 0.1})
    for step in (3, 4):
        log.write(step, 1, "train", {"loss/net": 100.0 * step})
    log.close()
    time.sleep(1.1)  # event files are read in the order of the second in their names
    resumed = RunLog(tmp_path)
    resumed.rewind(2)
    resumed.write(2, 1, "train", {"pass/coverage": 0.2})
    resumed.write(3, 1, "train", {"loss/net": 3.0})
    resumed.close()
    assert shown_by_tensorboard(tmp_path) == {
        "loss/net": [(1, 1.0), (2, 2.0), (3, 3.0)],
        "pass/coverage": [(2, 0.2)],
    }


def test_a_run_that_starts_again_from_nothing_hides_what_it_had_logged(tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    log.write(1, 0, "train", {"loss/net": 9.0})
    log.close()
    time.sleep(1.1)
    again = RunLog(tmp_path)
    again.rewind(0)
    again.write(1, 0, "train", {"loss/net": 1.0})
    again.close()
    assert shown_by_tensorboard(tmp_path) == {"loss/net": [(1, 1.0)]}
