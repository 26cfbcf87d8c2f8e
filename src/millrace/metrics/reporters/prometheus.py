"""The reporter for Prometheus: answers scrapes on a port."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar

from millrace.metrics.measurement import Measurement
from millrace.metrics.metric_reporter import Measure, MetricReporter
from millrace.metrics.reporter_settings import ReporterSettings
from millrace.metrics.reporters.missing_client import missing_client
from millrace.metrics.reporters.prometheus_families import families

if TYPE_CHECKING:
    from prometheus_client import Metric

__all__ = ["PrometheusReporter"]

PORTS = range(9249, 9250)
HOST = "127.0.0.1"


class PrometheusReporter(MetricReporter):
    """Reporter that answers scrapes with current metrics (Flink: ``PrometheusReporter``).

    Parameters: ``port`` (9249, or a range of which the first free one is taken), ``host`` (the
    address to bind to, 127.0.0.1), ``prefix``, ``filterLabelValueCharacters``. Jobs of one process
    with the same parameters share a port.
    """

    periodic = False

    def __init__(self, settings: ReporterSettings) -> None:
        super().__init__(settings)
        self._key = (settings.text("host", HOST), settings.ports(PORTS))
        self._scraped: _Scraped | None = None
        self.port = 0
        """Port on which the reporter answers."""

    def open(self, measure: Measure) -> None:
        self._scraped = _Scraped.with_job(self._key, self, measure)
        self.port = self._scraped.port

    def report(self, measurements: Sequence[Measurement]) -> None:
        pass

    def close(self) -> None:
        if self._scraped is not None:
            self._scraped.remove(self)


class _Scraped:
    """The endpoint on one port, and the jobs whose metrics it serves."""

    _open: ClassVar[dict[tuple[str, range], _Scraped]] = {}
    _lock: ClassVar[Lock] = Lock()

    def __init__(self, key: tuple[str, range]) -> None:
        self._key = key
        self._jobs: dict[PrometheusReporter, Measure] = {}
        self._server, self.port = _listening(*key, self)

    @classmethod
    def with_job(
        cls, key: tuple[str, range], reporter: PrometheusReporter, measure: Measure
    ) -> _Scraped:
        """The endpoint of a port, opened if necessary, with a job added."""
        with cls._lock:
            scraped = cls._open.get(key) or cls._open.setdefault(key, cls(key))
            scraped._jobs[reporter] = measure
            return scraped

    def remove(self, reporter: PrometheusReporter) -> None:
        """Remove a job; the last one closes the port."""
        with self._lock:
            self._jobs.pop(reporter, None)
            if self._jobs:
                return
            self._open.pop(self._key, None)
            # still with the lock: the next job may want the same port
            self._server.shutdown()
            self._server.server_close()

    def collect(self) -> Iterable[Metric]:
        """Metrics of all jobs, as a collector of prometheus_client."""
        with self._lock:
            jobs = list(self._jobs.items())
        if not jobs:
            return ()
        measured = chain.from_iterable(measure() for _, measure in jobs)
        return families(measured, jobs[0][0].settings)


def _listening(host: str, ports: range, collector: Any) -> tuple[Any, int]:
    try:
        from prometheus_client import CollectorRegistry, start_http_server
    except ModuleNotFoundError:
        raise missing_client("prometheus", "prometheus-client", "prometheus") from None
    registry = CollectorRegistry()
    registry.register(collector)
    for port in ports:
        try:
            server, _ = start_http_server(port, host, registry)
        except OSError as error:
            if port == ports[-1]:
                raise OSError(
                    f"no port of {ports[0]}-{ports[-1]} is free on {host}: {error.strerror}"
                ) from error
        else:
            return server, server.server_port
    raise AssertionError("a range of ports is never empty")
