"""The fixtures as another project uses them: switched on in its conftest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "src"

TESTS = """
from millrace.common import Time
from millrace.datastream import MapFunction, StreamExecutionEnvironment


class Closing(MapFunction):
    closed = 0

    def map(self, value):
        return value + 1

    def close(self):
        Closing.closed += 1


def test_local(millrace_local, manual_clock):
    env = StreamExecutionEnvironment.get_execution_environment()
    assert list(env.from_collection([1]).execute_and_collect()) == [1]
    assert millrace_local.clock is manual_clock


def test_job(mini_job, manual_clock):
    source = mini_job.source()
    results = mini_job.collect(source.stream)
    source.push(1)
    mini_job.advance(Time.seconds(1))
    assert (results.values(), manual_clock.now()) == ([1], 1_000)


def test_harness(operator_harness):
    harness = operator_harness(Closing())
    harness.process_element(1)
    assert harness.output() == [2]


def test_harnesses_are_closed():
    assert Closing.closed == 1
"""


def test_the_fixtures_of_a_project(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["millrace.testing.fixtures"]\n')
    (tmp_path / "test_them.py").write_text(TESTS)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "4 passed" in done.stdout, done.stdout + done.stderr
