# Everything a newcomer needs: `make demo` and `make test` set themselves up on a bare machine with Python 3.11+.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WORKERS ?= 2

.PHONY: install browser demo test test-all test-fast lint bench clean

install: $(READY)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || $(BIN)/playwright install chromium || \
		echo "no chromium could be fetched: the browser tests will be skipped"
	touch $(READY)

# Browser tests drive Debian's Chromium; where it cannot be installed they are skipped and say so.
browser:
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
		apt-get update -qq && apt-get install -y -qq chromium >/dev/null; } || \
		echo "there is no chromium: tests in a browser will be skipped"

demo: install
	$(BIN)/endotransfer demo --out demo-out

lint: install
	$(BIN)/ruff check src tests perf
	$(BIN)/ruff format --check src tests perf
	$(BIN)/mypy
	$(BIN)/lint-imports

# One thread a process: the tests run side by side, and thread counts change the last bits of a sum.
test: lint browser
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --cov --cov-report=term:skip-covered \
		--cov-fail-under=90 -q

test-fast: install
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q -m "not slow"

# Long variants and secondary presets too.
test-all: test

bench: install
	$(BIN)/python -m perf

clean:
	rm -rf demo-out runs .pytest_cache .mypy_cache .ruff_cache .coverage*
