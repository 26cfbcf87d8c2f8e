"""Programs that wait for their job, and Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from millrace.common.job import JobStatus
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.foreground_run import run_beside
from millrace.engine.job_details import JobDetails
from millrace.testing import run_local

SOURCES = Path(__file__).parents[2] / "src"
JOB = """
import os, signal, sys, threading, time
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.foreground_run import run_beside
from millrace.datastream.job_launcher import JobLauncher
from millrace.testing.local_executor import LocalExecutor

def press(progress):
    if progress.epochs == 3:
        os.kill(os.getpid(), signal.SIGINT)

JobLauncher.install(
    JobLauncher(executor=lambda c, n, p: LocalExecutor(), run=run_beside, listeners=[press])
)
env = StreamExecutionEnvironment.get_execution_environment()
env.enable_checkpointing(0)
env.from_collection(list(range(1_000_000))).print()
env.execute("job")
"""


def test_ctrl_c_ends_job_and_program_with_three_lines(tmp_path: Path) -> None:
    """There were screens of py4j's and PySpark's tracebacks, and of ours."""
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
    assert done.returncode == -signal.SIGINT
    first, *where, last = done.stderr.splitlines()
    assert first == "Traceback (most recent call last):"
    assert last == "KeyboardInterrupt"
    assert where[1].strip() == 'env.execute("job")'
    assert all("millrace" not in line for line in where)


def of_pyspark(number: int, frame: object) -> None:
    raise AssertionError("PySpark cancels all jobs")


of_pyspark.__module__ = "pyspark.core.context"


def test_an_interrupted_job_can_be_resumed(tmp_path: Path) -> None:
    """Whatever PySpark would do about Ctrl-C, which it may do again later."""
    before = signal.signal(signal.SIGINT, of_pyspark)
    try:
        with run_local(checkpoint_dir=str(tmp_path), epoch_records=5) as cluster:
            env = StreamExecutionEnvironment.get_execution_environment()
            env.enable_checkpointing(0)
            env.from_collection(list(range(1000))).print()
            client = env.build_client("job")

            def press(progress: JobDetails) -> None:
                if progress.epochs == 3:
                    os.kill(os.getpid(), signal.SIGINT)
                    assert client._manager.bus.cancelled.wait(60)

            cluster.listeners.append(press)
            with pytest.raises(KeyboardInterrupt):
                run_beside(client)
        assert signal.getsignal(signal.SIGINT) is of_pyspark
    finally:
        signal.signal(signal.SIGINT, before)
    assert client.get_job_status().result() is JobStatus.SUSPENDED
    assert list(tmp_path.glob("*/chk-*/_metadata"))


def test_a_handler_of_the_users_stays(capsys: pytest.CaptureFixture[str]) -> None:
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
    try:
        with run_local(epoch_records=5) as cluster:
            env = StreamExecutionEnvironment.get_execution_environment()
            env.from_collection(list(range(20))).print()
            cluster.listeners.append(
                lambda p: os.kill(os.getpid(), signal.SIGINT) if p.epochs == 1 else None
            )
            run_beside(env.build_client("job"))
    finally:
        signal.signal(signal.SIGINT, before)
    assert pressed == [signal.SIGINT]
    assert len(capsys.readouterr().out.split()) == 20
