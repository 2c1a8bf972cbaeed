# What people run and what CI runs is the same. Plain `make` lists the targets.
# Needed on the machine: make, Python 3.10 or newer, Java 17 or newer.

PYTHON ?= python3
VENV ?= .venv
PYTEST_ARGS ?=
# processes that share the tests: two for all of them, none for the few that PYTEST_ARGS chooses,
# which would only wait for a second Spark
TEST_PROCESSES ?= $(if $(strip $(PYTEST_ARGS)),0,2)
BENCH_ARGS ?=
MELTLINE_SOAK_SECONDS ?= 600

# A file's tests stay together, for what they share. In the order of the folders: slow ones first,
# and the quick ones of tests/unit fill the end. A process that hung is not replaced, or the test
# that it hung in would be tried again and again; where its threads stand it shows just before
# pytest's timeout ends it, as what the timeout itself writes is lost in a process of many.
SHARED := --dist loadfile --no-loadscope-reorder --max-worker-restart=0 -o faulthandler_timeout=880

BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help setup demo test check lint fmt bench bench-full soak services clean needs-java

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## make .venv and install everything into it (once; again when pyproject.toml changes)

demo: $(READY) ## shop events into an Iceberg table, with two crashes on the way (under a minute)
	@$(BIN)/python -m demo.run

test: lint ## ruff, mypy and every test, against real servers
	$(BIN)/python -m pytest $(if $(filter-out 0,$(TEST_PROCESSES)),-n $(TEST_PROCESSES) $(SHARED)) $(PYTEST_ARGS)

check: lint ## ruff, mypy, unit and docs tests: quick, nothing is started
	$(BIN)/python -m pytest tests/unit tests/docs $(PYTEST_ARGS)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/mypy

fmt: $(READY) ## sort imports and mend what ruff can mend by itself
	$(BIN)/ruff check --fix .

bench: $(READY) ## measure against Spark's own ways, print a table, write bench/results.json
	$(BIN)/python -m bench.run $(BENCH_ARGS)

bench-full: $(READY) ## the same, and 10 million events in one epoch with peak memory
	$(BIN)/python -m bench.run --full $(BENCH_ARGS)

soak: $(READY) ## kill -9 at every step everywhere, then random tests for MELTLINE_SOAK_SECONDS (600)
	MELTLINE_SOAK_SECONDS=$(MELTLINE_SOAK_SECONDS) $(BIN)/python -m pytest -m soak -s --timeout=0 $(PYTEST_ARGS)

services: $(READY) ## run the test servers in the foreground; endpoints in .services/endpoints.json
	$(BIN)/python -m tests.services

clean: ## remove caches and the demo's output (.venv and downloads stay)
	rm -rf .meltline/demo .pytest_cache .mypy_cache .ruff_cache spark-warehouse metastore_db derby.log
	find src tests demo bench -type d -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

$(READY): pyproject.toml | needs-java
	@set -e; \
	test -x $(BIN)/python || $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || { \
	  found=$$($(PYTHON) --version 2>/dev/null || echo missing); \
	  echo "error: Meltline needs Python 3.10 or newer; '$(PYTHON)' is $$found" >&2; \
	  echo " hint: install one, or name it: make setup PYTHON=python3.11" >&2; exit 1; }; \
	echo "setting up $(VENV)"; \
	if command -v uv >/dev/null 2>&1; then \
	  test -x $(BIN)/python || uv venv --quiet --python "$$(command -v $(PYTHON))" $(VENV); \
	  uv pip install --quiet --python $(BIN)/python -e '.[dev]'; \
	else \
	  test -x $(BIN)/python || $(PYTHON) -m venv $(VENV); \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'; \
	fi; \
	touch $@

needs-java:
	@java="$${JAVA_HOME:+$$JAVA_HOME/bin/}java"; \
	hint=" hint: install a JDK or JRE 17 or newer and put java on PATH, or set JAVA_HOME to it"; \
	command -v "$$java" >/dev/null 2>&1 || { \
	  echo "error: Spark needs Java 17 or newer, and '$$java' was not found" >&2; \
	  echo "$$hint" >&2; exit 1; }; \
	version=$$("$$java" -version 2>&1 | sed -n 's/.*version "\(1\.\)\{0,1\}\([0-9][0-9]*\).*/\2/p' | head -n 1); \
	test "$${version:-0}" -ge 17 || { \
	  echo "error: Spark needs Java 17 or newer; '$$java' is Java $${version:-unknown}" >&2; \
	  echo "$$hint" >&2; exit 1; }
