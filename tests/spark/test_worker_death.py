"""What is said of a Python worker that has died."""

from __future__ import annotations

import ctypes
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from millrace.common import Configuration
from millrace.common.errors import JobExecutionError
from millrace.datastream import StreamExecutionEnvironment
from millrace.engine import epoch_runner
from millrace.spark.worker_death import WorkerDeath, worker_death

LOST = "Job aborted due to stage failure: Task 0 in stage 7.0 failed 4 times, most recent failure: "
SEGFAULT = """Python worker exited unexpectedly (crashed): Fatal Python error: Segmentation fault

Thread 0x00007fc2 (most recent call first):
  File "/usr/lib/threading.py", line 1002 in _bootstrap

Current thread 0x00007fc2 (most recent call first):
  File "/usr/lib/ctypes.py", line 519 in string_at
  File "job.py", line 8 in die
  File "/site-packages/millrace/runtime/operators/map.py", line 21 in process
  File "/site-packages/pyspark/worker.py", line 4222 in process

java.io.EOFException
"""


def test_the_users_frames_are_kept() -> None:
    assert worker_death(LOST + SEGFAULT) == WorkerDeath(
        7,
        'Segmentation fault\n  File "/usr/lib/ctypes.py", line 519 in string_at\n'
        '  File "job.py", line 8 in die',
    )


@pytest.mark.parametrize("message", ["", LOST, "Python worker exited unexpectedly"])
def test_what_is_about_something_else(message: str) -> None:
    assert worker_death(message) is None


@pytest.mark.spark
@pytest.mark.parametrize(
    ("die", "reason"),
    [
        (lambda: os._exit(7), "it ended itself, or was killed"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "it ended itself, or was killed"),
        (lambda: ctypes.string_at(0), "Segmentation fault\n"),
    ],
    ids=["exit", "kill", "segfault"],
)
def test_the_operator_is_named(
    die: Any, reason: str, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deadly(value: int) -> int:
        if value == 3:
            die()
        return value

    monkeypatch.setattr(epoch_runner, "INFRASTRUCTURE_RETRIES", 0)
    settings = Configuration({"millrace.executor": "epochs"})
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    numbers = env.from_collection([1, 2, 3]).map(lambda v: v).name("harmless")
    deaths = numbers.key_by(lambda v: v % 2).map(deadly).name("deadly")
    deaths.key_by(lambda v: v).map(lambda v: v).name("after it").print()
    with pytest.raises(JobExecutionError) as caught:
        env.execute("deadly")
    text = str(caught.value)
    assert "a Python worker died in 'deadly" in text
    assert reason in text
    assert "harmless" not in text
    assert "after it" not in text


@pytest.mark.spark
def test_the_operator_of_a_resident_task_is_named(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deadly(value: int) -> int:
        return value if value < 3 else ctypes.string_at(0)[0]

    monkeypatch.setattr(epoch_runner, "INFRASTRUCTURE_RETRIES", 0)
    settings = {
        "execution.runtime-mode": "STREAMING",
        "execution.checkpointing.dir": str(tmp_path),
        "millrace.executor": "resident",
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration(settings))
    env.set_parallelism(1)
    numbers = env.from_collection([1, 2, 3]).map(lambda v: v).name("harmless")
    numbers.key_by(lambda v: v % 2).map(deadly).name("deadly").print()
    with pytest.raises(JobExecutionError) as caught:
        env.execute("deadly")
    text = str(caught.value)
    assert "died in 'deadly" in text
    assert "(subtask 0): Segmentation fault" in text
    assert "harmless" not in text
