"""A job on resident tasks, seen and operated through a server: one tour of all surfaces."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from running_server import JOBS, RunningServer, await_that


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("server")


@pytest.fixture(scope="module")
def server(directory: Path) -> Iterator[RunningServer]:
    """A server whose jobs run on resident tasks in threads of their processes."""
    environment = {**os.environ, "MILLRACE_LOCAL_EXECUTOR": "resident"}
    started = RunningServer(directory / "jobs", environment=environment)
    try:
        yield started
    finally:
        started.end()


@pytest.fixture(scope="module")
def job(server: RunningServer) -> str:
    """The id of a running job."""
    submitted = server.submit(JOBS / "sightings.py", configuration={"parallelism.default": "2"})
    server.await_epoch(submitted, 3)
    return submitted


def vertex(server: RunningServer, job: str, name: str) -> dict[str, Any]:
    """A vertex by a part of its name."""
    vertices: list[dict[str, Any]] = server.get(f"/jobs/{job}")["vertices"]
    [named] = [vertex for vertex in vertices if name in vertex["name"]]
    return named


def sightings(server: RunningServer, job: str) -> int:
    """The count of a key, by the queryable state; 0 if there is none yet."""
    answer = server.http.get(f"/jobs/{job}/state/count/sightings/1")
    return int(answer.json()["value"]) if answer.status_code == 200 else 0


@pytest.mark.turns(7)
def test_its_executor(server: RunningServer, job: str) -> None:
    assert server.get(f"/jobs/{job}")["executor"] == "resident"
    jobs = {summary["jid"]: summary for summary in server.get("/jobs/overview")["jobs"]}
    assert jobs[job]["executor"] == "resident"


@pytest.mark.turns(7)
def test_its_state_is_queried(server: RunningServer, job: str) -> None:
    await_that(lambda: sightings(server, job), "a key in the state")
    before = sightings(server, job)
    await_that(lambda: sightings(server, job) > before, "a newer value")


@pytest.mark.turns(7)
def test_its_log_has_what_it_prints(server: RunningServer, job: str) -> None:
    await_that(lambda: "first:1> (1, 1)" in server.http.get(f"/jobs/{job}/log").text, "the output")


@pytest.mark.turns(7)
def test_its_metrics(server: RunningServer, job: str) -> None:
    path = f"/jobs/{job}/vertices/{vertex(server, job, 'Count')['id']}/subtasks/metrics"
    [counted] = [m["id"] for m in server.get(path) if m["id"].endswith("counted")]
    for metric in (counted, "numRecordsIn"):
        await_that(lambda: server.get(f"{path}?get={metric}")[0]["sum"] > 3, metric)  # noqa: B023


@pytest.mark.turns(7)
def test_its_back_pressure_per_operator(server: RunningServer, job: str) -> None:
    """The source waits for the slow operator, which waits for nobody."""

    def level(name: str) -> str:
        path = f"/jobs/{job}/vertices/{vertex(server, job, name)['id']}/backpressure"
        return str(server.get(path).get("backpressureLevel"))

    await_that(lambda: level("numbers") == "high", "back pressure of the source")
    assert level("Count") == "ok"


@pytest.mark.turns(7)
def test_its_loads_per_subtask(server: RunningServer, job: str) -> None:
    """The slow operator is busy all the time; the three shares of each subtask are all of its
    time."""

    def loads(name: str) -> list[dict[str, float]]:
        path = f"/jobs/{job}/vertices/{vertex(server, job, name)['id']}/backpressure"
        subtasks: list[dict[str, float]] = server.get(path)["subtasks"]
        return subtasks

    def busiest(name: str) -> float:
        return max((load["busyRatio"] for load in loads(name)), default=0)

    await_that(lambda: busiest("Count") > 0.8, "load of the slow operator")
    for load in loads("numbers") + loads("Count"):
        assert load["ratio"] + load["busyRatio"] + load["idleRatio"] == pytest.approx(1)


@pytest.mark.turns(7)
def test_another_job_follows_its_state(server: RunningServer, job: str) -> None:
    follower = server.submit(JOBS / "following.py", server.directory / "jobs" / job)

    def log() -> str:
        return str(server.http.get(f"/jobs/{follower}/log").text)

    await_that(lambda: "change> UPDATE_AFTER 1" in log(), "a change of the state")


@pytest.mark.turns(7)
def test_it_is_operated(server: RunningServer, job: str, directory: Path) -> None:
    """Rescaled, ended with a savepoint, and resumed from that in another job."""

    def completed(path: str, trigger: str) -> dict[str, Any]:
        def status() -> str:
            return str(server.get(f"{path}/{trigger}")["status"]["id"])

        await_that(lambda: status() == "COMPLETED", f"the end of {path}")
        operation: dict[str, Any] = server.get(f"{path}/{trigger}")["operation"]
        assert "failure-cause" not in operation, operation
        return operation

    path = f"/jobs/{job}/rescaling"
    answer = server.http.patch(f"{path}?parallelism=3").json()
    completed(path, answer["request-id"])
    await_that(lambda: vertex(server, job, "Count")["parallelism"] == 3, "the new parallelism")
    await_that(lambda: sightings(server, job) > 0, "the state after the rescaling")
    counted = sightings(server, job)
    path = f"/jobs/{job}/savepoints"
    target = {"target-directory": str(directory / "savepoints"), "cancel-job": True}
    savepoint = completed(path, server.post(path, json=target)["request-id"])["location"]
    assert server.get(f"/jobs/{job}")["state"] in ("FINISHED", "CANCELED")
    settings = {"execution.state-recovery.path": str(savepoint)}
    resumed = server.submit(JOBS / "sightings.py", configuration=settings)
    await_that(lambda: sightings(server, resumed) >= counted, "the state of the savepoint")
    assert server.get(f"/jobs/{resumed}")["executor"] == "resident"
