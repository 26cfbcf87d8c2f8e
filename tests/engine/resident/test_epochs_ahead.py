"""Subtasks begin the next epoch while the driver still plans it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from millrace.common import Configuration, WatermarkStrategy
from millrace.common.source import (
    AssignedSplit,
    Boundedness,
    ReaderContext,
    Source,
    SourceReader,
    SourceSplit,
    SplitEnumerator,
    SplitRecords,
)
from millrace.common.types.batch import RowBatch
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.job_launcher import JobLauncher
from millrace.engine.executor import ExecutorError
from millrace.engine.job_manager import JobManager
from millrace.engine.resident.resident_executor import ResidentExecutor
from millrace.engine.resident.tasks import ResidentSettings
from millrace.runtime.epoch import Ack, EpochPlan
from millrace.testing.resident_tasks import local_resident_executor

LONGEST_WAIT = 30.0
LOSSES = 4


class Numbers(Source[int]):
    """Splits of 300 numbers each, of which an enumerator finds one when a test has released it."""

    PER_SPLIT = 300
    released = 1
    splits = 4
    read = 0
    """Numbers that all readers have read."""
    is_dry = False
    """Whether a reader with a split had nothing to read since a test set this to False."""

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def create_enumerator(self) -> Released:
        return Released()

    def create_reader(self, context: ReaderContext) -> NumbersReader:
        return NumbersReader()


class Released(SplitEnumerator):
    def __init__(self) -> None:
        self._found = 0

    def discover(self, now: int) -> list[SourceSplit]:
        new = [SourceSplit(str(n)) for n in range(self._found, Numbers.released)]
        self._found = Numbers.released
        return new

    def next_discovery(self, now: int) -> int | None:
        return now + 5

    def no_more_splits(self) -> bool:
        return self._found == Numbers.splits

    def snapshot_state(self) -> Any:
        return self._found

    def restore_state(self, state: Any) -> None:
        self._found = state


class NumbersReader(SourceReader[int]):
    """Holds the last number of a split back until all splits are released."""

    def __init__(self) -> None:
        self._at: dict[str, int] = {}

    def add_splits(self, splits: Sequence[AssignedSplit]) -> None:
        self._at |= {split.split.split_id: split.position or 0 for split in splits}

    def poll(self, max_records: int) -> Sequence[SplitRecords[int]]:
        is_last = Numbers.released == Numbers.splits
        for split, at in self._at.items():
            if at < Numbers.PER_SPLIT - (not is_last):
                self._at[split] = at + 1
                Numbers.read += 1
                number = int(split) * Numbers.PER_SPLIT + at
                ended = at + 1 == Numbers.PER_SPLIT
                if ended:
                    del self._at[split]
                return [SplitRecords(split, RowBatch([number]), finished=ended)]
        Numbers.is_dry = True
        return []

    def snapshot_state(self) -> Mapping[str, Any]:
        return dict(self._at)


@pytest.fixture(autouse=True)
def resident(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(Numbers, "released", 1)
    monkeypatch.setattr(Numbers, "read", 0)
    before = JobLauncher.current()
    often = ResidentSettings(barrier_interval=5)
    JobLauncher.install(JobLauncher(executor=lambda *_: local_resident_executor(2, often)))
    yield
    JobLauncher.install(before)


def results() -> Counter[Any]:
    config = Configuration({"execution.checkpointing.interval": "1 ms"})
    env = StreamExecutionEnvironment.get_execution_environment(config).set_parallelism(2)
    numbers = env.from_source(Numbers(), WatermarkStrategy.no_watermarks(), "numbers")
    sums = numbers.map(lambda n: (n % 7, n)).key_by(lambda pair: pair[0])
    return Counter(sums.reduce(lambda a, b: (a[0], a[1] + b[1])).map(last).execute_and_collect())


def last(pair: tuple[int, int]) -> tuple[int, int]:
    return pair


def is_right(got: Counter[Any]) -> bool:
    """Whether each key has as many sums as numbers, and ends at its whole sum. The order of numbers
    of several splits is open."""
    numbers = range(Numbers.splits * Numbers.PER_SPLIT)
    expected = {key: [n for n in numbers if n % 7 == key] for key in range(7)}
    sums: dict[int, list[int]] = {key: [] for key in range(7)}
    for key, total in got.elements():
        sums[key].append(total)
    return all(
        len(sums[key]) == len(own) and max(sums[key]) == sum(own) for key, own in expected.items()
    )


def test_sources_read_on_and_get_the_splits_of_a_plan_that_comes_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A split is found while its readers are ahead of the plan."""
    plan, ahead = JobManager._next_plan, []

    def slow(manager: JobManager) -> EpochPlan:
        if manager._runs_ahead and Numbers.released < Numbers.splits:
            before, until = Numbers.read, time.monotonic() + LONGEST_WAIT
            Numbers.released, Numbers.is_dry = Numbers.released + 1, False
            while Numbers.read == before and not Numbers.is_dry and time.monotonic() < until:
                time.sleep(0.001)
            ahead.append(Numbers.read > before)
        return plan(manager)

    monkeypatch.setattr(JobManager, "_next_plan", slow)
    assert is_right(results())
    assert any(ahead)


@pytest.mark.parametrize("refuses", ["the epoch", "the one ahead"])
def test_what_was_done_ahead_is_undone_with_a_lost_epoch(
    refuses: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The epoch that was done when others were ahead of its acceptance, or the one ahead of its
    plan, is lost with the connections."""
    run, lost = ResidentExecutor.run_epoch, []

    def losing(self: ResidentExecutor, plan: EpochPlan, hooks: Any = None) -> list[Ack]:
        Numbers.released = Numbers.splits if len(lost) == LOSSES else 2
        if refuses == "the one ahead" and self._ahead is not None and len(lost) < LOSSES:
            lost.append(plan.epoch)
            raise ExecutorError("lost by the test")
        acks = run(self, plan, hooks)
        if refuses == "the epoch" and self._ahead is not None and len(lost) < LOSSES:
            lost.append(plan.epoch)
            raise ExecutorError("lost by the test")
        return acks

    monkeypatch.setattr(ResidentExecutor, "run_epoch", losing)
    assert is_right(results())
    assert len(lost) == LOSSES
