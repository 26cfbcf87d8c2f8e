"""Metrics of the driver's process: processor, memory, threads."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator

from millrace.metrics.measurement import Measurement, MetricKind, MetricScope
from millrace.runtime.worker import resident_bytes

__all__ = ["process_metrics"]


def process_metrics() -> Iterator[Measurement]:
    """What the driver's process needs; Flink's ``Status.JVM`` is that of a process, too."""
    scope = MetricScope("jobmanager", {"<host>": socket.gethostname()})
    for name, value in (
        ("Status.Process.CPU.Time", time.process_time() * 1000),
        ("Status.Process.CPU.Load", os.getloadavg()[0]),
        ("Status.Process.Memory.Resident", resident_bytes()),
        ("Status.Process.Threads.Count", threading.active_count()),
    ):
        yield Measurement(scope, name, MetricKind.GAUGE, value, name)
