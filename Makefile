# `make help` shows the targets and these variables.
PYTHON  ?=
WORKERS ?=
ARGS    ?=
COUNT   ?= 20

# The workers for two cores: where tests wait for a browser or a process, a core would be idle with two;
# sweeps wait most, for apps and for what others bring.
SWEEPING = $(or $(WORKERS),4)
WAITING = $(or $(WORKERS),3)
BUSY    = $(or $(WORKERS),2)

VENV  := .venv
STAMP := $(VENV)/.installed
DOCS  := $(VENV)/.installed-docs
FRAMEWORKS := .venv-frameworks/.installed
WIDGETS := .cache/widgets/pages
CLIENTS := .cache/clients/node_modules
FRONT := .cache/apps/notes/dist
SERVERS := .cache/apps/venv/.installed
TYPED := pytest_miniwob_agent $(wildcard benchmarks)

# Python may keep what it compiles; otherwise each run of pytest compiles the tests again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help install check check-format check-lint check-layers check-types check-scripts \
	coverage mutate test test-unit test-all replay paper docs options pictures check-pictures package browser grid \
	frameworks widgets clients apps

help: ## show this text
	@echo 'usage: make TARGET [ARGS="..."] [WORKERS=3] [PYTHON=python3.12]'
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo '  ARGS           further arguments for pytest, for example ARGS="-x -q"'
	@echo '  WORKERS        number of pytest-xdist workers, 0 for none'
	@echo '  PYTHON         the Python for a new .venv; remove .venv to change it'

install: $(STAMP) browser ## set up all that is missing: .venv, the package, Chromium

check: check-format check-lint check-layers check-types check-scripts ## formatting, lint rules, layers, types

check-format: $(STAMP)
	$(VENV)/bin/ruff format --check .

check-lint: $(STAMP)
	$(VENV)/bin/ruff check .

check-layers: $(STAMP)
	$(VENV)/bin/lint-imports --no-logo

check-types: $(STAMP)
	$(VENV)/bin/mypy $(TYPED)

check-scripts: $(STAMP)
	@bash .ci/check-scripts

test: $(STAMP) browser ## run the tests, except for sweeps
	$(VENV)/bin/pytest -n $(WAITING) --dist loadgroup -m "not sweep" $(ARGS)

# Percentages mislead as a goal, so no threshold fails it. It takes half as long again as `make test`.
coverage: $(STAMP) browser ## run the tests, except for sweeps, and print the package's branch coverage
	@rm -rf .cache/coverage && mkdir -p .cache/coverage
	$(VENV)/bin/coverage run -m pytest -n $(WAITING) --dist loadgroup -m "not sweep" $(ARGS); status=$$?; \
		$(VENV)/bin/coverage combine --quiet && $(VENV)/bin/coverage report; exit $$status

mutate: $(STAMP) browser ## change MODULE in COUNT places, one after the other, and print what TESTS don't notice
	$(VENV)/bin/python .ci/mutate.py --count=$(COUNT) $(MODULE) $(TESTS)

test-unit: $(STAMP) ## run the tests that need no browser and no inner pytest run
	$(VENV)/bin/pytest -n $(BUSY) -m "not integration and not sweep" $(ARGS)

test-all: $(STAMP) browser grid frameworks widgets clients apps ## run all tests, sweeps too
	$(VENV)/bin/pytest -n $(SWEEPING) --dist loadgroup --no-loadscope-reorder $(ARGS)

# No key and no gateway: the shipped cassettes answer. In a fixed order, so that two runs read alike.
replay: $(STAMP) browser ## replay the n-screen tasks from the shipped cassettes, offline
	env -u OPENAI_API_KEY -u OPENAI_BASE_URL \
		$(VENV)/bin/pytest -p no:randomly -n $(BUSY) tests/test_suite.py -k n-screen $(ARGS)

# Own pages wait for the browser's frames, so twice the workers keep the cores busy.
paper: $(STAMP) browser ## replay the reflective agent's paper and the pages on which plans fail, and print their tables
	env -u OPENAI_API_KEY -u OPENAI_BASE_URL \
		$(VENV)/bin/pytest -p no:randomly -n $(BUSY) tests/suites/paper.py \
		--miniwob-baseline=cassettes/reflective/paper.jsonl --miniwob-results=.miniwob/paper.jsonl $(ARGS)
	env -u OPENAI_API_KEY -u OPENAI_BASE_URL \
		$(VENV)/bin/pytest -p no:randomly -n $$((2 * $(BUSY))) tests/suites/reflection.py \
		--miniwob-baseline=cassettes/reflection.jsonl --miniwob-results=.miniwob/reflection.jsonl $(ARGS)
	$(VENV)/bin/miniwob-agent tables .miniwob/paper.jsonl .miniwob/reflection.jsonl
	$(VENV)/bin/miniwob-agent compare .miniwob/reflection.jsonl --first=reflective/claude

docs: $(DOCS) ## build the documentation site in build/site; any warning fails
	$(VENV)/bin/sphinx-build --fresh-env --fail-on-warning --keep-going --quiet -c docs . build/site

options: $(STAMP) ## write docs/options.md
	$(VENV)/bin/python docs/options_page.py

pictures: $(STAMP) browser ## take the pictures in the documentation again; those that changed are written
	env -u OPENAI_API_KEY -u OPENAI_BASE_URL PYTHONPATH=tests $(VENV)/bin/python docs/page_pictures.py

check-pictures: $(STAMP) browser ## fail if a picture in the documentation no longer shows what is there
	env -u OPENAI_API_KEY -u OPENAI_BASE_URL PYTHONPATH=tests $(VENV)/bin/python docs/page_pictures.py --check

# Hundreds of megabytes, for sweeps only: `make test` does without.
frameworks: $(FRAMEWORKS) ## set up the frameworks of examples/ and a gateway, which tests in test-all need

widgets: $(WIDGETS) ## build pages with components of modern libraries, which tests in test-all need

clients: $(CLIENTS) ## install clients and frameworks for Node, which tests in test-all need

apps: $(FRONT) $(SERVERS) ## install the apps of tests/apps, which tests in test-all need

package: browser ## build the package in dist, and try the wheel in an environment of its own
	@PYTHON='$(PYTHON)' bash .ci/check-package

browser:
	@bash .ci/install-chromium

grid: $(STAMP)
	@bash .ci/install-grid

$(STAMP): pyproject.toml
	@PYTHON='$(PYTHON)' bash .ci/install-package $(VENV)
	@touch $@

$(FRAMEWORKS): pyproject.toml .ci/install-frameworks | $(STAMP)
	@bash .ci/install-frameworks

$(WIDGETS): $(wildcard tests/widgets/*.mjs) tests/widgets/package.json .ci/install-widgets
	@bash .ci/install-widgets

$(CLIENTS): tests/clients/package.json .ci/install-clients
	@bash .ci/install-clients

$(FRONT): $(wildcard tests/apps/notes/front/*) .ci/install-apps
	@bash .ci/install-apps front

$(SERVERS): pyproject.toml .ci/install-apps | $(STAMP)
	@bash .ci/install-apps servers

$(DOCS): $(STAMP)
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@
