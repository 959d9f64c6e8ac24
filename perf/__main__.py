"""`make bench`: every figure as one JSON line, each a ratio in one run against a named rival."""

import runpy

for name in ("bench_pseudo_labels", "bench_loading", "bench_step", "bench_scale", "bench_predict"):
    runpy.run_module(f"perf.{name}", run_name="__main__")
