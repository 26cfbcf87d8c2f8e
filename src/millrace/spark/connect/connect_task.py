"""Functions of Spark tasks that a Spark Connect server runs."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from contextlib import suppress

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


_known: dict[str, str] = {}
"""Problem of the last check that failed in this worker, by the check's name."""


class ReachTask:
    """Function of a task that reports whether it can reach a job's driver. The task then holds its
    slot until the driver closes the connection.

    Args:
        driver: address of the driver.
        patience: seconds in which it must answer.
    """

    def __init__(self, driver: str, patience: float) -> None:
        self._driver = driver
        self._patience = patience
        self._check = secrets.token_hex(8)

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the worker's host, the error of the connection, and the version of Millrace."""
        for _ in batches:
            pass
        # a worker has many partitions, and each attempt takes seconds
        problem = _known.get(self._check) or self._problem()
        row = {"host": [host_id()], "problem": [problem], "version": [__version__]}
        yield pa.RecordBatch.from_pydict(row)

    def _problem(self) -> str:
        try:
            link = connect(self._driver, patience=self._patience)
        except OSError as error:
            _known.clear()
            _known[self._check] = str(error) or type(error).__name__
            return _known[self._check]
        with link, suppress(OSError):
            link.settimeout(self._patience)
            link.recv(1)
        return ""
