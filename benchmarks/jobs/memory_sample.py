"""What memory a running job holds: the driver's JVM after a collection, the Python processes."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Any

from pyspark import SparkContext

PAGE = os.sysconf("SC_PAGE_SIZE")
PROC = Path("/proc")


class MemorySampler:
    """Takes a sample every so many epochs. Only for Linux, and Spark in local mode."""

    def __init__(self, every: int) -> None:
        self._every = every
        self.samples: list[dict[str, Any]] = []

    def maybe(self, epoch: int) -> None:
        """Take a sample if one is due."""
        if epoch and epoch % self._every == 0:
            self.samples.append({"epoch": epoch, **sample()})


def sample() -> dict[str, int]:
    """Bytes: ``jvm_heap`` and ``jvm_other`` in use after a collection, resident memory of this
    process and of all Python workers together."""
    context = SparkContext._active_spark_context
    assert context is not None
    jvm: Any = context._jvm
    gc.collect()
    for _ in range(2):
        jvm.java.lang.System.gc()
    bean = jvm.java.lang.management.ManagementFactory.getMemoryMXBean()
    workers = python_workers(os.getpid())
    return {
        "jvm_heap": bean.getHeapMemoryUsage().getUsed(),
        "jvm_other": bean.getNonHeapMemoryUsage().getUsed(),
        "driver": resident(os.getpid()),
        "workers": sum(map(resident, workers)),
        "worker_count": len(workers),
    }


def resident(pid: int) -> int:
    """Resident memory in bytes; 0 when the process is gone."""
    try:
        return int((PROC / str(pid) / "statm").read_text().split()[1]) * PAGE
    except OSError:
        return 0


def python_workers(driver: int) -> list[int]:
    """PySpark's daemon and its workers among the descendants of the driver."""
    children: dict[int, list[int]] = {}
    for entry in PROC.iterdir():
        if entry.name.isdigit() and (parent := _parent(entry)) is not None:
            children.setdefault(parent, []).append(int(entry.name))
    found, waiting = [], [driver]
    while waiting:
        below = children.get(waiting.pop(), [])
        waiting += below
        found += [pid for pid in below if b"pyspark.worker" in _command(pid)]
    return found


def _parent(entry: Path) -> int | None:
    try:
        return int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


def _command(pid: int) -> bytes:
    try:
        return (PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return b""
