"""Reporters beside a job: what fails or hangs in one of them is nothing to the job."""

from __future__ import annotations

import logging
import socket
from concurrent.futures import ThreadPoolExecutor
from queue import Queue
from threading import Event
from time import sleep
from types import SimpleNamespace

import pytest

from millrace.common import Configuration
from millrace.common.errors import ConfigurationError
from millrace.common.job import JobStatus
from millrace.datastream import StreamExecutionEnvironment
from millrace.engine.job_details import JobDetails
from millrace.metrics.job_reporting import JobReporting
from millrace.metrics.metric_reporter import MetricReporter
from millrace.metrics.reporter_factories import FACTORIES, REPORTERS, reporters_of
from millrace.testing import run_local

STATSD = "org.apache.flink.metrics.statsd.StatsDReporterFactory"


class Recording(MetricReporter):
    """Puts what it is called with into a queue."""

    def __init__(self, settings) -> None:
        super().__init__(settings)
        self.calls: Queue = Queue()

    def open(self, measure):
        self.calls.put("open")

    def report(self, measurements):
        self.calls.put(measurements)

    def close(self):
        self.calls.put("close")


def job(**fields):
    return SimpleNamespace(details=lambda: JobDetails(job_name="count", **fields))


def test_a_scrape_waits_for_another(settings) -> None:
    busy = []

    class Asked(Recording):
        periodic = False

        def open(self, measure):
            self.measure = measure
            super().open(measure)

    def details():
        busy.append(1)
        assert len(busy) == 1
        sleep(0.001)
        busy.pop()
        return JobDetails(job_name="count")

    reporter = Asked(settings())
    reporting = JobReporting(SimpleNamespace(details=details), "id", [reporter], patience=60)
    reporting.started("")
    assert reporter.calls.get(timeout=60) == "open"
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(lambda _: len(reporter.measure()), range(20)))
    reporting.ended(JobStatus.FINISHED, None)


def test_the_last_report_has_how_the_job_ended(settings) -> None:
    reporter = Recording(settings(interval="1 h", filter__includes="jobmanager.job:*State"))
    reporting = JobReporting(job(status=JobStatus.RUNNING), "id", [reporter], patience=60)
    reporting.started("")
    reporting.closed()  # observers are closed first: see `JobManager._close`
    reporting.ended(JobStatus.FAILING, None)
    assert reporter.calls.get_nowait() == "open"
    last = {m.name: m.value for m in reporter.calls.get_nowait()}
    assert last == {"runningState": 0, "restartingState": 0, "failingState": 1}
    assert reporter.calls.get_nowait() == "close"


def test_reports_come_at_an_interval(settings) -> None:
    reporter = Recording(settings(interval="1 ms"))
    reporting = JobReporting(job(), "id", [reporter], patience=60)
    reporting.started("")
    for _ in range(4):
        reporter.calls.get(timeout=60)
    reporting.ended(JobStatus.FINISHED, None)
    reporting.closed()


def test_a_reporter_that_fails_goes_on_and_is_named_once(settings, caplog) -> None:
    class Failing(Recording):
        def report(self, measurements):
            super().report(measurements)
            raise OSError("no such host")

    reporter, other = Failing(settings(interval="1 ms")), Recording(settings(interval="1 ms"))
    reporting = JobReporting(job(), "id", [reporter, other], patience=60)
    with caplog.at_level(logging.WARNING, "millrace"):
        reporting.started("")
        for _ in range(5):
            reporter.calls.get(timeout=60)
            other.calls.get(timeout=60)
        reporting.ended(JobStatus.FINISHED, None)
        reporting.closed()
    assert caplog.messages == ["metric reporter 'r' failed: OSError: no such host"]


def test_a_reporter_that_hangs_is_left_alone(settings, caplog) -> None:
    let_go = Event()

    class Hanging(Recording):
        def report(self, measurements):
            let_go.wait(60)

    reporting = JobReporting(job(), "id", [Hanging(settings())], patience=0.01)
    with caplog.at_level(logging.WARNING, "millrace"):
        reporting.started("")
        reporting.ended(JobStatus.FINISHED, None)
        reporting.closed()
    assert caplog.messages == [
        "metric reporter 'r' has not ended in 0.01 s: the job does not wait for it"
    ]
    let_go.set()


def test_a_job_that_never_began(settings) -> None:
    reporting = JobReporting(job(), "id", [Recording(settings())])
    reporting.ended(JobStatus.FAILED, None)
    reporting.closed()


