"""`data inspect`: seconds and memory, in a process of its own, from a sample of the 5,000 images that it is for."""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from perf.generated_folder import write_folder
from perf.timing import emit

IMAGES, SIDE = 500, 512
WANTED, SECONDS, MEGABYTES = 5000, 60, 500


def main(options: list[str]) -> None:
    """`python -m perf inspect FOLDER` takes a folder that is there already, whole."""
    with tempfile.TemporaryDirectory() as name:
        given = Path(options[0]) if options else None
        folder = given or write_folder(Path(name) / "study", IMAGES, SIDE, 0)
        images = len(list((folder / "images").iterdir()))
        nothing = write_folder(Path(name) / "one", 1, SIDE, 0)
        start, core_start, _ = cost_of(nothing)
        seconds, core, peak = cost_of(folder)
        seconds, core = seconds - start, core - core_start
    emit(
        f"data inspect of {WANTED} images of {SIDE} px with masks, seconds", start + seconds * WANTED / images,
        at_most=SECONDS, measured_on=images, seconds_to_start=start, peak_megabytes=peak,
        seconds_of_two_free_cores=(core_start + core * WANTED / images) / 2,
    )  # fmt: skip
    if images >= WANTED:
        emit(f"data inspect of {images} images, peak memory in MB", peak, at_most=MEGABYTES)


RUN = """
import atexit, sys
from pathlib import Path
peak = lambda: print(*(x for x in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in x), file=sys.stderr)
atexit.register(peak)
from endotransfer.cli.main import main
main()
"""


def cost_of(folder: Path) -> tuple[float, float, float]:
    """Seconds, seconds of cores, and megabytes at the peak (its own: the system's figure would be the parent's)."""
    began, before = time.perf_counter(), _core_seconds()
    command = [sys.executable, "-c", RUN, "data", "inspect", str(folder), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3):  # 3: faults were found
        sys.exit(done.stderr)
    peak = int(done.stderr.rpartition("VmHWM:")[2].split()[0]) / 1024
    return time.perf_counter() - began, _core_seconds() - before, peak


def _core_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main(sys.argv[1:])
