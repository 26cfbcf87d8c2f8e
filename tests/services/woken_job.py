"""A job on resident tasks in threads, whose source's readers rest until they are woken."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from millrace.common import Configuration, WatermarkStrategy
from millrace.common.source import Source
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.job_launcher import JobLauncher
from millrace.engine.job_details import JobDetails
from millrace.engine.resident.tasks import ResidentSettings
from millrace.testing.resident_tasks import local_resident_executor

HOUR = 3_600_000
LONG = 60
"""Seconds after which a test fails instead of waiting on."""
NEVER = 1 << 50
"""Milliseconds that no test lasts."""

_numbers = itertools.count()
_jobs: dict[int, WokenJob] = {}


def _note(number: int, value: Any) -> Any:
    job = _jobs[number]
    with job.changed:
        job.values.append(value)
        job.changed.notify_all()
    return value


class WokenJob:
    """Notes the values of a source. A context manager, which cancels the job.

    Args:
        source: a source without end.
        barrier_interval: milliseconds from one barrier to the next.
        listener: called after each epoch.
        directory: directory of checkpoints, if the source needs one.
    """

    def __init__(
        self,
        source: Source[Any],
        barrier_interval: int = HOUR,
        listener: Callable[[JobDetails], object] = lambda _: None,
        directory: Path | None = None,
    ) -> None:
        self.values: list[Any] = []
        self.changed = threading.Condition()
        self._source = source
        self._settings = ResidentSettings(barrier_interval=barrier_interval)
        self._listener = listener
        self._directory = directory

    def __enter__(self) -> WokenJob:
        number = next(_numbers)
        _jobs[number] = self
        self._before = JobLauncher.current()
        launcher = JobLauncher(executor=lambda *_: local_resident_executor(2, self._settings))
        launcher.listeners.append(self._listener)
        JobLauncher.install(launcher)
        config = Configuration({"execution.runtime-mode": "STREAMING"})
        if self._directory is not None:
            config.set_string("execution.checkpointing.dir", str(self._directory))
        env = StreamExecutionEnvironment.get_execution_environment(config).set_parallelism(1)
        stream = env.from_source(self._source, WatermarkStrategy.no_watermarks(), "source")
        stream.map(partial(_note, number)).print()
        self._client = env.execute_async()
        return self

    def __exit__(self, *_: object) -> None:
        JobLauncher.install(self._before)
        self._client.cancel().result()

    def wait_for(self, count: int) -> list[Any]:
        """Wait until there are so many values, and return all."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.values) >= count, timeout=LONG)
            return list(self.values)


def rests(monkeypatch: pytest.MonkeyPatch, waiter: type[Any]) -> threading.Semaphore:
    """Released whenever a thread of this kind begins to wait."""
    begun = threading.Semaphore(0)
    wait = waiter.wait

    def noted_wait(self: Any, *arguments: Any) -> None:
        wait(self, *arguments)
        begun.release()

    monkeypatch.setattr(waiter, "wait", noted_wait)
    return begun
