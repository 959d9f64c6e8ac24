"""The literal twins are imported as `tests.unit.transfer.literal`, also when pytest is started by its bare name."""

import sys
from pathlib import Path

ROOT = str(Path(__file__).parents[3])
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)
