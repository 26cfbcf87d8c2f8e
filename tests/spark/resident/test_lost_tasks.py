"""Reason that the driver gives for the end of a task."""

from __future__ import annotations

import pytest

from millrace.spark.resident.spark_starter import SparkTasks

RAISED = """\
org.apache.spark.api.python.PythonException: [PYTHON_EXCEPTION] An exception was thrown from the \
Python worker: Traceback (most recent call last):
  File "worker.py", line 3, in main
TypeError: 'str' object is not callable

\tat org.apache.spark.api.python.BasePythonRunner.handle(PythonRunner.scala:1)"""
KILLED = "TaskKilled (another attempt succeeded)"
LOST = "ExecutorLostFailure (executor 1 exited)\nKilled by external signal\n."
DIED = "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)"


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (RAISED, "TypeError: 'str' object is not callable"),
        (KILLED, KILLED),
        (LOST, "ExecutorLostFailure (executor 1 exited)"),
        (DIED, "it ended itself, or was killed: the machine may lack memory"),
    ],
)
def test_the_reason_is_the_error_itself(
    monkeypatch: pytest.MonkeyPatch, message: str, reason: str
) -> None:
    tasks = object.__new__(SparkTasks)
    monkeypatch.setattr(tasks, "_message_of", lambda attempt: message)
    assert tasks.reason(7) == reason
