"""The probe of workers, in a Python that has no Millrace."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import py4j
import pyspark
from pyspark import cloudpickle

from millrace.spark import worker_probe
from millrace.spark.worker_survey import _by_value

LOADED = """
import json, pickle, sys
sys.path[:0] = [sys.argv[1]]  # Spark's own Python files, and nothing else
print(json.dumps(pickle.load(sys.stdin.buffer)()))
"""


def test_it_runs_where_there_is_no_millrace(tmp_path: Path) -> None:
    """And tells so, rather than failing."""
    with _by_value():
        shipped = cloudpickle.dumps(worker_probe.process_facts)
    for package in (pyspark, py4j):
        (tmp_path / package.__name__).symlink_to(os.path.dirname(package.__file__))
    answer = subprocess.run(
        [sys.executable, "-I", "-S", "-c", LOADED, str(tmp_path)],
        input=shipped,
        capture_output=True,
        check=False,
    )
    told = json.loads(answer.stdout or answer.stderr)
    assert told["packages"]["millrace"] == "ModuleNotFoundError: No module named 'millrace'"
    assert told["executable"] == sys.executable
    assert told["disk"] > 0


def test_it_imports_nothing_of_ours_at_first() -> None:
    assert worker_probe.__file__ is not None
    modules: set[str] = set()
    for node in ast.parse(Path(worker_probe.__file__).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            modules.add(node.module or "")
        elif isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
    assert "tempfile" in modules
    assert modules <= sys.stdlib_module_names
