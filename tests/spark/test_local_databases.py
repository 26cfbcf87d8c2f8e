"""What databases of RocksDB leave on a host, in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

JOB = """
import sys
from millrace.common.time.watermark_strategy import WatermarkStrategy
from millrace.connectors import NumberSequenceSource
from millrace.datastream import StreamExecutionEnvironment

how = sys.argv[1]

def fail(n):
    if n == 999 and how == "fail":
        raise ValueError("on purpose")
    return n

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
source = NumberSequenceSource(1, 1_000)
numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
sums = numbers.map(fail).key_by(lambda n: n % 10).reduce(lambda a, b: a + b)
sums.print()
env.execute("sums")
"""


def run(directory: Path, how: str) -> int:
    job = directory / "job.py"
    job.write_text(JOB)
    settings = {
        "state.backend.type": "rocksdb",
        "state.backend.rocksdb.localdir": str(directory / "local"),
        "execution.state-recovery.from-local": "true",
        "millrace.epoch.max-records-per-split": "100",
        "millrace.epoch.initial-records-per-split": "100",
    }
    pairs = [word for pair in settings.items() for word in ("--conf", "=".join(pair))]
    command = [sys.executable, "-m", "millrace.cli.main", "run", *pairs, str(job), how]
    environment = {**os.environ, "XDG_STATE_HOME": str(directory / "state")}
    return subprocess.run(
        command, env=environment, stdout=subprocess.DEVNULL, check=False, timeout=600
    ).returncode


def databases(directory: Path) -> list[str]:
    return [path.name for path in (directory / "local").glob("*/*")]


def gone(directory: Path) -> bool:
    """Whether they go: the last workers may outlive the driver for a moment."""
    deadline = time.monotonic() + 180
    while databases(directory) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not databases(directory)


@pytest.mark.turns(7)
def test_after_jobs_that_finished_nothing_stays(tmp_path: Path) -> None:
    """Not even of the job that failed before under the same name."""
    pytest.importorskip("rocksdict")
    assert run(tmp_path, "fail") == 1
    assert databases(tmp_path)  # whoever resumes it goes on with them
    assert run(tmp_path, "finish") == 0
    assert gone(tmp_path), databases(tmp_path)
