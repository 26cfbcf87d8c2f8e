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
from millrace.spark.application import require_application

SOURCES = Path(__file__).parents[2] / "src"
JOB = """
import os, signal
from pyspark import SparkContext
from millrace.common import WatermarkStrategy
from millrace.connectors import DataGeneratorSource, RateLimiterStrategy
from millrace.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
source = DataGeneratorSource(lambda n: n, None, RateLimiterStrategy.per_second(100), splits=1)
numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
with numbers.execute_and_collect("numbers") as results:
    assert next(results) == 0
    os.kill(SparkContext._gateway.proc.pid, signal.SIGKILL)
    for _ in results:
        pass
"""


def context(stopped: Any) -> Any:
    return SimpleNamespace(_jsc=SimpleNamespace(sc=lambda: SimpleNamespace(isStopped=stopped)))


def test_whether_it_exists() -> None:
    def refused() -> bool:
        raise ConnectionRefusedError

    require_application(context(lambda: False))
    with pytest.raises(JobExecutionError, match="its Java process died"):
        require_application(context(refused))
    with pytest.raises(JobExecutionError, match="was stopped, by the program or by the cluster"):
        require_application(context(lambda: True))
    with pytest.raises(JobExecutionError, match="its SparkContext was stopped"):
        require_application(SimpleNamespace(_jsc=None))  # type: ignore[arg-type]


@pytest.mark.spark
def test_a_job_whose_java_process_dies(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(JOB)
    done = subprocess.run(
        [sys.executable, "job.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 1
    said = "the Spark application has ended beneath the job: its Java process died. Start the"
    assert said in done.stderr
    assert "runs again" not in done.stderr
