"""A client that was made for Flink works unmodified, with a real job in a real process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from flink_rest_client import FlinkRestClient

from millrace.rest.http_server import HttpServer
from millrace.server.access_tokens import AccessTokens
from millrace.server.application import create_application
from millrace.server.job_server import JobServer, ServerSettings

pytestmark = pytest.mark.fault
JOBS = Path(__file__).parent / "jobs"


@pytest.fixture
def http(servers) -> Iterator[HttpServer]:
    settings = ServerSettings(
        servers.directory, servers.directory / "savepoints", allow_uploads=True
    )
    server = JobServer(settings, servers.registry, servers.supervisor)
    servers.supervisor.follows = True
    server.lead(servers.token)
    http = HttpServer(create_application(server, AccessTokens()), "127.0.0.1", 0)
    http.start()
    yield http
    http.close()
    server.close()


def test_list_inspect_savepoint_and_cancel(http, servers, eventually, tmp_path) -> None:
    client = FlinkRestClient.get("127.0.0.1", http.port)
    assert client.overview()["jobs-running"] == 0
    assert "refresh-interval" in client.config()
    assert "server.directory" in client.jobmanager.config()

    uploaded = client.jars.upload(str(JOBS / "counting.py"))
    jar = uploaded["filename"].rpartition("/")[2]
    assert [file["id"] for file in client.jars.all()["files"]] == [jar]
    # this client knows only arguments with names, the program only those without
    job_id = client.jars.run(jar, arguments=None, parallelism=1)
    eventually(lambda: client.jobs.get(job_id)["state"] == "FAILED", "the job without arguments")
    assert "IndexError" in client.jobs.get_exceptions(job_id)["root-exception"]

    job_id = servers.counts().id
    eventually(lambda: servers.runs(job_id))
    assert job_id in client.jobs.job_ids()
    assert {job["jid"]: job["state"] for job in client.jobs.overview()}[job_id] == "RUNNING"
    assert len(client.jobs.get_plan(job_id)["nodes"]) == len(client.jobs.get_vertex_ids(job_id))
    assert "numRestarts" in client.jobs.get_metrics(job_id)
    assert client.jobs.metrics()["numRestarts"]["max"] == 0.0
    assert client.jobs.get_config(job_id)["jid"] == job_id
    assert client.jobs.get_checkpoint_ids(job_id)
    assert client.jobs.get_checkpointing_configuration(job_id)["interval"] == 100
    assert client.jobs.get_accumulators(job_id)["user-task-accumulators"] is not None
    vertex = client.jobs.get_vertex(job_id, client.jobs.get_vertex_ids(job_id)[-1])
    assert vertex.details()["parallelism"] == 1
    assert "0.numRecordsInPerSecond" in vertex.metrics()
    assert "busyTimeMsPerSecond" in vertex.subtasks.metrics()
    assert vertex.subtasks.get(0)["status"] == "RUNNING"
    assert vertex.backpressure()["status"] == "ok"
    assert client.taskmanagers.all()

    trigger = client.jobs.create_savepoint(job_id, str(tmp_path / "savepoints"))
    eventually(lambda: trigger.status["status"]["id"] == "COMPLETED", "the savepoint")
    location = Path(trigger.status["operation"]["location"])
    assert (location / "_metadata").is_file()
    rescaling = client.jobs.rescale(job_id, 2)
    eventually(lambda: rescaling.status["status"]["id"] == "COMPLETED", "the rescaling")
    assert rescaling.status["operation"] == {}

    assert client.jobs.terminate(job_id)
    eventually(lambda: client.jobs.get(job_id)["state"] == "CANCELED", "the end")
    assert client.jars.delete(jar)
    numbers = servers.outputs()
    assert numbers
    assert len(numbers) == len(set(numbers))
