"""Check that the workers of a Spark Connect server can run a job and reach its driver."""

from __future__ import annotations

import selectors
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Thread
from typing import TYPE_CHECKING

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

CONNECT_PATIENCE = 5.0
"""Seconds in which a worker must have reached the driver."""
START_PATIENCE = 60.0
"""Seconds in which a slot must be free for the check."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Answer of the workers.

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
    with accepting(listener):
        # as many partitions as Spark has slots
        query = Operation(
            session, lambda spark: spark.range(1 << 12).mapInArrow(task, REACH_SCHEMA), "reach"
        )
        if not query.wait(START_PATIENCE):
            query.cancel()
            raise JobExecutionError(
                f"no slot of the Spark Connect server {name} was free within "
                f"{START_PATIENCE:.0f} s, or its workers did not start: end other jobs there, or "
                "give it more cores"
            )
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
    return Reach(len(query.rows), {row.host for row in query.rows} == {host_id()})


@contextmanager
def accepting(listener: socket.socket) -> Iterator[None]:
    """Accept connections and close them, as the kernel keeps only some hundred for which nobody
    asks. The listener is closed at the end."""
    stop, stopped = socket.socketpair()
    thread = Thread(target=_accept, args=(listener, stopped), name="millrace-reach", daemon=True)
    with listener, stop, stopped:
        listener.setblocking(False)
        thread.start()
        try:
            yield
        finally:
            stop.shutdown(socket.SHUT_RDWR)
            thread.join()


def _accept(listener: socket.socket, stopped: socket.socket) -> None:
    with selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ)
        selector.register(stopped, selectors.EVENT_READ)
        while all(key.fileobj is not stopped for key, _ in selector.select()):
            try:
                listener.accept()[0].close()
            except (BlockingIOError, ConnectionError):
                continue  # the worker has gone
            except OSError:
                return  # no file descriptor is left; the kernel keeps what it can


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
