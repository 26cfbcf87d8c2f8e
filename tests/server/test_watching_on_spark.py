"""People look into a job on resident tasks of real Spark: records that its operators emit, and
flame graphs of its stages, as the server's REST API tells them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from millrace.common import Configuration, WatermarkStrategy
from millrace.common.job import JobStatus
from millrace.connectors import DataGeneratorSource, RateLimiterStrategy
from millrace.datastream import StreamExecutionEnvironment
from millrace.engine.embedded_job_client import EmbeddedJobClient
from millrace.server.access_tokens import AccessTokens
from millrace.server.application import create_application
from millrace.server.job_server import JobServer, ServerSettings
from millrace.server.registry import RegisteredJob, Submission
from millrace.server.sql_registry import SqlRegistry
from millrace.server.supervisor import Supervisor
from millrace.testing import CollectingSink

pytestmark = pytest.mark.spark

JOB = "a" * 32


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("watched")


@pytest.fixture(scope="module")
def running(spark: Any, directory: Path) -> Iterator[EmbeddedJobClient]:
    """A job of two stages: one computes, the other one waits for something outside."""

    def compute(number: int) -> tuple[int, int]:
        return number % 7, sum(n * n for n in range(40_000))

    def wait(pair: tuple[int, int]) -> str:
        time.sleep(0.004)
        return f"seen {pair[0]}"

    settings = {
        "millrace.executor": "resident",
        "execution.runtime-mode": "STREAMING",
        "millrace.preview.enabled": "true",
        "execution.checkpointing.interval": "500 ms",
        "execution.checkpointing.dir": str(directory / "jobs" / JOB),
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration(settings))
    env.set_parallelism(2)
    rate = RateLimiterStrategy.per_second(400)
    source = DataGeneratorSource(lambda number: number, rate_limiter_strategy=rate, splits=2)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    pairs = numbers.map(compute).name("Compute").uid("compute")
    waited = pairs.key_by(lambda pair: pair[0]).map(wait).name("Wait").uid("wait")
    waited.sink_to(CollectingSink()).uid("sink")
    client = env.execute_async("watched")
    yield client
    client.cancel().result()


@pytest.fixture(scope="module")
def api(running: EmbeddedJobClient, directory: Path) -> Iterator[TestClient]:
    """A server that knows the job, to a client that may operate it."""
    registry = SqlRegistry(f"sqlite:///{directory}/registry.db")
    assert registry.claim()
    settings = ServerSettings(directory, directory / "savepoints", "sqlite:///registry.db")
    submission = Submission(str(directory / "watched.py"), None)
    begun = round(time.time() * 1_000)
    registry.put_job(RegisteredJob(JOB, submission, JobStatus.RUNNING, created=begun))
    supervisor = Supervisor(registry, settings.jobs, follows=False)
    tokens = AccessTokens("r" * 20, "o" * 20)
    application = create_application(JobServer(settings, registry, supervisor), tokens)
    yield TestClient(application, headers={"Authorization": f"Bearer {tokens.operate}"})
    registry.close()


@pytest.fixture
def vertices(api: TestClient, eventually: Callable[..., None]) -> dict[str, str]:
    """Paths of the job's stages by the names of the operators that they begin with."""

    def told() -> list[dict[str, Any]]:
        vertices: list[dict[str, Any]] = api.get(f"/jobs/{JOB}").json()["vertices"]
        return vertices

    eventually(lambda: len(told()) == 2, "the job's graph")
    paths = {vertex["name"]: f"/jobs/{JOB}/vertices/{vertex['id']}" for vertex in told()}
    computing = next(name for name in paths if "Compute" in name)
    waiting = next(name for name in paths if "Wait" in name)
    return {"Compute": paths[computing], "Wait": paths[waiting]}


def test_records_of_operators(
    api: TestClient, vertices: dict[str, str], eventually: Callable[..., None]
) -> None:
    """From each of the two workers, of an operator in the middle of a stage, too."""

    def records(stage: str, operator: str) -> list[dict[str, Any]]:
        answer = api.get(f"{vertices[stage]}/preview?operator={operator}").json()
        assert answer["enabled"]
        found: list[dict[str, Any]] = answer["records"]
        return found

    eventually(lambda: {r["subtask"] for r in records("Compute", "compute")} == {0, 1}, "records")
    squares = sum(n * n for n in range(40_000))
    assert {r["text"] for r in records("Compute", "compute")} <= {
        f"({key}, {squares})" for key in range(7)
    }
    eventually(lambda: records("Wait", "wait"), "records of the second stage")
    assert {r["text"] for r in records("Wait", "wait")} <= {f"'seen {key}'" for key in range(7)}
    times = [record["time"] for record in records("Wait", "wait")]
    assert times == sorted(times, reverse=True)


def test_flame_graphs(
    api: TestClient, vertices: dict[str, str], eventually: Callable[..., None]
) -> None:
    """Of each stage, from both workers: a worker runs subtasks of both stages in one thread."""

    def graph(stage: str, **query: Any) -> dict[str, Any]:
        answer: dict[str, Any] = api.get(f"{vertices[stage]}/flamegraph", params=query).json()
        return answer

    def calls(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for child in node["children"]:
            yield child
            yield from calls(child)

    def samples_of(function: str, tree: dict[str, Any]) -> int:
        """Of a function of the program, whose file is told by its path."""
        mine = [
            call["value"]
            for call in calls(tree["data"])
            if call["name"].startswith(f"running.<locals>.{function} (")
            and __file__ in call["name"]
        ]
        return sum(mine)

    eventually(lambda: graph("Compute")["endTimestamp"] > 0, "the samples of five seconds")
    for stage, function, other in (("Compute", "compute", "wait"), ("Wait", "wait", "compute")):
        whole = graph(stage)
        assert samples_of(function, whole) > 0
        assert samples_of(other, whole) == 0
        names = [call["name"] for call in calls(whole["data"])]
        assert not [name for name in names if "pyspark/" in name], "calls around the subtask"
        by_subtask = [graph(stage, subtaskindex=index) for index in (0, 1)]
        assert all(samples_of(function, of_subtask) for of_subtask in by_subtask)
        parts = [of_subtask["data"]["value"] for of_subtask in by_subtask]
        assert sum(parts) == whole["data"]["value"]
        by_kind = [graph(stage, type=kind)["data"]["value"] for kind in ("ON_CPU", "OFF_CPU")]
        assert sum(by_kind) == whole["data"]["value"]
    assert samples_of("wait", graph("Wait", type="OFF_CPU")) > 0, "a function that sleeps"
