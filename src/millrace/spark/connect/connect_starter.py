"""Starts resident tasks as one query of a Spark Connect server, in a barrier stage.

Nobody can ask the server for its free slots. A barrier stage starts all tasks or none, so two jobs
never wait for each other with half of their tasks. Its price: if a task is lost, Spark ends the
others, too. They are told to return before, and their processes keep the state of their subtasks
for the tasks that are started instead (docs/decisions, "Spark Connect").
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from millrace.common.errors import JobExecutionError
from millrace.engine.executor import ApplicationLostError
from millrace.engine.resident.tasks import WhileWanted, always
from millrace.runtime.program import Program
from millrace.spark.connect.connect_task import TASK_SCHEMA, ConnectTask
from millrace.spark.connect.endpoint import Endpoint
from millrace.spark.connect.failures import lasting_failure, reason_of_failure
from millrace.spark.connect.operation import Operation
from millrace.spark.connect.reach import Reach
from millrace.spark.connect.remote import Remote
from millrace.spark.resident.resident_task import ResidentTask
from millrace.spark.worker_environment import WorkerEnvironment
from millrace.spark.worker_log_settings import worker_log

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

__all__ = ["ConnectStarter", "ConnectTasks"]

_CLUSTER = "connect"
"""Name of the server for log settings: workers ship their log to the driver."""
_MOST_RUNS = 256
LAST_WORDS = 1.0
"""Seconds to wait for the reason of a lost task."""


class ConnectStarter:
    """Starts the resident tasks of one job on a Spark Connect server.

    Args:
        session: session of the job.
        remote: the server; None if its address is not known.
        heartbeat: seconds between two heartbeats.
        link_timeout: seconds without an answer after which a connection between hosts is broken.
    """

    def __init__(
        self,
        session: SparkSession,
        remote: Remote | None,
        endpoint: Endpoint,
        reach: Reach,
        heartbeat: float,
        link_timeout: float,
    ) -> None:
        self._session = session
        self._remote = remote
        self._endpoint = endpoint
        self._reach = reach
        self._heartbeat = heartbeat
        self._link_timeout = link_timeout
        self._closed_runs: deque[str] = deque(maxlen=_MOST_RUNS)

    @property
    def host(self) -> str:
        """Address at which tasks reach the driver."""
        return self._endpoint.host

    @property
    def bind(self) -> str:
        """Address of this machine at which the driver listens for tasks."""
        return self._endpoint.bind

    @property
    def port(self) -> int:
        """Port at which the driver listens; 0 for any."""
        return self._endpoint.port

    def start(
        self,
        address: str,
        token: bytes,
        generation: int,
        tasks: int,
        may_wait: WhileWanted = always,
    ) -> ConnectTasks:
        """Start the query, in a thread. It waits until the server has slots for all tasks."""
        task = ConnectTask(
            ResidentTask(
                address,
                token,
                generation,
                WorkerEnvironment(),
                self._reach.is_here,
                self._heartbeat,
                self._link_timeout,
            )
        )
        query = Operation(
            self._session,
            lambda spark: spark.range(0, tasks, 1, tasks).mapInArrow(
                task, TASK_SCHEMA, barrier=True
            ),
            "resident",
        )
        return ConnectTasks(query, self._name)

    @property
    def _name(self) -> str:
        return "" if self._remote is None else repr(self._remote)

    def cores(self, spare: int = 0, may_wait: WhileWanted = always) -> int:
        """Number of tasks that the server can run. At least one slot stays free for other queries,
        unless the server has only one.
        """
        return max(self._reach.slots - max(spare, 1), 1)

    def free_slots(self) -> None:
        """None: the number is not known."""

    def adapted(self, program: Program) -> Program:
        """The program with the closed runs, and with log settings for workers on other machines."""
        log = worker_log(program.log, _CLUSTER)
        return replace(program, closed_runs=tuple(self._closed_runs), log=log)

    def forget(self, run_id: str) -> None:
        """Let workers forget a run, when they load their next program."""
        self._closed_runs.append(run_id)

    def require_running(self) -> None:
        """Raise an ApplicationLostError if the server has ended, or the session was stopped."""
        if self._session.is_stopped:
            raise ApplicationLostError(
                "the session of the Spark Connect server has ended beneath the job. Start the "
                "program again; with a directory for checkpoints it resumes (--resume)"
            )
        if self._remote is None:
            return
        with suppress(OSError):
            self._remote.own_address()
            return
        raise ApplicationLostError(
            f"the Spark Connect server {self._remote} no longer responds. Start it again, "
            "and then the program; with a directory for checkpoints it resumes (--resume) "
            "from the newest checkpoint"
        )


class ConnectTasks:
    """Running query of one generation.

    Args:
        name: the server, for messages.
    """

    def __init__(self, query: Operation, name: str) -> None:
        self._query = query
        self._name = name
        self._loss = ""
        """Reason for which Spark ends the barrier stage."""

    def failure(self) -> str | None:
        """Reason for the end of the tasks. None while they run.

        Raises:
            JobExecutionError: workers cannot start, however often it is tried.
        """
        if not self._query.has_ended:
            return self._loss or None
        error = self._query.error
        if error is None or self._loss:
            return self._loss
        lasting = lasting_failure(str(error), self._name)
        if lasting is not None:
            raise JobExecutionError(lasting)
        return reason_of_failure(error, self._name)

    def kill(self, attempt: int) -> None:
        """Kill all tasks: a single one cannot be killed, and a barrier stage would not survive
        it."""
        self._loss = "a task did not answer, and all were ended with it"
        self._query.cancel()

    def reason(self, attempt: int) -> str:
        """Reason that Spark gives for the end of the query, which cannot continue without one of
        its tasks.
        """
        self._loss = "a task was lost, and with it the barrier stage of all"
        if not self._query.wait(LAST_WORDS) or self._query.error is None:
            return ""
        return reason_of_failure(self._query.error, self._name)

    def leaving(self, attempts: Sequence[int]) -> Sequence[int]:
        """No attempts: a Spark Connect server does not announce the removal of executors."""
        return ()

    def cancel(self) -> None:
        """Cancel the query, which kills tasks that do not return."""
        self._query.cancel()

    def wait(self, seconds: float) -> bool:
        """Wait for the end of the query."""
        return self._query.wait(seconds)
