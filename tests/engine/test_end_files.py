"""The driver's wish that an epoch reads no more, and workers that see no files of its machine."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from millrace.common import Configuration, RuntimeExecutionMode
from millrace.common.config import options
from millrace.datastream import StreamExecutionEnvironment
from millrace.engine.end_files import EndFiles, EndWish
from millrace.engine.executor import EpochHooks
from millrace.filesystem.registry import exists
from millrace.runtime import reading_end
from millrace.runtime.epoch import Ack, EpochPlan
from millrace.runtime.reading_end import REQUEST, ReadingEnd
from millrace.testing import run_local
from millrace.testing.local_executor import LocalExecutor


def eventually(holds: Callable[[], bool]) -> None:
    """Wait for another thread."""
    for _ in range(3_000):
        if holds():
            return
        time.sleep(0.01)
    raise AssertionError("it has not happened")


def test_a_local_directory_needs_no_object(tmp_path: Path) -> None:
    path, shared = EndFiles().paths(str(tmp_path), 3, 0)
    assert path.startswith(str(tmp_path))
    assert shared is None


def test_workers_elsewhere_hear_of_it_through_the_store(s3_root: str) -> None:
    """They ask when an epoch has taken a while, and at a bounded rate."""
    path, shared = EndFiles().paths(f"{s3_root}/job", 3, 0)
    assert shared is not None
    times = iter(range(1, 10**6))
    end = ReadingEnd(f"{path}-of-another-machine", shared, lambda: float(next(times)))
    wish = EndWish(path, shared)
    assert not end.is_wanted()
    wish.make()
    wish.make()
    eventually(lambda: exists(shared))
    assert os.path.exists(path)
    eventually(end.is_wanted)
    wish.forget()
    eventually(lambda: not exists(shared))
    assert not os.path.exists(path)
    wish.make()  # the attempt is over
    assert not os.path.exists(path)


def test_requests_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []
    now = [0.0]

    class AtOnce:
        def __init__(self, target: object, args: object, daemon: bool) -> None: ...

        def start(self) -> None:
            asked.append(now[0])

        def is_alive(self) -> bool:
            return False

    monkeypatch.setattr(reading_end, "Thread", AtOnce)
    end = ReadingEnd("/nowhere/3-0.end", "s3://bucket/3-0.end", lambda: now[0])
    while now[0] < 10:
        assert not end.is_wanted()
        now[0] += 0.01
    assert len(asked) == 4
    assert asked[0] >= REQUEST
    assert all(b - a >= REQUEST for a, b in pairwise(asked))


def test_a_store_that_does_not_answer_ends_nothing() -> None:
    now = iter(range(10**6))
    end = ReadingEnd("/nowhere/3-0.end", "no-such-scheme://3-0.end", lambda: float(next(now)))
    for _ in range(20):
        assert not end.is_wanted()
    eventually(lambda: end._request is not None and not end._request.is_alive())
    assert not end.is_wanted()


class AskedWhileItReads(LocalExecutor):
    """Makes the wish before each of the first epochs."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[int] = []

    def run_epoch(self, plan: EpochPlan, hooks: EpochHooks | None = None) -> list[Ack]:
        wish = EndWish(plan.end_file)
        if len(self.read) < 3:
            wish.make()
        acks = super().run_epoch(plan)
        wish.forget()
        self.read.append(sum(split.records for ack in acks for split in ack.reading.splits))
        return acks


def test_a_batch_that_is_divided_has_the_same_result() -> None:
    executor = AskedWhileItReads()
    with run_local(executor=lambda: executor):
        configuration = Configuration()
        configuration.set_string(options.RUNTIME_MODE.key, "BATCH")
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
        numbers = env.from_collection(list(range(100)))
        sums = numbers.key_by(lambda n: n % 2).reduce(lambda a, b: a + b)
        assert sorted(sums.execute_and_collect()) == [2450, 2500]
    assert executor.read[:3] == [0, 0, 0]
    assert sum(executor.read) == 100
