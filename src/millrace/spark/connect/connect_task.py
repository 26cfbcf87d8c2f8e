"""Functions of Spark tasks that a Spark Connect server runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from millrace import __version__
from millrace.runtime.resident.connection import connect
from millrace.runtime.resident.control import host_id
from millrace.spark.resident.resident_task import ResidentTask

__all__ = ["ConnectTask", "REACH_SCHEMA", "ReachTask", "TASK_SCHEMA"]

TASK_SCHEMA = "nothing binary"
"""Columns of the answer of a `ConnectTask`, which has no rows."""
REACH_SCHEMA = "host string, problem string, version string"
"""Columns of the answer of a `ReachTask`."""


class ConnectTask:
    """Function of a resident task in a barrier stage.

    Args:
        task: the function of the task without Spark Connect.
    """

    def __init__(self, task: ResidentTask) -> None:
        self._task = task

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run until the driver ends the task. Returns nothing."""
        for _ in batches:
            pass
        yield from self._task(())


class ReachTask:
    """Function of a task that tells whether it can reach the driver of a job.

    Args:
        driver: address of the driver.
        patience: seconds in which it must answer.
    """

    def __init__(self, driver: str, patience: float) -> None:
        self._driver = driver
        self._patience = patience

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the worker's host, the error of the connection, and the version of Millrace."""
        for _ in batches:
            pass
        problem = ""
        try:
            connect(self._driver, patience=self._patience).close()
        except OSError as error:
            problem = str(error) or type(error).__name__
        row = {"host": [host_id()], "problem": [problem], "version": [__version__]}
        yield pa.RecordBatch.from_pydict(row)
