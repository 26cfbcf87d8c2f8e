# Every target does its own set-up: scripts/setup.sh is instant when there is nothing to do.
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint docs bench conformance pyflink-examples torture

help:
	@echo "make demo      replay a real event stream and print its results"
	@echo "make test      lint, documentation and tests"
	@echo "make lint      ruff, mypy, import contracts, house rules"
	@echo "make docs      build the documentation into site/"
	@echo "make bench     measure speed against the bars, write benchmarks/RESULTS.md"
	@echo "make conformance  run the programs of conformance/ on PyFlink and here, compare"
	@echo "make pyflink-examples  run PyFlink's own examples here, their prefix replaced"
	@echo "make torture   the long runs of the fault tests"
	@echo "make setup     only prepare .venv and Java"

setup:
	@scripts/setup.sh

demo: setup
	@scripts/demo.sh

# One after the other, pytest last, whatever -j says.
test: setup
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory docs
	$(BIN)/python -m pytest

lint: setup
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python scripts/check_house.py
	$(BIN)/python scripts/gen_configuration.py --check

docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

bench: setup
	$(BIN)/python benchmarks/run.py

# ARGS: --spark, --write, --committed, names of programs (see conformance/run.py)
conformance: setup
	$(BIN)/python -m conformance.run $(ARGS)

# ARGS: names of programs
pyflink-examples: setup
	$(BIN)/python -m conformance.pyflink_examples $(ARGS)

torture: setup
	$(BIN)/python -m pytest -m torture
