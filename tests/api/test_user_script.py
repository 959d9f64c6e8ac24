"""A user's script is type-checked against the interface, and so are its mistakes."""

from pathlib import Path

import pytest
from mypy import api as mypy

SCRIPT = Path(__file__).with_name("user_script.py")


def check(tmp_path: Path, text: str) -> str:
    script = tmp_path / "script.py"
    script.write_text(text)
    said, _, _ = mypy.run(["--strict", "--no-error-summary", "--cache-dir", str(tmp_path), str(script)])
    return said


@pytest.mark.slow
def test_types_reach_the_user(tmp_path: Path) -> None:
    mistakes = [
        'endotransfer.trian("a", "b")',
        "endotransfer.train(3, 4)",
        'print(endotransfer.load("a").predict("b").lesion_share + "x")',
        'endotransfer.Experiment.quick("a", "b", size="large")',
    ]
    said = check(tmp_path, SCRIPT.read_text() + "\n" + "\n".join(mistakes) + "\n")
    length = len(SCRIPT.read_text().splitlines())
    wrong = {int(line.split(":")[1]) - length - 2 for line in said.splitlines() if ": error:" in line}
    assert wrong == set(range(len(mistakes))), said
