# Two commands for a fresh machine with Python 3.11 and make: `make report` and `make test`.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Pins every package, build tools included, by name==version.
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help report docs test lint explore bench slow bounds minimum wheel dist clean

help:
	@echo "make report   solve the models, run the comparisons, write report/index.html: some four minutes on two"
	@echo "              idle cores, and three or four more the first time, to install and compile"
	@echo "make docs     the documentation as a site, docs/_build/html/index.html: a minute,"
	@echo "              and some five more the first time, to run the scripts of the gallery"
	@echo "make test     lint, type-check and test"
	@echo "make explore  the interactive explorer, in a browser"
	@echo "make bench    the benchmarks, ours beside the peers"
	@echo "make slow     the tests that take minutes: long fuzz runs, thousands of cases, all random examples"
	@echo "make bounds   the tests with every array access of compiled code checked"
	@echo "make minimum  the tests on the oldest versions that pyproject.toml allows"
	@echo "make dist     the wheel for others, with machine code for a first run: two minutes"
	@echo "make wheel    the tests on an installed wheel in a folder that cannot be written to"
	@echo "make clean    remove the environment and everything that was built"

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed, found " + sys.version.split()[0] + "; run: make PYTHON=/path/to/python3.11")'
	@echo "building the environment in $(VENV): a minute or two"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --editable '.[dev,docs]'
	@echo "compiling the packet simulator, once, so that the first simulation answers at once: some ten seconds"
	@$(BIN)/tcpdynamics simulate single_flow > /dev/null 2> $(VENV)/compile.log || cat $(VENV)/compile.log
	@touch $@

report: $(READY)
	$(BIN)/tcpdynamics report --output report/index.html

# The gallery is typed as a user's project is: strict, by the types of the package.
# Three parts side by side: pages wait for a browser half of their time. A process for each part, since those
# that share the files out (pytest-xdist) were slower: each collects all tests and loads, or compiles, the same code.
# With what is solved go tests of ns-2 and Linux, so that the parts end together.
PYTEST := $(BIN)/python -m pytest --durations=40 --durations-min=1
SOLVED := tests/solvers tests/models tests/paper_figures tests/docs $(wildcard tests/test_*.py \
  $(addprefix tests/validation/,test_ns2*.py test_linux*.py))
PAGES := $(wildcard $(addprefix tests/apps/,test_explorer*.py test_pages*.py test_report*.py test_live*.py))
# Each has one thread of linear algebra: with several on small matrices, processes wait for each other's.
test: export OPENBLAS_NUM_THREADS ?= 1
test: $(READY)
	$(BIN)/ruff check .
	@{ $(BIN)/mypy && $(BIN)/mypy docs/gallery && $(PYTEST) $(SOLVED); } & solved=$$!; \
	$(PYTEST) $(PAGES) & pages=$$!; \
	$(PYTEST) tests src/tcpdynamics $(addprefix --ignore=,$(SOLVED) $(PAGES)); code=$$?; \
	wait $$solved || code=1; wait $$pages || code=1; exit $$code

# A warning is an error: a link that leads nowhere, a page that no list has, a docstring that cannot be read.
docs: $(READY)
	$(BIN)/python -m sphinx -b html -j auto -W --keep-going -q docs docs/_build/html
	@echo "open docs/_build/html/index.html; for excerpts in the search serve the folder: python3 -m http.server -b 127.0.0.1 -d docs/_build/html"

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy docs/gallery

explore: $(READY)
	$(BIN)/tcpdynamics explore

bench: $(READY)
	$(BIN)/python -m benchmarks

slow: $(READY)
	$(BIN)/python -m pytest -m "slow or hypothesis"

# A cache of its own: code compiled without the checks must not be loaded.
bounds: $(READY)
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/$(VENV)/bounds $(BIN)/python -m pytest
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/$(VENV)/bounds $(BIN)/python -m pytest -m slow -k "fuzz or bounds"

minimum:
	$(PYTHON) -m venv --clear $(VENV)-minimum
	$(PYTHON) -c 'import tomllib; p = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	print(*(w.replace(">=", "==") for w in p["dependencies"] + p["optional-dependencies"]["dev"]), sep="\n")' \
		> $(VENV)-minimum/constraints.txt
	PIP_CONSTRAINT=$(CURDIR)/$(VENV)-minimum/constraints.txt $(VENV)-minimum/bin/pip install --quiet --editable '.[dev]'
	NUMBA_CACHE_DIR=$(CURDIR)/$(VENV)-minimum/numba $(VENV)-minimum/bin/python -m pytest

# Tests import the wheel: nothing of this folder but `tests` is on the path.
wheel: $(READY)
	$(PYTHON) -m venv --clear $(VENV)-wheel
	$(VENV)-wheel/bin/pip install --quiet '.[dev]'
	chmod -R a-w $(VENV)-wheel/lib
	HOME=/dev/null $(VENV)-wheel/bin/python -m pytest tests; code=$$?; chmod -R u+w $(VENV)-wheel/lib; exit $$code

dist: $(READY)
	$(BIN)/python -m tcpdynamics.shipped
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

clean:
	chmod -Rf u+w $(VENV)-wheel || true
	rm -rf $(VENV) $(VENV)-minimum $(VENV)-wheel build dist report src/tcpdynamics/machine_code *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
	find . -name __pycache__ -prune -exec rm -rf {} +
