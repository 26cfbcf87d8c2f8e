"""Check that the workers of a Spark Connect server can run a job and reach its driver."""

from __future__ import annotations

import logging
import selectors
import socket
from dataclasses import dataclass
from threading import Thread
from typing import TYPE_CHECKING, Self

from millrace import __version__
from millrace.common.config import options
from millrace.common.errors import JobExecutionError
from millrace.runtime.resident.control import host_id
from millrace.spark.connect.connect_task import REACH_SCHEMA, ReachTask
from millrace.spark.connect.endpoint import Endpoint
from millrace.spark.connect.failures import reason_of_failure
from millrace.spark.connect.operation import Operation

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

__all__ = ["Reach", "reach_of"]

log = logging.getLogger(__name__)

CONNECT_PATIENCE = 5.0
"""Seconds in which a worker must have reached the driver."""
START_PATIENCE = 300.0
"""Seconds in which a slot must be free for the check."""
SILENCE = 30.0
"""Seconds after which the log tells that the check waits."""
QUIET = 0.5
"""Seconds without a new connection after which no more are expected at the same time."""
_WAVES = 3
_PARTITIONS = ("spark.default.parallelism", "spark.sql.leafNodeDefaultParallelism")


@dataclass(frozen=True, slots=True)
class Reach:
    """Facts that the workers of a server have reported about themselves.

    Args:
        slots: number of tasks that run at a time, as far as the server tells.
        is_here: whether all workers are on the driver's machine.
    """

    slots: int
    is_here: bool


def reach_of(session: SparkSession, name: str, endpoint: Endpoint) -> Reach:
    """Ask workers of the server, one in each slot if all are free, whether they reach the endpoint.

    Args:
        name: the server, for messages.

    Raises:
        JobExecutionError: they do not, they cannot run Millrace, or no slot is free.
    """
    listener, address = endpoint.listen()
    task = ReachTask(address, CONNECT_PATIENCE)
    is_counted = _has_own_partitions(session)
    with Callers(listener, _WAVES if is_counted else 0) as callers:
        # as many partitions as Spark has slots, unless its settings tell another number
        query = Operation(
            session, lambda spark: spark.range(1 << 12).mapInArrow(task, REACH_SCHEMA), "reach"
        )
        _await_slots(query, name)
    if query.error is not None:
        raise JobExecutionError(reason_of_failure(query.error, name))
    problems = [row for row in query.rows if row.problem]
    if problems:
        raise JobExecutionError(_unreachable(name, address, endpoint, problems[0]))
    others = {row.version for row in query.rows} - {__version__}
    if others:
        raise JobExecutionError(
            f"workers of the Spark Connect server {name} have Millrace {min(others)}, and this "
            f"program has {__version__}: install the same version on both sides"
        )
    slots = min(len(query.rows), callers.most) if is_counted else len(query.rows)
    return Reach(slots, {row.host for row in query.rows} == {host_id()})


def _await_slots(query: Operation, name: str) -> None:
    """Wait for the answers of workers, which a cluster that grows may have to start first."""
    if query.wait(SILENCE):
        return
    log.warning(
        "no answer from workers of the Spark Connect server %s yet: none of its slots is free, or "
        "its workers still start",
        name,
    )
    if not query.wait(START_PATIENCE - SILENCE):
        query.cancel()
        raise JobExecutionError(
            f"no slot of the Spark Connect server {name} was free within {START_PATIENCE:.0f} s, "
            "or its workers did not start: end other jobs there, or give it more cores"
        )


class Callers:
    """Accepts the connections of workers in a thread, because the kernel queues only a few hundred
    connections.

    Args:
        waves: how often connections are held until no more come, to see how many there are at a
            time. After that, they are closed at once.
    """

    def __init__(self, listener: socket.socket, waves: int = 0) -> None:
        self.most = 0
        """Largest number of connections at a time."""
        self._listener = listener
        self._waves = waves
        self._open: list[socket.socket] = []
        self._stop, self._stopped = socket.socketpair()
        self._thread = Thread(target=self._run, name="millrace-reach", daemon=True)

    def __enter__(self) -> Self:
        self._listener.setblocking(False)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Close the listener and all connections."""
        self._stop.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        for end in (self._stop, self._stopped, self._listener):
            end.close()

    def _run(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ)
            selector.register(self._stopped, selectors.EVENT_READ)
            while True:
                ready = {key.fileobj for key, _ in selector.select(QUIET if self._open else None)}
                if self._stopped in ready or (ready and not self._accept()):
                    break
                if not ready or not self._waves:
                    self._release()
        self._release()

    def _accept(self) -> bool:
        """Accept a connection. Returns False if this process cannot have more."""
        try:
            self._open.append(self._listener.accept()[0])
        except (BlockingIOError, ConnectionError):
            return True  # the worker has gone
        except OSError:
            return False  # no file descriptor is left; the kernel keeps what it can
        self.most = max(self.most, len(self._open))
        return True

    def _release(self) -> None:
        self._waves = max(self._waves - 1, 0)
        for link in self._open:
            link.close()
        self._open.clear()


def _has_own_partitions(session: SparkSession) -> bool:
    """Whether settings of the server tell the number of partitions, which is that of its slots
    otherwise."""
    return any(session.conf.get(key, "1") != "1" for key in _PARTITIONS)


def _unreachable(name: str, address: str, endpoint: Endpoint, row: object) -> str:
    host, problem = row.host.partition("/")[0], row.problem  # type: ignore[attr-defined]
    only_here = ", an address that only this machine has" if endpoint.is_loopback else ""
    return (
        f"workers of the Spark Connect server {name} do not reach this process, which runs the "
        f"job: the worker on {host} cannot connect to {address}{only_here} ({problem}). Set "
        f"{options.JOBMANAGER_ADDRESS.key} to an address of this machine that they reach, and "
        f"{options.JOBMANAGER_PORT.key} to a port that firewalls let through; or run the program "
        "on a machine inside the cluster's network"
    )
