# Every target sets up .venv by itself; `make help` lists them.

PYTHON ?= $(shell python3.11 -c '' 2>/dev/null && echo python3.11 || echo python3)
EXTRAS ?= dev
PYTEST_ARGS ?=
BENCH_ARGS ?=
CHAOS_ARGS ?=
COMPAT_ARGS ?=
SOAK_ARGS ?=
PAPERS_ARGS ?=
FIELD_ARGS ?=
PACKAGE_ARGS ?=
DOCS_ARGS ?= build --strict

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Tests that share a Spark session run in two processes, and those that start their own in two more. All four
# often wait, for a JVM or for minutes to pass: hence five processes for two cores, and two where there is no Spark.
PYTEST := $(BIN)/python -m pytest

.DEFAULT_GOAL := help
.PHONY: help setup chromium screens demo demo-kafka test test-fast test-rest test-all test-thorough chaos soak compat package release docs lint types imports bench field papers format constraints clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "windrow needs Python 3.11 or newer: make PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --build-constraint constraints.txt --editable '.[$(EXTRAS)]'
	@touch $@

setup: $(READY) ## Create or update .venv with the pinned packages

chromium: ## Install Debian's Chromium for the tests of the live page, where apt-get and root are at hand
	@if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then :; \
	elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ] && apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
		apt-get install -qq -y --no-install-recommends chromium chromium-driver fonts-dejavu-core >/dev/null; then :; \
	else echo "no Chromium could be installed: the tests of the page in a browser are left out"; fi

screens: $(READY) ## Take screenshots of the live page in all its states, into .cache/screens
	PYTHONPATH=tests $(BIN)/python tests/live_screens.py

demo: $(READY) ## Stream five days of phone calls through Spark; ends with a summary and a report
	$(BIN)/windrow demo --spark --folder .cache/demo

demo-kafka: $(READY) ## Run a job from Kafka to Kafka on a broker of its own, and kill it now and then
	$(BIN)/python examples/kafka/demo.py

test: $(READY) ## Run the tests and doctests that a change to anything needs (PYTEST_ARGS="-k daba" to choose)
	$(PYTEST) -n 5 -m "not rest" $(PYTEST_ARGS)

test-fast: $(READY) ## Run the tests that need no Spark, Redis or killed processes and do not take seconds, with the fewest random examples
	$(PYTEST) -n 2 --hypothesis-profile=fast -m "not (rest or slow or spark or redis or chaos)" $(PYTEST_ARGS)

test-rest: $(READY) chromium ## Run what make test leaves out, and other random examples with kernels compiled
	WINDROW_COMPILE=always $(PYTEST) -n 5 --hypothesis-profile=rest $(if $(CI),--hypothesis-seed=1) -m "rest or random" $(PYTEST_ARGS)

test-all: ## Run all tests: make test, then make test-rest
	$(MAKE) test
	$(MAKE) test-rest

test-thorough: $(READY) chromium ## Run all tests in one go, with all random examples and kernels compiled
	WINDROW_COMPILE=always $(PYTEST) -n 5 --hypothesis-profile=thorough $(PYTEST_ARGS)

chaos: $(READY) ## Kill, damage, fill disks and forge state many times; ends with a table (half an hour)
	$(BIN)/python tests/chaos.py $(CHAOS_ARGS)

soak: $(READY) ## An operator and a stream under a steady load for an hour: memory, state and open files stay flat
	$(BIN)/python tests/soak.py $(SOAK_ARGS)

compat: $(READY) ## Run cases with PySpark 3.5 to 4.3, an environment each in .cache/compat; ends with a table
	$(BIN)/python tests/compat.py $(COMPAT_ARGS)

package: $(READY) ## Build sdist and wheel, and try the wheel with Python 3.11 to 3.13; ends with a table
	$(BIN)/python tests/package.py $(PACKAGE_ARGS)

release: $(READY) ## Check, build and publish this version, with the account that twine is given; see RELEASING.md
	$(BIN)/python tests/release.py
	$(MAKE) package
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[release]'
	$(BIN)/twine check --strict dist/*
	$(BIN)/twine upload dist/*

docs: $(READY) ## Build the pages of the docs into .cache/site (DOCS_ARGS=serve: show them while you write)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs $(DOCS_ARGS)

lint: $(READY) ## Check style, formatting and the words of docs, help and docstrings
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(PYTEST) -q --no-header -p no:cacheprovider tests/test_words.py

types: $(READY) ## Check the types of src and experiments with mypy --strict, and what Pyright says of a user's code
	$(BIN)/mypy
	$(BIN)/basedpyright --project tests/typing

imports: $(READY) ## Check that dependencies between packages point one way
	$(BIN)/lint-imports

bench: $(READY) ## Run the benchmarks of the core (BENCH_ARGS="--help" for options)
	$(BIN)/python bench/core.py $(BENCH_ARGS)

field: $(READY) ## Compare with Spark, Flink, Polars, pandas and DuckDB; ends with a page (FIELD_ARGS="--only rollfun")
	$(BIN)/python bench/field.py $(FIELD_ARGS)

papers: $(READY) ## Run the papers' experiments again, into bench/results (PAPERS_ARGS=--quick for 3 minutes)
	@mkdir -p bench/results
	$(BIN)/windrow bench all --json bench/results/papers.json --html bench/results/papers.html $(PAPERS_ARGS)

format: $(READY) ## Fix style and formatting in place
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

constraints: ## Resolve all extras afresh and pin them in constraints.txt
	rm -rf .cache/constraints
	$(PYTHON) -m venv .cache/constraints
	.cache/constraints/bin/python -m pip install --quiet --upgrade pip
	.cache/constraints/bin/python -m pip install --quiet --editable '.[dev,spark,connect,metrics,redis,rocksdb,serve]' hatchling
	.cache/constraints/bin/python -m pip freeze --all --exclude windrow --exclude setuptools > constraints.txt
	rm -rf .cache/constraints

clean: ## Remove .venv, caches and build output
	rm -rf $(VENV) .cache .hypothesis .import_linter_cache .pytest_cache .ruff_cache build dist
	find src experiments tests -name __pycache__ -type d -prune -exec rm -rf {} +
