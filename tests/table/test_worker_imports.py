"""Workers of SQL jobs import neither the parser nor the planner nor sessions of tables.

Each worker of a job would pay for them: half a second of processor time before its first record.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "sql_jobs.py"
WORKER = """
import json, pickle, sys
from pathlib import Path

from millrace.runtime import worker
from millrace.runtime.resident import resident_worker

for path in sorted(Path(sys.argv[1]).glob("*.job")):
    before = set(sys.modules)
    program = pickle.loads(path.read_bytes())
    for stage in program.stages:
        for node in stage.nodes:
            pickle.loads(node.factory)()
    for edge in program.edges:
        if edge.partitioner:
            pickle.loads(edge.partitioner)
    print(json.dumps([path.stem, sorted(set(sys.modules) - before)]))
"""
"""A worker of all jobs, one after the other, up to the operators: the modules that each adds."""
OF_DRIVERS = (
    "sqlglot",
    *(f"millrace.{room}" for room in ("datastream", "engine", "planner", "spark", "sql", "table")),
)
OF_WORKERS = {
    "millrace.table",
    "millrace.table.data_view",
    "millrace.table.functions",
    "millrace.table.functions.built_in_aggregates",
}
"""What functions in Python refer to: packages without their contents, and collections."""


def run(*words: str | Path) -> str:
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The modules that a worker imports, by job."""
    directory = tmp_path_factory.mktemp("jobs")
    run(PROGRAM, directory)
    return dict(map(json.loads, run("-c", WORKER, directory).splitlines()))


def is_of_drivers(module: str) -> bool:
    rooms = (f"{room}." for room in OF_DRIVERS)
    return module not in OF_WORKERS and (module in OF_DRIVERS or module.startswith(tuple(rooms)))


def test_workers_of_sql_jobs_import_no_parser_and_no_planner(
    modules: dict[str, list[str]],
) -> None:
    """For each connector, format and kind of function."""
    assert len(modules) > 40
    found = {job: list(filter(is_of_drivers, names)) for job, names in modules.items()}
    assert {job: names for job, names in found.items() if names} == {}


def test_workers_import_what_their_jobs_use(modules: dict[str, list[str]]) -> None:
    """The law above would hold of workers that load nothing, too."""
    imported = {module for names in modules.values() for module in names}
    assert {
        "millrace.connectors.generated_rows",
        "millrace.connectors.jdbc.table_lookup",
        "millrace.connectors.kafka.table_records",
        "millrace.connectors.marking_file_sink",
        "millrace.table_runtime.user_defined_functions",
    } <= imported
