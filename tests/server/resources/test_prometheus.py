"""The endpoint for Prometheus: the server, and all its jobs."""

from __future__ import annotations

import time
from pathlib import Path
from threading import Thread
from typing import Any

import gallery
import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from millrace.rest.http_server import HttpServer
from millrace.server.access_tokens import AccessTokens
from millrace.server.application import create_application


def samples(text: str) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, []).append(sample)
    return found


def test_all_jobs_and_the_server(api: TestClient) -> None:
    answer = api.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    found = samples(answer.text)
    [read] = found["flink_jobmanager_job_numRecordsRead"]
    assert read.value == 900
    assert (read.labels["job_id"], read.labels["job_name"]) == (gallery.RUNNING, "clicks")
    # one within the process, one because a process had died
    assert [sample.value for sample in found["flink_jobmanager_job_numRestarts"]] == [2]
    subtasks = found["flink_taskmanager_job_task_numRecordsIn"]
    assert {sample.labels["subtask_index"] for sample in subtasks} == {"0", "1"}
    [failed] = found["flink_jobmanager_numFailedJobs"]
    assert failed.value == 1
    assert "job_id" not in failed.labels
    [leader] = found["flink_jobmanager_isLeader"]
    assert leader.value == 1
    assert found["flink_jobmanager_Status_Process_Memory_Resident"][0].value > 1_000_000


def test_it_wants_the_token_to_read(api: TestClient) -> None:
    assert api.get("/metrics", headers={"Authorization": "Bearer none"}).status_code == 401


@pytest.mark.connectors
def test_prometheus_scrapes_it(prometheus_server: Any, tmp_path: Path) -> None:
    server = gallery.server_of(tmp_path)
    http = HttpServer(create_application(server, AccessTokens()), "127.0.0.1", 0)
    thread = Thread(target=http.run)
    thread.start()
    try:
        prometheus_server.scrape([int(http.url.rpartition(":")[2])])
        query = 'flink_jobmanager_job_numRecordsRead{job_name="clicks"}'
        until = time.monotonic() + 60
        while not (found := prometheus_server.ask("query", query=query)["result"]):
            assert time.monotonic() < until, prometheus_server.ask("targets")
            time.sleep(0.1)
        assert found[0]["value"][1] == "900"
        assert found[0]["metric"]["job_id"] == gallery.RUNNING
    finally:
        prometheus_server.scrape([])
        http.end()
        thread.join()
        http.close()
        server.registry.close()
