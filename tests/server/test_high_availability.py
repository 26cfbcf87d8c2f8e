"""Real servers with one registry: the leader is killed, and the job goes on exactly once."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import httpx
import pytest
from server_group import QUICK, RunningServer, ServerGroup, await_that

pytestmark = pytest.mark.fault
GENEROUS = 30.0
"""Seconds; it takes about two, on a machine that has nothing else to do."""


@pytest.fixture
def group(tmp_path: Path) -> Iterator[ServerGroup]:
    made = ServerGroup(tmp_path, *QUICK)
    yield made
    made.close()


@pytest.fixture
def registry(postgresql) -> str:
    database = postgresql.create_database()
    return postgresql.url(database).replace("postgresql:", "postgresql+psycopg:")


def attempts(server: RunningServer, job: str) -> list[int]:
    """The ids of the job's processes."""
    return [one["pid"] for one in server.attempts(job)]


def test_a_standby_takes_over_from_a_killed_leader(group: ServerGroup, registry: str) -> None:
    first = group.start(registry, "postgresql")
    await_that(first.leads, "the first election")
    second = group.start(registry, "postgresql")
    job = group.count(first)
    job.await_progress()

    health = second.get("/health")
    assert (health["leader"], health["leader-address"]) == (False, first.url)
    answer = second.http.get(f"/jobs/{job.id}?x=1")
    there = f"{first.url}/jobs/{job.id}?x=1"
    assert (answer.status_code, answer.headers["location"]) == (307, there)
    (running,) = attempts(first, job.id)

    first.signal(signal.SIGKILL)
    assert await_that(second.leads, "the takeover") < GENEROUS
    job.await_progress()
    # the former leader may have died before it had noted that the job runs
    state = lambda: second.get(f"/jobs/{job.id}")["state"]  # noqa: E731
    await_that(lambda: state() == "RUNNING", "the news that the job runs")
    assert attempts(second, job.id) == [running], "its process is adopted"
    job.stop(second)
    job.require_exactly_once()


@pytest.mark.torture
def test_a_leader_that_was_stopped_wakes_up(group: ServerGroup, registry: str) -> None:
    """It may do nothing, and leaves the job's process to the new leader of the same machine."""
    first = group.start(registry, "postgresql")
    await_that(first.leads, "the first election")
    second = group.start(registry, "postgresql")
    job = group.count(first)
    job.await_progress()
    (running,) = attempts(first, job.id)
    first.signal(signal.SIGSTOP)
    assert await_that(second.leads, "the takeover") < GENEROUS
    first.signal(signal.SIGCONT)
    await_that(lambda: "no longer leads" in first.log(), "the insight of the former leader")
    assert not first.leads()
    # for a moment it may not know yet who leads instead: 503, ask again
    cancel = lambda: httpx.patch(f"{first.url}/jobs/{job.id}?mode=cancel", timeout=60)  # noqa: E731
    await_that(lambda: cancel().status_code != HTTPStatus.SERVICE_UNAVAILABLE, "a redirection")
    sent = cancel()
    assert (sent.status_code, sent.headers["location"].split("/jobs")[0]) == (307, second.url)
    job.await_progress()
    assert attempts(second, job.id) == [running]
    assert os.path.exists(f"/proc/{running}")
    job.stop(second)
    job.require_exactly_once()
