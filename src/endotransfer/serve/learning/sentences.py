"""What a command said, fit for the page: one sentence that names no folder of this machine."""

import re
from pathlib import Path

_PATH = re.compile(r"(?<![\w.])~?(?:/[^\s/;,:'\"()]+)+/?")


def without_paths(sentence: str) -> str:
    """Every path in it shortened to its last part."""
    for root in (Path.cwd(), Path.home()):
        sentence = sentence.replace(f"{root}/", "")
    return _PATH.sub(lambda found: Path(found[0]).name, sentence)
