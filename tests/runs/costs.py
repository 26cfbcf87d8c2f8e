"""What each file of tests costs: ``pytest --costs DIRECTORY`` writes it there, a file per process.

Processor time includes what a test starts and leaves running, as Spark's JVM: it is summed over
the tree of processes below pytest before and after each test, or some short tests of a file.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections import defaultdict
from collections.abc import Generator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psutil
import pytest

SAMPLED_EVERY_S = 2.0
"""Orphans are known by having been seen while their parents lived."""

MEASURED_FROM_S = 0.2


@dataclass
class Cost:
    """The cost of a file's tests."""

    tests: int = 0
    wall_s: float = 0.0
    processor_s: float = 0.0

    def add(self, wall_s: float, processor_s: float, tests: int) -> None:
        self.tests += tests
        self.wall_s += wall_s
        self.processor_s += processor_s


@dataclass
class ProcessTree:
    """The processor time of this process and all it has started, living or dead.

    A process that has ended is in the time of the parent that has waited for it. One whose parent
    was killed is an orphan: nobody waits for it but the system.
    """

    _known: set[psutil.Process] = field(default_factory=set)
    """Those that lived when it was looked last."""
    _orphans: dict[psutil.Process, float] = field(default_factory=dict)
    _lost_s: float = 0.0
    """Processor time of orphans that have ended."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def processor_s(self) -> float:
        with self._lock:
            return self._total()

    def _total(self) -> float:
        roots = [psutil.Process(), *self._orphans]
        living = {process for root in roots for process in _family(root)}
        for process in self._known - living:
            if process in self._orphans:
                self._lost_s += self._orphans.pop(process)
            elif _is_at_work(process):
                living.update(_family(process))
                self._orphans[process] = 0.0
        self._known = living
        used = {process: _used(process) for process in living}
        self._orphans = {process: used.get(process, 0.0) for process in self._orphans}
        return sum(used.values()) + self._lost_s


def _family(process: psutil.Process) -> list[psutil.Process]:
    """The process and all below it; nothing if it has ended."""
    try:
        return [process, *process.children(recursive=True)] if _is_at_work(process) else []
    except psutil.Error:
        return []


def _is_at_work(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _used(process: psutil.Process) -> float:
    """The processor time of a process and of its children that it has waited for."""
    try:
        times = process.cpu_times()
    except psutil.Error:
        return 0.0
    waited = getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
    return float(times.user + times.system + waited)


class CostRecorder:
    """The plugin that measures around each test and writes the sums at the end."""

    def __init__(self, directory: Path, worker: str) -> None:
        self._file = directory / f"{worker}.json"
        self._costs: dict[str, Cost] = defaultdict(Cost)
        self._tests: dict[str, Cost] = defaultdict(Cost)
        self._tree = ProcessTree()
        self._seen = (time.monotonic(), 0.0)
        self._tests_since = 0
        self._over = threading.Event()
        threading.Thread(target=self._sample, daemon=True, name="costs").start()

    def _sample(self) -> None:
        while not self._over.wait(SAMPLED_EVERY_S):
            self._tree.processor_s()

    def _charge(self, name: str, test: str | None = None) -> None:
        """What was used since the last call is `name`'s."""
        now = (time.monotonic(), self._tree.processor_s())
        wall_s, processor_s = now[0] - self._seen[0], max(now[1] - self._seen[1], 0.0)
        self._seen = now
        self._costs[name].add(wall_s, processor_s, self._tests_since)
        if test is not None:
            self._tests[test].add(wall_s, processor_s, self._tests_since)
        self._tests_since = 0

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Generator[None, object, object]:
        self._charge("(start)")
        result = yield
        self._charge("(collection)")
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        result = yield
        ends_file = nextitem is None or nextitem.path != item.path
        self._tests_since += 1
        # to measure takes milliseconds: the short tests of a file are measured together
        if ends_file or time.monotonic() - self._seen[0] > MEASURED_FROM_S:
            self._charge(item.nodeid.partition("::")[0], item.nodeid)
        if ends_file:
            self._write()
        return result

    def pytest_unconfigure(self) -> None:
        self._charge("(end)")
        self._over.set()
        self._write()

    def _write(self) -> None:
        """So far; a run that is broken off has told of the files it has done."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        written = {
            "files": {name: asdict(cost) for name, cost in self._costs.items()},
            "tests": {name: asdict(cost) for name, cost in self._tests.items()},
        }
        self._file.write_text(json.dumps(written, indent=1), encoding="utf-8")


def record_costs(config: pytest.Config) -> None:
    """Adds the recorder if the command line asks for it; in a divided run, to each worker."""
    directory = config.getoption("--costs")
    divides = config.getoption("numprocesses", None) and not hasattr(config, "workerinput")
    if directory and not divides:
        worker = os.environ.get("PYTEST_XDIST_WORKER", "alone")
        config.pluginmanager.register(CostRecorder(Path(directory).absolute(), worker))
