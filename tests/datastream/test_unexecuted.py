"""A program that forgets execute() is told so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

JOB = """
from millrace.datastream import StreamExecutionEnvironment
env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([1]).print()
"""


@pytest.mark.parametrize(
    ("end", "warns"),
    [("", True), ("env.get_execution_plan()", False), ("raise ValueError('other')", False)],
)
def test_a_forgotten_execute(tmp_path: Path, end: str, warns: bool) -> None:
    (tmp_path / "job.py").write_text(JOB + end + "\n")
    done = subprocess.run(
        [sys.executable, "job.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ("call env.execute()" in done.stderr) == warns
