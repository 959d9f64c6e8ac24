"""How many examples a property is tested on: at most 50, and as many as its test names in `make test-all`."""

import os

from hypothesis import settings

EVERYDAY = 50
ALL = "ENDOTRANSFER_TEST_ALL" in os.environ


def examples(number: int) -> settings:
    return settings(max_examples=number if ALL else min(number, EVERYDAY), deadline=None)
