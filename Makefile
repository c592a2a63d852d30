# `make` alone lists the targets.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
.DEFAULT_GOAL := help
.PHONY: help demo test lint types bench clean

help:  ## List the targets
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 20

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[pddl]'
	@touch $@

$(VENV)/.installed-dev: pyproject.toml $(VENV)/.installed
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[all,dev]'
	@touch $@

demo: $(VENV)/.installed  ## Assess a planning agent in Blocksworld and print what it can do
	@rm -rf runs/demo
	$(BIN)/capscope assess blocksworld --run runs/demo
	@echo
	$(BIN)/capscope show runs/demo --limit 6

test: lint types  ## Lint, check types and run all tests
	$(BIN)/python -m pytest

lint: $(VENV)/.installed-dev  ## Check style and formatting
	$(BIN)/ruff check src tests benchmarks scripts examples
	$(BIN)/ruff format --check src tests benchmarks scripts examples

types: $(VENV)/.installed-dev  ## Check types
	$(BIN)/mypy

bench: $(VENV)/.installed-dev  ## Measure speed against the baselines, as ratios in one run
	$(BIN)/python benchmarks/run.py

clean:  ## Remove the environment, caches and demo run
	rm -rf $(VENV) runs/demo .pytest_cache .mypy_cache .ruff_cache
