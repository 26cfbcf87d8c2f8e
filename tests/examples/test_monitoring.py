"""The dashboard and the alert rules know what a job really reports."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Callable
from pathlib import Path
from urllib.request import urlopen

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from millrace.common import Configuration, WatermarkStrategy
from millrace.common.watermark_strategy import TimestampAssigner
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.job_launcher import JobLauncher
from millrace.engine.job_details import JobDetails
from millrace.testing import run_local

MONITORING = Path(__file__).parents[2] / "examples" / "monitoring"
DASHBOARD = MONITORING / "grafana-dashboard.json"
RULES = MONITORING / "alerts.yml"
PATIENCE = 60


class OwnTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value


def job_scraped_at(port: int, look: Callable[[JobDetails], None]) -> None:
    """Run a job that reports at a port; ``look`` is called after each of its epochs."""
    with run_local():
        # the job's thread: it goes on when this has returned
        JobLauncher.current().listeners.append(look)
        env = StreamExecutionEnvironment.get_execution_environment(
            Configuration(
                {
                    "metrics.reporter.prom.factory.class": "prometheus",
                    "metrics.reporter.prom.port": str(port),
                    "millrace.epoch.initial-records-per-split": "100",
                    "millrace.epoch.max-records-per-split": "100",
                }
            )
        )
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(OwnTime())
        numbers = env.from_collection(range(1_000)).assign_timestamps_and_watermarks(strategy)
        numbers.key_by(lambda n: n % 7).reduce(max).print()
        env.execute("watched")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def metrics_in(text: str) -> set[str]:
    return set(re.findall(r"\bflink_\w+", text))


@pytest.fixture(scope="module")
def scraped() -> set[str]:
    """The names that a scrape of a running job gives."""
    port, found = free_port(), set()

    def look(details: JobDetails) -> None:
        with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE) as answer:
            text = answer.read().decode()
        found.update(family.name for family in text_string_to_metric_families(text))

    job_scraped_at(port, look)
    return found


def test_the_dashboard_shows_what_there_is(scraped: set[str]) -> None:
    dashboard = json.loads(DASHBOARD.read_text())
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    assert len(expressions) > 15
    assert set().union(*map(metrics_in, expressions)) <= scraped
    assert metrics_in(json.dumps(dashboard["templating"])) <= scraped
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(set(ids)) == len(ids)


def test_panels_do_not_overlap() -> None:
    places = [panel["gridPos"] for panel in json.loads(DASHBOARD.read_text())["panels"]]
    cells = [
        (x, y)
        for place in places
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24


def test_alerts_ask_for_what_there_is(scraped: set[str]) -> None:
    jobs, _ = yaml.safe_load(RULES.read_text())["groups"]
    named = metrics_in(json.dumps(jobs))
    assert len(named) > 5
    assert named <= scraped


@pytest.mark.connectors
def test_prometheus_scrapes_a_job_and_evaluates_the_rules(prometheus_server) -> None:
    from prometheus_server import promtool

    checked = promtool("check", "rules", RULES)
    assert checked.returncode == 0, checked.stderr
    prometheus_server.use_rules(RULES)
    port = free_port()
    prometheus_server.scrape([port])
    query = 'flink_jobmanager_job_numRecordsRead{job_name="watched"}'

    def look(details: JobDetails) -> None:
        if details.records < 1_000:
            return
        until = time.monotonic() + PATIENCE
        while not (found := prometheus_server.ask("query", query=query)["result"]):
            assert time.monotonic() < until, prometheus_server.ask("targets")
            time.sleep(0.1)
        assert found[0]["value"][1] == "1000"

    job_scraped_at(port, look)
    rules = [r for g in prometheus_server.ask("rules")["groups"] for r in g["rules"]]
    assert len(rules) == RULES.read_text().count("- alert:")
    assert {rule["health"] for rule in rules} <= {"ok", "unknown"}
    dashboard = json.loads(DASHBOARD.read_text())
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            prometheus_server.ask("query", query=target["expr"].replace("$job", ".*"))


@pytest.mark.connectors
def test_the_rules_fire_when_they_should(prometheus_server, tmp_path: Path) -> None:
    from prometheus_server import promtool

    cases = f"""
rule_files: [{RULES}]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - {{series: 'flink_jobmanager_job_runningState{{job_name="a"}}', values: '1 0x20'}}
      - {{series: 'flink_jobmanager_job_numRestarts{{job_name="b"}}', values: '0 1 2 3 4x20'}}
      - {{series: 'flink_jobmanager_job_watermarkLag{{job_name="c"}}', values: '400000x20'}}
      - {{series: 'flink_jobmanager_job_runningState{{job_name="d"}}', values: '1x5 stale'}}
      - {{series: 'up{{job="millrace", instance="s"}}', values: '1 0x20'}}
      - {{series: 'flink_jobmanager_isLeader{{job="millrace", host="s"}}', values: '0x20'}}
      - {{series: 'flink_jobmanager_isLeader{{job="millrace", host="t"}}', values: '1x5 0x15'}}
      - {{series: 'flink_jobmanager_numFailedJobs{{instance="s"}}', values: '2 3 3 3x20'}}
      - {{series: 'flink_jobmanager_numFailedJobs{{instance="t"}}', values: '3 2 2 2x20'}}
    alert_rule_test:
      - eval_time: 10m
        alertname: JobNotRunning
        exp_alerts:
          - exp_labels: {{severity: critical, job_name: a}}
            exp_annotations: {{summary: "Job a has not been running for a minute"}}
      - eval_time: 1m
        alertname: JobNotRunning
        exp_alerts: []
      - eval_time: 10m
        alertname: WatermarkLags
        exp_alerts:
          - exp_labels: {{severity: warning, job_name: c}}
            exp_annotations:
              summary: "Event time of job c is more than five minutes behind"
      - eval_time: 12m
        alertname: JobGone
        exp_alerts:
          - exp_labels: {{severity: critical, job_name: d}}
            exp_annotations: {{summary: "Job d ran ten minutes ago and reports nothing any more"}}
      - eval_time: 10m
        alertname: ServerGone
        exp_alerts:
          - exp_labels: {{severity: critical, job: millrace, instance: s}}
            exp_annotations: {{summary: "The metrics of s cannot be scraped"}}
      - eval_time: 5m
        alertname: NoLeader
        exp_alerts: []
      - eval_time: 10m
        alertname: NoLeader
        exp_alerts:
          - exp_labels: {{severity: critical, job: millrace}}
            exp_annotations: {{summary: "No job server leads, so that nobody restarts jobs"}}
      - eval_time: 10m
        alertname: JobFailed
        exp_alerts:
          - exp_labels: {{severity: critical, instance: s}}
            exp_annotations: {{summary: "Jobs of s have failed"}}
    promql_expr_test:
      - expr: count(ALERTS{{alertname="JobRestarts"}})
        eval_time: 10m
        exp_samples: [{{labels: '{{}}', value: 1}}]
"""
    path = tmp_path / "cases.yml"
    path.write_text(cases)
    tested = promtool("test", "rules", path)
    assert tested.returncode == 0, tested.stdout + tested.stderr
