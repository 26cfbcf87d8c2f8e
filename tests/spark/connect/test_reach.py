"""Connections by which workers show that they reach the driver."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest

from millrace.common.errors import JobExecutionError
from millrace.runtime.resident.connection import connect, listening
from millrace.spark.connect import connect_task
from millrace.spark.connect.connect_task import ReachTask
from millrace.spark.connect.reach import START_PATIENCE, Callers, _await_slots


def answers(task: ReachTask) -> list[str]:
    return [row["problem"] for batch in task([]) for row in batch.to_pylist()]


def test_more_workers_than_the_kernel_keeps_connections_for() -> None:
    listener, port = listening("127.0.0.1")
    listener.listen(1)
    with Callers(listener):
        for _ in range(20):
            with connect(f"127.0.0.1:{port}", patience=5.0) as link:
                link.settimeout(20)
                assert not link.recv(1)
    assert listener.fileno() == -1


def test_slots_are_counted_however_many_partitions_there_are() -> None:
    """Two slots have eight partitions one after the other."""
    listener, port = listening("127.0.0.1")
    task = ReachTask(f"127.0.0.1:{port}", 20.0)
    with Callers(listener, 1) as callers, ThreadPoolExecutor(2) as slots:
        assert list(slots.map(answers, 8 * [task])) == 8 * [[""]]
    assert callers.most == 2


def test_a_worker_tries_once_to_reach_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of its partitions would wait for seconds."""
    tries: list[str] = []

    def unreachable(address: str, patience: float) -> None:
        tries.append(address)
        raise TimeoutError("timed out")

    monkeypatch.setattr(connect_task, "connect", unreachable)
    task = ReachTask("192.0.2.1:1", 5.0)
    assert answers(task) == answers(task) == ["timed out"]
    assert len(tries) == 1
    assert answers(ReachTask("192.0.2.1:1", 5.0)) == ["timed out"]
    assert len(tries) == 2, "the next check tries again"


class SlowQuery:
    """Ends after some seconds of a time of its own."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.is_cancelled = False

    def wait(self, seconds: float) -> bool:
        self.seconds -= seconds
        return self.seconds <= 0

    def cancel(self) -> None:
        self.is_cancelled = True


@pytest.mark.parametrize(("seconds", "warnings"), [(1.0, 0), (START_PATIENCE - 1, 1)])
def test_a_cluster_that_grows_is_waited_for(
    seconds: float, warnings: int, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "millrace"):
        _await_slots(cast("Any", SlowQuery(seconds)), "sc://h")
    assert len(caplog.messages) == warnings


def test_a_server_without_a_free_slot_is_named() -> None:
    query = SlowQuery(START_PATIENCE + 1)
    with pytest.raises(JobExecutionError, match="no slot of the Spark Connect server sc://h was"):
        _await_slots(cast("Any", query), "sc://h")
    assert query.is_cancelled
