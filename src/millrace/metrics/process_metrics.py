"""Metrics of the driver's process: processor, memory, threads."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

from millrace.metrics.measurement import Measurement, MetricKind, MetricScope
from millrace.runtime.worker import resident_bytes

__all__ = ["ProcessMetrics"]


class ProcessMetrics:
    """Resource use of the driver's process, as Flink's ``Status.JVM`` describes the process of a
    JVM."""

    def __init__(self) -> None:
        self._scope = MetricScope("jobmanager", {"<host>": socket.gethostname()})
        self._seen = time.perf_counter(), time.process_time()

    def all(self) -> Iterator[Measurement]:
        """All measurements. The CPU load covers the time since the last call; 1.0 means one
        processor in full use."""
        (since, used), self._seen = self._seen, (time.perf_counter(), time.process_time())
        now, time_used = self._seen
        for name, value in (
            ("Status.Process.CPU.Time", round(time_used * 1e9)),
            ("Status.Process.CPU.Load", (time_used - used) / max(now - since, 1e-6)),
            ("Status.Process.Memory.Resident", resident_bytes()),
            ("Status.Process.Threads.Count", threading.active_count()),
        ):
            yield Measurement(self._scope, name, MetricKind.GAUGE, value, name)
