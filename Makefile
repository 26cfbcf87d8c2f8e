# Every target does its own set-up: scripts/setup.sh is instant when there is nothing to do.
BIN := .venv/bin
# WORKERS: number of processes that pytest divides the tests among; 0: none, one test after the other.
# Without it, scripts/run_tests.sh decides.

# Hundreds of interpreters are started here: each would compile the modules that it imports anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo demo-sql test divided-tests test-servers class-archive lint quick-lint types docs bench conformance pyflink-examples torture test-connectors test-matrix services web web-check py-files release

help:
	@echo "make demo      replay a real event stream and print its results"
	@echo "make demo-sql  a dashboard in SQL over the same events, live in the terminal"
	@echo "make test      lint, documentation and tests"
	@echo "make lint      ruff, mypy, import contracts, house rules"
	@echo "make docs      build the documentation into site/"
	@echo "make bench     measure speed against the bars, write benchmarks/RESULTS.md"
	@echo "make conformance  run the programs of conformance/ on PyFlink and here, compare"
	@echo "make pyflink-examples  run PyFlink's own examples here, their prefix replaced"
	@echo "make test-matrix  the smoke suite on each PySpark and Python (ARGS: pairs, --write, --remove)"
	@echo "make torture   the long runs of the fault tests"
	@echo "make test-connectors  connectors and file systems against every server"
	@echo "make services  start the servers that tests use, on loopback (ARGS: names, --install)"
	@echo "make web       build the web UI from web/ into the package (needs Node)"
	@echo "make release   build, check and describe a release in dist/ (docs/releasing.md)"
	@echo "make py-files  the package as build/millrace.zip, for spark-submit --py-files"
	@echo "make setup     only prepare .venv and Java"

setup:
	@scripts/setup.sh

demo: setup
	@scripts/demo.sh

demo-sql: setup
	@scripts/demo_sql.sh

# What finds faults in seconds goes first. What takes a minute of one processor, or downloads, goes on
# beside the tests, which often wait; those that run alone have the machine for themselves.
test: setup
	@$(MAKE) --no-print-directory -j2 quick-lint class-archive
	@scripts/run_tests.sh alone
	@$(MAKE) --no-print-directory -j5 test-servers divided-tests types docs web-check

divided-tests: setup
	@scripts/run_tests.sh divided

# What cannot be had is told of by the tests that need it.
test-servers: setup
	-@$(BIN)/python tests/services --install chromium kafka postgresql prometheus redis s3 \
		statefun-javascript zookeeper

# The tests start some eighty JVMs: from an archive of Spark's classes each takes a third as long.
class-archive: setup
	$(BIN)/python scripts/archive_classes.py

lint: quick-lint types

quick-lint: setup
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-logo
	$(BIN)/python scripts/check_house.py
	$(BIN)/python scripts/check_english.py
	$(BIN)/python scripts/gen_configuration.py --check
	$(BIN)/python scripts/gen_sql_functions.py --check
	$(BIN)/python scripts/gen_home_page.py --check

types: setup
	$(BIN)/mypy

web:
	cd web && npm ci --no-audit --no-fund && npm run build

# ARGS: names of pictures (see tests/server/web/take_pictures.py)
web-pictures: setup
	$(BIN)/python tests/server/web/take_pictures.py $(ARGS)

web-check: setup
	$(BIN)/python scripts/check_web.py

docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	$(BIN)/python scripts/check_site.py

bench: setup
	$(BIN)/python benchmarks/run.py

# Half an hour, 4 GB in .matrix, and downloads. ARGS: pairs such as 4.1 or 4.3:3.12, --write, --remove
test-matrix: setup
	$(BIN)/python scripts/test_matrix.py $(ARGS)

# ARGS: --no-spark, --write, --committed (see conformance/run.py)
conformance: setup
	$(BIN)/python -m conformance.run $(ARGS)
	$(BIN)/python -m conformance.run_sql $(ARGS)

# ARGS: names of programs
pyflink-examples: setup
	$(BIN)/python -m conformance.pyflink_examples $(ARGS)

torture: setup
	env -u CI -u MILLRACE_TURN $(BIN)/python -m pytest -m "torture or (turns and not connectors)"
	env -u CI -u MILLRACE_TURN MILLRACE_GRAPHS=200 $(BIN)/python -m pytest tests/graph/library/test_against_networkx.py
	env -u CI -u MILLRACE_TURN MILLRACE_EXAMPLES=10 $(BIN)/python -m pytest $$(grep -rl --include='test_*.py' job_examples tests)

# -k matches directories and marks: what stands in these rooms, and every test marked connectors.
test-connectors: setup
	$(BIN)/python -m pytest -k "connectors or filesystem" -m "not torture and not bench"

# ARGS: names of servers, --install (see tests/services)
services: setup
	$(BIN)/python tests/services $(ARGS)

# ARGS: --only EXTRA,EXTRA: only these extras in environments of their own
release: setup
	@$(BIN)/python scripts/release.py $(ARGS)

py-files: setup
	@$(BIN)/python scripts/py_files.py