def test_a_whole_job(udp_listener: socket.socket) -> None:
    host, port = udp_listener.getsockname()
    reporter = "metrics.reporter.s"
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment(
            Configuration(
                {
                    f"{reporter}.factory.class": STATSD,
                    f"{reporter}.host": host,
                    f"{reporter}.port": str(port),
                    f"{reporter}.filter.includes": (
                        "*:numRecordsIn;jobmanager.job:numRecordsRead,runningState"
                    ),
                    "metrics.scope.operator": "<job_name>.<operator_name>",
                    "metrics.scope.jm-job": "<job_name>",
                }
            )
        )
        env.from_collection(range(1_000)).map(lambda n: n).name("Same").print()
        env.execute("count")
    lines = udp_listener.recv(65_536).decode().split("\n")
    assert "count.Same.numRecordsIn:1000|g" in lines
    assert "count.numRecordsRead:1000|g" in lines
    assert "count.runningState:0|g" in lines


def test_a_job_of_a_server_is_reported_under_the_servers_id(tmp_path, caplog) -> None:
    id = "0c2f" * 8
    settings = {
        "millrace.control.directory": str(tmp_path / id),
        "metrics.reporters": "log",
        "metrics.scope.jm-job": "id=<job_id>",
    }
    with run_local(), caplog.at_level(logging.INFO, "millrace"):
        env = StreamExecutionEnvironment.get_execution_environment(Configuration(settings))
        assert list(env.from_collection([1, 2]).execute_and_collect("numbers")) == [1, 2]
    assert f"id={id}.numRecordsRead: 2" in caplog.text


def test_every_reporter_can_be_named(settings) -> None:
    for factory, short in FACTORIES.items():
        (made,) = reporters_of(Configuration({"metrics.reporter.x.factory.class": factory}))
        assert type(made).__name__ == REPORTERS[short][1]
        assert made.settings.name == "x"


def test_which_reporters_start() -> None:
    both = {
        "metrics.reporter.b.factory.class": "log",
        "metrics.reporter.a.factory.class": "statsd",
    }
    names = [made.settings.name for made in reporters_of(Configuration(both))]
    assert names == ["a", "b"]
    listed = {**both, "metrics.reporters": "b, prometheus"}
    found = [made.settings.name for made in reporters_of(Configuration(listed))]
    assert found == ["b", "prometheus"]


def test_unknown_reporters() -> None:
    with pytest.raises(ConfigurationError, match="there is no reporter 'nagios': known are prom"):
        reporters_of(Configuration({"metrics.reporters": "nagios"}))
    influx = "org.apache.flink.metrics.influxdb.InfluxdbReporterFactory"
    with pytest.raises(ConfigurationError, match="graphite"):
        reporters_of(Configuration({"metrics.reporter.i.factory.class": influx}))


@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        ("port", "92x", "neither a port nor a range"),
        ("filter.includes", "*:*:level", "not among the types counter"),
        ("filter.excludes", "a:b:c:d", "is not <scope>"),
        ("interval", "soon", "must be a duration"),
    ],
)
def test_wrong_parameters(parameter: str, value: str, message: str) -> None:
    described = {
        "metrics.reporter.p.factory.class": "prometheus",
        f"metrics.reporter.p.{parameter}": value,
    }
    with pytest.raises(ConfigurationError, match=f"metrics.reporter.p.{parameter}.*{message}"):
        reporters_of(Configuration(described))


def test_a_reporter_is_opened_when_what_it_needs_is_there(settings, caplog) -> None:
    class Late(Recording):
        missing = 3

        def open(self, measure):
            if self.missing:
                self.missing -= 1
                raise ConnectionRefusedError("nobody listens")
            super().open(measure)

    reporter = Late(settings(interval="1 ms"))
    reporting = JobReporting(job(), "id", [reporter], patience=60)
    reporting.started("")
    assert reporter.calls.get(timeout=60) == "open"
    assert reporter.calls.get(timeout=60) != "close"
    reporting.ended(JobStatus.FINISHED, None)
    assert len([r for r in caplog.records if "nobody listens" in r.message]) == 1


def test_a_reporter_without_its_client_is_not_tried_again(settings) -> None:
    tried: Queue = Queue()

    class Clientless(Recording):
        def open(self, measure):
            tried.put(1)
            raise ModuleNotFoundError("pip install it")

    reporting = JobReporting(job(), "id", [Clientless(settings(interval="1 ms"))], patience=60)
    reporting.started("")
    reporting._threads[0].join(60)
    assert not reporting._threads[0].is_alive()
    assert tried.qsize() == 1
