"""What people see of a job that runs on real Spark, in a process of a server: Spark's own UI, and
the warnings of its workers."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from running_server import JOBS, SPARK, RunningServer, await_that

pytestmark = pytest.mark.spark

SETTINGS = {
    "millrace.executor": "resident",
    "parallelism.default": "1",
    "spark.master": "local[2]",
    "spark.driver.memory": "700m",
    "spark.ui.enabled": "true",
    "spark.ui.port": "0",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    directory = tmp_path_factory.mktemp("spark") / "server"
    started = RunningServer(directory, program=SPARK)
    try:
        yield started
    finally:
        started.end()


@pytest.fixture(scope="module")
def job(server: RunningServer) -> str:
    """The id of a running job."""
    submitted = server.submit(JOBS / "warning.py", configuration=SETTINGS)
    server.await_epoch(submitted, 2)
    return submitted


@pytest.mark.turns(7)
def test_warnings_of_workers(server: RunningServer, job: str) -> None:
    def notices() -> list[dict[str, Any]]:
        told: list[dict[str, Any]] = server.get(f"/jobs/{job}/exceptions")["notices"]
        return [notice for notice in told if notice["logger"] == "shop"]

    await_that(lambda: notices() and notices()[0]["count"] > 1, "a second warning")
    [notice] = notices()  # texts that differ in a number are one
    assert notice["level"] == "WARNING"
    assert notice["text"].startswith("number ")
    assert (notice["taskName"], notice["subtasks"]) == ("Check", [0])
    assert notice["first"] <= notice["timestamp"]
    assert server.get(f"/jobs/{job}/exceptions")["root-exception"] is None


def test_the_link_to_the_ui_of_spark(server: RunningServer, job: str) -> None:
    link = server.get(f"/jobs/{job}")["spark-ui"]
    assert link.startswith("http://127.0.0.1:")
    with pytest.raises(ConnectionError):  # on a machine of its own, nobody else may look
        socket.create_connection(("127.0.0.2", int(link.rpartition(":")[2])), 5)
    page = httpx.get(link, timeout=60, follow_redirects=True)
    assert page.status_code == 200
    assert "Spark" in page.text
