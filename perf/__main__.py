"""`make bench`: every figure as one JSON line, each a ratio in one run against a named rival.

`python -m perf` measures everything; `python -m perf step --profile` one part, with its options.
"""

import importlib
import sys
import time

PARTS = ("step", "scale", "evaluation", "start", "loading", "pseudo_labels", "predict", "inspect")


def main(arguments: list[str]) -> None:
    part, *options = arguments or [""]
    if part and part not in PARTS:
        sys.exit(f"there is no part '{part}'; choose among {', '.join(PARTS)}, or none for all")
    for name in [part] if part else PARTS:
        began = time.perf_counter()
        importlib.import_module(f"perf.bench_{name}").main(options)
        print(f"# {name}: {time.perf_counter() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
