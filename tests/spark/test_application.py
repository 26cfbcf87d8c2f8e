"""A job whose Spark application has ended fails at once, and says so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from millrace.common.errors import JobExecutionError
from millrace.engine.executor import ApplicationLostError
from millrace.spark import application
from millrace.spark.application import require_application

SOURCES = Path(__file__).parents[2] / "src"
JOB = """
import os, signal, sys
from pyspark import SparkContext
from millrace.common import Configuration, WatermarkStrategy
from millrace.connectors import DataGeneratorSource, RateLimiterStrategy
from millrace.datastream import StreamExecutionEnvironment

settings = Configuration({"millrace.executor": sys.argv[2]})
env = StreamExecutionEnvironment.get_execution_environment(settings)
source = DataGeneratorSource(lambda n: n, None, RateLimiterStrategy.per_second(100), splits=1)
numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
with numbers.execute_and_collect("numbers") as results:
    assert next(results) == 0
    if sys.argv[1] == "kill":
        os.kill(SparkContext._gateway.proc.pid, signal.SIGKILL)
    else:
        SparkContext._active_spark_context.stop()
    for _ in results:
        pass
"""
DIED = "the Spark application has ended beneath the job: its Java process died. Start"
STOPPED = "the program itself has stopped the Spark application beneath the job, by stop()"


def context(stopped: Any) -> Any:
    return SimpleNamespace(_jsc=SimpleNamespace(sc=lambda: SimpleNamespace(isStopped=stopped)))


def test_whether_it_exists(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> bool:
        raise ConnectionRefusedError

    monkeypatch.setattr(application, "sleep", lambda seconds: None)
    require_application(context(lambda: False))
    with pytest.raises(ApplicationLostError, match="its Java process died"):
        require_application(context(refused))
    with pytest.raises(ApplicationLostError, match="was stopped, by the cluster"):
        require_application(context(lambda: True))


def test_what_the_program_stops_itself_is_its_own_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server does not start it again: it would do the same."""
    about_to = context(lambda: True)
    monkeypatch.setattr(application, "sleep", lambda seconds: setattr(about_to, "_jsc", None))
    for stopped in (SimpleNamespace(_jsc=None), about_to):
        with pytest.raises(JobExecutionError, match="the program itself has stopped") as caught:
            require_application(stopped)
        assert not isinstance(caught.value, ApplicationLostError)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("end", "executor", "said"),
    [
        ("kill", "epochs", DIED),
        ("stop", "epochs", STOPPED),
        ("stop", "resident", STOPPED),
    ],
)
def test_a_job_whose_application_ends(tmp_path: Path, end: str, executor: str, said: str) -> None:
    (tmp_path / "job.py").write_text(JOB)
    done = subprocess.run(
        [sys.executable, "job.py", end, executor],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 1
    assert said in done.stderr
    assert "runs again" not in done.stderr
