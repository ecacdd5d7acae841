# Two commands for a fresh machine with Python 3.11 and make: `make report` and `make test`.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Pins every package, build tools included, by name==version.
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help report test lint explore bench clean

help:
	@echo "make report   solve the models, run the comparisons, write report/index.html"
	@echo "make test     lint, type-check and test"
	@echo "make explore  the interactive explorer (not there yet)"
	@echo "make bench    the benchmarks, ours beside the peers"
	@echo "make clean    remove the environment and everything that was built"

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed, found " + sys.version.split()[0] + "; run: make PYTHON=/path/to/python3.11")'
	@echo "building the environment in $(VENV): a minute or two"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

report: $(READY)
	$(BIN)/tcpdynamics report --output report/index.html

test: lint
	$(BIN)/python -m pytest

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/mypy

explore: $(READY)
	$(BIN)/tcpdynamics explore

bench: $(READY)
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) build dist report *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
	find . -name __pycache__ -prune -exec rm -rf {} +
