# Everything runs from here: `make demo` and `make test` work in a fresh clone with Python 3.11 or newer, make and git.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
RESULTS := .results/tests.xml
SERVICES := gateway executor policy learner planner simulator assessor company
DEMO_ARGS ?=
UP_ARGS ?=
TEST_ARGS ?=
AUDIT_ARGS ?=
MUTANT_ARGS ?=
TEST_WORKERS ?= 4
PYTEST = $(BIN)/python -m pytest -n $(TEST_WORKERS) --dist loadfile --no-loadscope-reorder --junitxml=$(RESULTS)
COMPILE = UV_CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/uv pip compile --quiet --universal --python-version 3.11 \
	--generate-hashes --no-emit-index-url --no-emit-find-links --no-emit-package purple-agent

.DEFAULT_GOAL := help
.PHONY: help setup demo up test test-long mutants compat test-engine images check types lint format house requirements reference audit sbom lock

help:
	@sed -n 's/^\([a-z-]*\):.*## /  \1\t/p' $(MAKEFILE_LIST) | expand -t 18

setup: $(READY) ## the environment alone, quick when it is there

# What is said while setting up goes to stderr, so that `make demo DEMO_ARGS=--json` prints its object and nothing else.
$(READY): locks/dev.txt locks/uv.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12 ...")'
	@test -x $(BIN)/python || { echo "Making $(VENV) ..." >&2; $(PYTHON) -m venv $(VENV) >&2; }
	@test -x $(BIN)/uv || { echo "Fetching uv ..." >&2; \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r locks/uv.txt >&2; }
	@echo "Installing what locks/dev.txt names ..." >&2
	@$(BIN)/uv pip sync --quiet --compile-bytecode --python $(BIN)/python --require-hashes locks/dev.txt >&2
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable . >&2
	@touch $@

demo: $(READY) ## business tasks end to end on a stack of their own; exit code 0 only if all held
	@$(BIN)/purple demo $(DEMO_ARGS)

up: $(READY) ## the stack, staying up, with its URLs
	@$(BIN)/purple up $(UP_ARGS)

# The suite starts some hundred processes: code that is compiled once and kept makes each start shorter.
test test-long: export PYTHONDONTWRITEBYTECODE =

test: $(READY) ## the suite, in TEST_WORKERS=4 processes (TEST_WORKERS=0 TEST_ARGS=path for a few tests)
	@mkdir -p $(dir $(RESULTS))
	@$(PYTEST) -m "not long" $(TEST_ARGS)

test-long: $(READY) ## the exhaustive matrices, long fault and property runs as well
	@mkdir -p $(dir $(RESULTS))
	@$(PYTEST) --hypothesis-profile=thorough $(TEST_ARGS)

mutants: $(READY) ## 60 small changes to what decides, each against the tests that run it (MUTANT_ARGS="--seed 2 --keep")
	@$(BIN)/python -m tests.mutants $(MUTANT_ARGS)

compat: $(READY) ## what others bring: an export with nulls, foreign evaluators, a Green agent over the package `ues`
	@$(BIN)/python -m pytest -q tests/compat tests/simulator/test_absent_fields.py tests/simulator/test_published_shapes.py \
		tests/unit/assessor/test_foreign_evaluators.py

test-engine: $(READY) ## images and compose file on a container engine, if there is one (ENGINE_ARGS="images run compose")
	@$(BIN)/python -m tests.engine $(ENGINE_ARGS)

images: ## every image, labelled with version and revision (BUILD_ARGS=--pull)
	@version=$$(sed -n 's/^VERSION = "\(.*\)"/\1/p' shared/domain/version.py); revision=$$(git describe --always --dirty --abbrev=40); \
	for service in $(SERVICES) all; do name=purple-agent-$$service; test $$service = all && name=purple-agent; \
		docker build $(BUILD_ARGS) --build-arg SERVICE=$$service --build-arg VERSION=$$version --build-arg REVISION=$$revision \
			--tag $$name --tag $$name:$$version . || exit 1; done

check: $(READY) ## format, lint, types, import directions, promises against tests, names
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target types lint

types: $(READY)
	@$(BIN)/mypy

lint: $(READY)
	@$(BIN)/ruff format --check --quiet . || { echo "Some files are not formatted: make format" >&2; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/lint-imports --no-cache --no-logo
	@$(BIN)/python -m tests.requirements --check
	@$(BIN)/python -m tests.deployment.configuration --check
	@$(BIN)/python -m tests.architecture.names --check
	@$(BIN)/python -m tests.architecture.docstrings --check

format: $(READY) ## put every file into the project's format
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix --quiet .

house: $(READY) ## how large and how tangled the code is, each figure with its target
	@$(BIN)/python -m tests.architecture.house

requirements: $(READY) ## the table of promises: id, source, tests, passed
	@$(BIN)/python -m tests.requirements --results $(RESULTS)

reference: $(READY) ## docs/configuration.md, made from the settings classes
	@$(BIN)/python -m tests.deployment.configuration

audit: $(READY) ## licences and known vulnerabilities of the locked packages (AUDIT_ARGS="--strict --json")
	@$(BIN)/python -m tests.supply_chain audit $(AUDIT_ARGS)

sbom: $(READY) ## what each image is made of, as CycloneDX files in .results/sbom
	@$(BIN)/python -m tests.supply_chain sbom

lock: ## resolve again what pyproject.toml asks for: everything, and one file for each service's image
	@test -x $(BIN)/uv || { $(PYTHON) -m venv $(VENV) && $(BIN)/python -m pip install --quiet uv; }
	@$(COMPILE) $(LOCK_ARGS) --extra dev -o locks/dev.txt pyproject.toml
	@echo uv | $(COMPILE) -c locks/dev.txt -o locks/uv.txt -
	@for service in $(SERVICES); do \
		$(COMPILE) -c locks/dev.txt --extra $$service -o locks/$$service.txt pyproject.toml || exit 1; done
	@$(COMPILE) -c locks/dev.txt --extra all -o locks/all.txt pyproject.toml
	@$(COMPILE) -c locks/dev.txt --extra audit -o locks/audit.txt pyproject.toml
	@$(COMPILE) --extra langgraph-bench -o locks/langgraph.txt pyproject.toml
