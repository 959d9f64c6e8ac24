# Everything a newcomer needs: `make demo` and `make test` set themselves up on a bare machine with Python 3.11+.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.runtime
READY := $(VENV)/.ready
WORKERS ?= 2
CODE := src tests perf fuzz examples docs_site

.PHONY: install browser demo test test-all test-fast fuzz lint check-types check-style check-imports check-duplicates check-page audit docs notebooks bench clean

PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

install: $(READY)

# What it takes to use the program, its viewer included; the tools of development come on top.
$(RUNTIME): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e '.[serve]'
	touch $(RUNTIME)

$(READY): $(RUNTIME)
	$(PIP) -e '.[dev]'
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || $(BIN)/playwright install chromium || \
		echo "no chromium could be fetched: the browser tests will be skipped"
	touch $(READY)

# Browser tests drive Debian's Chromium; where it cannot be installed they are skipped and say so.
browser:
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
		apt-get update -qq && apt-get install -y -qq chromium >/dev/null; } || \
		echo "there is no chromium: tests in a browser will be skipped"

demo: $(RUNTIME)
	$(BIN)/endotransfer demo --out demo-out

# Two at a time: type checking takes about as long as everything else.
lint: install
	@$(MAKE) --no-print-directory --output-sync --jobs 2 check-types check-style check-imports check-duplicates check-page

check-types:
	$(BIN)/mypy

check-style:
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)

check-imports:
	$(BIN)/lint-imports

check-duplicates:
	$(BIN)/pylint src/endotransfer

# The code of the viewer's page: types, linter, unit tests.  The tools come from npm; the page itself needs no build.
PAGE_TOOLS := node_modules/.ready

check-page:
	@command -v npm >/dev/null || { echo "there is no npm: the page's code is not checked"; exit 0; }; \
	$(MAKE) --no-print-directory $(PAGE_TOOLS) || { echo "npm could not fetch its tools: the page's code is not checked"; exit 0; }; \
	npm run --silent types && npm run --silent lint && npm run --silent test

$(PAGE_TOOLS): package.json
	npm install --silent
	touch $(PAGE_TOOLS)

# One thread a process: the tests run side by side, and thread counts change the last bits of a sum.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q
COVERAGE := --cov --cov-report=term:skip-covered --cov-fail-under=90

test: lint browser
	$(PYTEST) $(COVERAGE)

# Secondary presets and long variants too, and every property on as many examples as its test names.
test-all: lint browser
	ENDOTRANSFER_TEST_ALL=1 $(PYTEST) $(COVERAGE) -m ""

test-fast: install
	$(PYTEST) -m "not slow and not extended"

# Nearly nineteen thousand damaged files, two thousand hostile requests, two hundred kills, all from a seed; 3 to 15 minutes.
fuzz: install
	OMP_NUM_THREADS=1 $(BIN)/python -m fuzz

# The site, in site/: open site/index.html.  Strict: a link or an anchor that leads nowhere is an error.
# Not --quiet, which silences warnings before --strict can count them.
docs: install
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# Runs the tutorials and saves them with their outputs.
notebooks: install
	OMP_NUM_THREADS=1 $(BIN)/python -m docs_site.run_notebooks

# Floors of dependencies, then known advisories about the pinned versions where the advisory service can be reached.
audit: install
	$(PYTEST) -n 0 tests/test_supply_chain.py
	$(PIP) pip-audit
	@rm -f $(VENV)/audit.json; \
	$(BIN)/python -m pip_audit --progress-spinner off -r constraints.txt --no-deps --disable-pip \
		--format json --output $(VENV)/audit.json; found=$$?; \
	[ -s $(VENV)/audit.json ] || { echo "the advisory service cannot be reached: advisories NOT checked"; exit 0; }; \
	cat $(VENV)/audit.json; exit $$found

bench: install
	$(BIN)/python -m perf

clean:
	rm -rf demo-out runs site .pytest_cache .mypy_cache .ruff_cache .coverage*
