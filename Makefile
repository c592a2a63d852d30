# `make` alone lists the targets.
PYTHON ?= python3
VENV := .venv
FRAMEWORKS := .venv-frameworks
BIN := $(VENV)/bin
.DEFAULT_GOAL := help
.PHONY: help demo picture test test-frameworks weights browser assets lint types package docs bench clean

help:  ## List the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 24

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[pddl]'
	@touch $@

$(VENV)/.installed-dev: pyproject.toml worlds/pyproject.toml viewer/pyproject.toml $(VENV)/.installed
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[all,inspect,mcp,plan,ray,experiments,dev,docs]' \
		--editable './worlds[all,overcooked]' --editable ./viewer
# There are wheels of xllamacpp for most platforms; building it would take a compiler and an hour.
	$(BIN)/pip install --quiet --disable-pip-version-check --only-binary xllamacpp \
		--editable './worlds[local-llm]' || echo 'no wheel of xllamacpp: the test that runs a local model is skipped'
	@touch $@

demo: $(VENV)/.installed  ## Assess a mail assistant with two bugs and show what it does
	@rm -rf runs/demo
	$(BIN)/capscope assess examples/mail.py:problem --run runs/demo --max-executions 400

picture: demo  ## Take the picture of the README from the report of the demo
	chromium --headless --no-sandbox --hide-scrollbars --window-size=1100,1000 \
		--screenshot=docs/images/report.png file://$(CURDIR)/runs/demo/report.html

weights: $(VENV)/.installed-dev  ## Download the small language model that a test runs (93 MB, once)
	@if $(BIN)/python -c 'import xllamacpp' 2>/dev/null; then $(BIN)/capscope llm fetch; fi

# Without a browser the tests of pages are skipped, or fail if CI is set.
browser:  ## Install Chromium for the tests of pages, unless there is one
	@for name in chromium chromium-browser google-chrome; do \
		if command -v $$name >/dev/null; then exit 0; fi; \
	done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && apt-get install --yes -qq --no-install-recommends chromium && exit 0; \
	fi; \
	echo 'no Chromium: put chromium, chromium-browser or google-chrome on PATH' \
		'(Debian: apt-get install chromium); without it the tests of pages are skipped'; \
	[ -z "$$CI" ]

assets:  ## Rebuild the JavaScript libraries of the report (needs npm)
	cd scripts/vendor_echarts && npm ci --ignore-scripts --no-audit --no-fund && node build.mjs

test: lint types package weights browser  ## Lint, check types and the package, run all tests
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile

# AgentDojo and five agent frameworks bring hundreds of packages, some of them older versions of what
# `make test` uses, so they have an environment of their own.
$(FRAMEWORKS)/.installed: pyproject.toml
	$(PYTHON) -m venv $(FRAMEWORKS)
	$(FRAMEWORKS)/bin/pip install --quiet --disable-pip-version-check --editable '.[frameworks]' --editable './worlds[agentdojo]' \
		pytest pytest-timeout hypothesis
	@touch $@

test-frameworks: $(FRAMEWORKS)/.installed  ## Test AgentDojo and agents of other frameworks, in .venv-frameworks
	$(FRAMEWORKS)/bin/python -c 'import agentdojo, agents, langchain_openai, pydantic_ai, smolagents, strands'
	$(FRAMEWORKS)/bin/python -m pytest tests/adapters/test_agent_frameworks.py worlds/tests/test_agentdojo.py
	$(FRAMEWORKS)/bin/pip list --disable-pip-version-check | grep -E '^(agentdojo|openai|openai-agents|langchain|langgraph|pydantic-ai-slim|smolagents|strands-agents) '

lint: $(VENV)/.installed-dev  ## Check style and formatting
	$(BIN)/ruff check src tests worlds viewer experiments scripts examples docs
	$(BIN)/ruff format --check src tests worlds viewer experiments scripts examples docs

types: $(VENV)/.installed-dev  ## Check types
	$(BIN)/mypy

package: $(VENV)/.installed-dev  ## Build the package, install it in a clean environment and use it
	$(BIN)/python scripts/check_package.py

docs: $(VENV)/.installed-dev  ## Build the documentation into docs/_build/html
	$(BIN)/python -m sphinx --quiet --nitpicky --fail-on-warning --keep-going docs docs/_build/html
	@echo 'open docs/_build/html/index.html'

bench: $(VENV)/.installed-dev  ## Measure speed, as ratios within one run
	PYTHONPATH=experiments $(BIN)/python -m capscope_experiments.benchmarks

clean:  ## Remove the environment, caches and demo run
	rm -rf $(VENV) $(FRAMEWORKS) runs/demo docs/_build .pytest_cache .mypy_cache .ruff_cache
