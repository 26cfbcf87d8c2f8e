"""The endpoint for Prometheus: the server, and all its jobs."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gallery
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from running_server import JOBS, RunningServer
from starlette.testclient import TestClient

from millrace.rest.http_server import HttpServer
from millrace.server.access_tokens import AccessTokens
from millrace.server.application import create_application

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/operations/metrics.md").read_text(encoding="utf-8")
RULES = ROOT / "examples/monitoring/alerts.yml"


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


def test_rules_of_the_server_ask_for_what_there_is(api: TestClient) -> None:
    _, server = yaml.safe_load(RULES.read_text())["groups"]
    named = set(re.findall(r"\bflink_\w+", json.dumps(server)))
    assert len(named) == 3
    assert named <= samples(api.get("/metrics").text).keys()


@contextmanager
def served(directory: Path, tokens: AccessTokens) -> Iterator[str]:
    """Address of a server with jobs in all states."""
    server = gallery.server_of(directory)
    http = HttpServer(create_application(server, tokens), "127.0.0.1", 0)
    http.start()
    try:
        yield http.url.rpartition("/")[2]
    finally:
        http.close()
        server.registry.close()


def await_answer(prometheus_server: Any, query: str) -> list[Any]:
    """What Prometheus answers, as soon as it is not empty."""
    until = time.monotonic() + 60
    while not (found := prometheus_server.ask("query", query=query)["result"]):
        assert time.monotonic() < until, (query, prometheus_server.ask("targets"))
        time.sleep(0.1)
    return list(found)


@pytest.mark.connectors
def test_prometheus_scrapes_it_as_the_page_tells(prometheus_server: Any, tmp_path: Path) -> None:
    """With the token to read."""
    (tmp_path / "read.token").write_text("r" * 20)
    [configuration] = re.findall(r"```yaml title=\"prometheus.yml\"\n(.*?)```", PAGE, re.DOTALL)
    told = configuration.replace("/etc/prometheus/millrace.token", str(tmp_path / "read.token"))
    with served(tmp_path, AccessTokens(read="r" * 20, operate="o" * 20)) as address:
        prometheus_server.use_scrape_configs(told.replace("server:8081", address))
        try:
            query = 'flink_jobmanager_job_numRecordsRead{job_name="clicks"}'
            [read] = await_answer(prometheus_server, query)
            assert read["value"][1] == "900"
            assert read["metric"]["job_id"] == gallery.RUNNING
            [target] = prometheus_server.ask("targets")["activeTargets"]
            assert (target["health"], target["lastError"]) == ("up", "")
        finally:
            prometheus_server.use_scrape_configs(None)


@pytest.mark.connectors
def test_rules_fire_for_jobs_of_a_server(prometheus_server: Any, tmp_path: Path) -> None:
    """A job runs and another one fails, in processes of a server of its own."""
    rules = tmp_path / "rules.yml"
    rules.write_text(re.sub(r"^ +for: .*\n", "", RULES.read_text(), flags=re.MULTILINE))
    prometheus_server.use_rules(rules)
    server = RunningServer(tmp_path / "server")
    try:
        prometheus_server.scrape([int(server.url.rpartition(":")[2])])
        running = server.submit(JOBS / "counting.py", tmp_path / "out")
        [read] = await_answer(
            prometheus_server, f'flink_jobmanager_job_numRecordsRead{{job_id="{running}"}} > 0'
        )
        assert read["metric"]["job"] == "millrace"
        assert not fired(prometheus_server) & {"JobFailed", "ServerGone", "NoLeader"}
        program = tmp_path / "broken.py"
        program.write_text("raise ValueError('no such topic')\n")
        server.submit(program)
        await_answer(prometheus_server, 'ALERTS{alertname="JobFailed", alertstate="firing"}')
        assert not fired(prometheus_server) & {"ServerGone", "NoLeader", "JobNotRunning"}
        server.end()
        await_answer(prometheus_server, 'ALERTS{alertname="ServerGone", alertstate="firing"}')
    finally:
        server.end()
        prometheus_server.scrape([])


def fired(prometheus_server: Any) -> set[str]:
    """Names of the alerts that fire."""
    alerts = prometheus_server.ask("alerts")["alerts"]
    return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}
