"""Body of the Spark task of a resident task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pyspark import TaskContext

from millrace.runtime.epoch import EpochPlan
from millrace.runtime.resident.connection import connect
from millrace.runtime.resident.resident_subtask import Storage
from millrace.runtime.resident.resident_worker import ResidentWorker, TaskAssignment
from millrace.spark.task import delta_loader, segment_writer, tidy, worker, worker_program
from millrace.spark.worker_environment import WorkerEnvironment

__all__ = ["ResidentTask"]


class ResidentTask:
    """Function of a resident task. The driver sends the program to it later.

    Args:
        driver: address of the driver.
        token: secret of the run.
        generation: number of the Spark job.
        on_one_host: whether all tasks run on the driver's machine.
        heartbeat: seconds between two heartbeats.
        link_timeout: seconds without an answer after which a connection between hosts is broken.
    """

    def __init__(
        self,
        driver: str,
        token: bytes,
        generation: int,
        environment: WorkerEnvironment,
        on_one_host: bool,
        heartbeat: float,
        link_timeout: float,
    ) -> None:
        self._driver = driver
        self._token = token
        self._generation = generation
        self._environment = environment
        self._on_one_host = on_one_host
        self._heartbeat = heartbeat
        self._link_timeout = link_timeout

    def __call__(self, elements: Iterable[Any]) -> Iterator[bytes]:
        """Run until the driver ends the task. Returns nothing."""
        context = TaskContext.get()
        assert context is not None
        host = "" if self._on_one_host else _own_address(self._driver)
        assignment = TaskAssignment(
            self._driver,
            self._token,
            self._generation,
            context.partitionId(),
            host,
            self._heartbeat,
            context.taskAttemptId(),
            self._link_timeout,
        )

        def load(code: bytes) -> Any:
            return worker_program(code, self._environment)

        ResidentWorker(assignment, worker(), load, _storage, tidy=tidy).run()
        worker().close_ended()
        tidy()
        return iter(())


def _storage(plan: EpochPlan) -> Storage:
    return Storage(delta_loader(plan), segment_writer(plan))


def _own_address(driver: str) -> str:
    """Address of this machine, as seen from the network of the driver."""
    with connect(driver) as link:
        return str(link.getsockname()[0])
