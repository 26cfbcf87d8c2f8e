from __future__ import annotations

import socket
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from millrace.metrics.reporters.prometheus import PrometheusReporter


def scraped(port: int) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=20) as answer:
        found = list(text_string_to_metric_families(answer.read().decode()))
    names = [family.name for family in found]
    assert len(names) == len(set(names))
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in found
        for sample in family.samples
    }


def test_a_scrape(settings, measurements) -> None:
    reporter = PrometheusReporter(settings(port="0", scope__variables__excludes="job_id;host"))
    reporter.open(lambda: measurements)
    try:
        found = scraped(reporter.port)
    finally:
        reporter.close()
    place = {"tm_id": "here:7", "task_name": "Map", "operator_name": "Map", "subtask_index": "0"}
    operator = frozenset({"job_name": "count_it", **place}.items())
    name = "flink_taskmanager_job_task_operator"
    assert found == {
        ("flink_jobmanager_job_numRestarts", frozenset({("job_name", "count_it")})): 2,
        (f"{name}_numRecordsIn", operator): 7,
        (f"{name}_topic_lag", operator | {("topic", "orders")}): -1.5,
        (f"{name}_size", operator | {("quantile", "0.5")}): 2,
        (f"{name}_size", operator | {("quantile", "0.99")}): 4,
        (f"{name}_size_count", operator): 4,
        (f"{name}_size_sum", operator): 10,
    }
    with pytest.raises(URLError):
        scraped(reporter.port)


def test_jobs_of_a_process_share_the_port(settings, measurements) -> None:
    first, second = (PrometheusReporter(settings(port="0")) for _ in range(2))
    restarts = measurements[0]
    scope = restarts.scope
    other = type(scope)(scope.logical, {**scope.variables, "<job_name>": "other"})
    first.open(lambda: [restarts])
    second.open(lambda: [restarts._replace(scope=other, value=3)])
    try:
        assert first.port == second.port
        assert sorted(scraped(first.port).values()) == [2, 3]
        first.close()
        assert list(scraped(second.port).values()) == [3]
    finally:
        first.close()
        second.close()


def test_the_next_port_of_a_range(settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        reporter = PrometheusReporter(settings(port=f"{port}-{min(port + 50, 65_535)}"))
        reporter.open(lambda: ())
        assert reporter.port > port
        reporter.close()
        with pytest.raises(OSError, match=f"no port of {port}-{port} is free"):
            PrometheusReporter(settings(port=str(port))).open(lambda: ())


def test_what_jobs_have_in_common_is_there_once(settings, measurements) -> None:
    first, second = (PrometheusReporter(settings(port="0")) for _ in range(2))
    for reporter in (first, second):
        reporter.open(lambda: measurements[:1] * 2)
    try:
        with urlopen(f"http://127.0.0.1:{first.port}/metrics", timeout=20) as answer:
            lines = [
                line for line in answer.read().decode().split("\n") if line[:1] not in ("", "#")
            ]
        assert len(lines) == 1
    finally:
        first.close()
        second.close()


def test_labels_are_names_that_prometheus_takes(settings, measurements) -> None:
    variables = {"<my:key>": "a", "<2nd>": 'quote " and \n', "<host>": "there"}
    odd = measurements[0]._replace(variables=variables)
    reporter = PrometheusReporter(settings(port="0", filterLabelValueCharacters="false"))
    reporter.open(lambda: [odd])
    try:
        ((_, labels),) = scraped(reporter.port)
    finally:
        reporter.close()
    found = dict(labels)
    assert (found["my_key"], found["_2nd"], found["host"]) == ("a", 'quote " and \n', "there")


def test_the_next_job_gets_the_port_of_the_last(settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    for _ in range(3):
        reporter = PrometheusReporter(settings(port=str(port)))
        reporter.open(lambda: ())
        assert reporter.port == port
        reporter.close()
