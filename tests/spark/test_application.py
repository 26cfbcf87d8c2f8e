"""A job whose Spark application has ended fails at once, and says so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JError

from millrace.common.errors import JobExecutionError
from millrace.engine.executor import ApplicationLostError
from millrace.spark import application
from millrace.spark.application import require_application, submission_to

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
try:
    with numbers.execute_and_collect("numbers") as results:
        assert next(results) == 0
        if sys.argv[1] == "kill":
            os.kill(SparkContext._gateway.proc.pid, signal.SIGKILL)
        else:
            SparkContext._active_spark_context.stop()
        for _ in results:
            pass
except Exception as error:
    print(error, file=sys.stderr)
    if sys.argv[1] == "stop":
        raise
    numbers.execute_and_collect("again")
"""
NOT_SUBMITTED = (
    "JobExecutionError: the job was not submitted: the Spark application of this program"
)
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


def test_a_submission_to_an_application_that_has_ended() -> None:
    """Py4J's error is replaced by one that says what to do; an error for another reason stays."""

    def died() -> bool:
        raise ConnectionRefusedError

    with pytest.raises(JobExecutionError, match=r"its Java process died\. Start the program again"):
        submit(context(died))
    with pytest.raises(JobExecutionError, match=r"was stopped\. Call SparkContext\.getOrCreate"):
        submit(context(lambda: True))
    with pytest.raises(Py4JError, match="no such method"):
        submit(context(lambda: False))


def submit(application: Any) -> None:
    with submission_to(application):
        raise Py4JError("no such method")


def test_what_the_program_stops_itself_is_its_own_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server does not start it again: it would do the same."""
    about_to = context(lambda: True)
    monkeypatch.setattr(application, "sleep", lambda seconds: setattr(about_to, "_jsc", None))
    for stopped in (SimpleNamespace(_jsc=None), about_to):
        with pytest.raises(JobExecutionError, match="the program itself has stopped") as caught:
            require_application(stopped)
        assert not isinstance(caught.value, ApplicationLostError)


@pytest.mark.turns(2)
@pytest.mark.spark
@pytest.mark.parametrize(
    ("end", "executor", "said"),
    [
        ("kill", "epochs", DIED),
        pytest.param("stop", "epochs", STOPPED, marks=pytest.mark.torture),
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
    if end == "kill":
        assert f"{NOT_SUBMITTED} has ended, as its Java process died. Start" in done.stderr
