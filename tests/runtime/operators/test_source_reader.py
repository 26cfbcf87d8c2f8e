"""The source operator and a reader of several splits: one client, paused splits, events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from tests.runtime.operators.source_epochs import read

from millrace.common import WatermarkStrategy
from millrace.common.errors import JobExecutionError
from millrace.common.source import (
    AssignedSplit,
    ReaderContext,
    Source,
    SourceEvent,
    SourceReader,
    SourceSplit,
    SplitEnumerator,
    SplitRecords,
    StaticEnumerator,
)
from millrace.common.types.batch import Batch, RowBatch
from millrace.runtime.epoch import Ack, EpochContext, ProgressReport, ReadPlan, SplitPlan
from millrace.runtime.operator import OperatorContext
from millrace.runtime.operators.source import SourceOperator
from millrace.state.store import SubtaskState

MONOTONOUS = WatermarkStrategy.for_monotonous_timestamps()


class Greeting(SourceEvent):
    """Has no content."""


class Log(Source[int]):
    """Partitions of records that are their own event times; one reader takes all its splits'."""

    def __init__(self, **partitions: list[int]) -> None:
        self.partitions = partitions
        self.readers: list[LogReader] = []

    def create_enumerator(self) -> SplitEnumerator:
        return StaticEnumerator([SourceSplit(name) for name in self.partitions])

    def create_reader(self, context: ReaderContext) -> LogReader:
        self.readers.append(LogReader(self.partitions, context))
        return self.readers[-1]


class LogReader(SourceReader[int]):
    """Gives two records of every partition at a time."""

    def __init__(self, partitions: dict[str, list[int]], context: ReaderContext) -> None:
        self.partitions, self.context = partitions, context
        self.offsets: dict[str, int] = {}
        self.paused: set[str] = set()
        self.heard: list[Any] = []
        self.closed = False

    def add_splits(self, splits: Sequence[AssignedSplit]) -> None:
        self.offsets.update((split.split_id, position or 0) for split, position, _ in splits)

    def poll(self, max_records: int) -> list[SplitRecords[int]]:
        found = []
        for name, at in self.offsets.items():
            values = [] if name in self.paused else self.partitions[name][at : at + 2]
            if values:
                self.offsets[name] += len(values)
                found.append(SplitRecords(name, RowBatch(values, list(values))))
        return found

    def snapshot_state(self) -> Mapping[str, int]:
        return dict(self.offsets)

    def pause_or_resume_splits(self, pause: Sequence[str], resume: Sequence[str]) -> None:
        self.paused = (self.paused | set(pause)) - set(resume)

    def handle_source_event(self, event: SourceEvent) -> None:
        self.heard.append(event)
        self.context.send_source_event(event)
        self.context.send_split_request()

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.heard.append((checkpoint_id, dict(self.offsets)))

    def notify_no_more_splits(self) -> None:
        self.heard.append("no more")

    def close(self) -> None:
        self.closed = True


class Rig:
    """A source operator, run epoch by epoch; what comes out is in `out`."""

    def __init__(self, source: Source[Any], strategy: WatermarkStrategy[Any] = MONOTONOUS) -> None:
        self.now = 0
        self.state = SubtaskState()
        self.out: list[Any] = []

        def clock() -> int:
            return self.now

        context = OperatorContext("uid", "log", 0, 1, 128, self.state, clock, source_clock=clock)
        self.operator = SourceOperator(source, strategy)
        self.operator.setup(context, self, {})
        self.operator.open()
        self.operator.restore()
        self.epoch = 0

    def emit(self, batch: Batch) -> None:
        self.out += batch.to_rows().values

    def emit_watermark(self, timestamp: int) -> None:
        self.out.append(f"W{timestamp}")

    def run(self, plans: Mapping[str, Any], share: int = 1000, **told: Any) -> Ack:
        self.out = []
        operator = self.operator
        operator.begin_epoch(EpochContext(self.epoch, self.now))
        operator.advance_processing_time(self.now)
        if (checkpoint := told.pop("checkpoint", None)) is not None:
            operator.notify_checkpoint_complete(checkpoint)
        no_more = told.pop("no_more", False)
        splits = [SplitPlan("uid", SourceSplit(name), at, share) for name, at in plans.items()]
        ended = read(operator, ReadPlan(splits, 100, no_more_splits=no_more, **told)).ended
        operator.end_epoch(ended)
        ack = Ack(0, 0, 0, progress=ProgressReport(ended=ended))
        operator.contribute(ack)
        version = f"v{self.epoch}"
        if self.state.snapshot(self.epoch, version):
            self.state.align(version, (), lambda delta: b"")
        self.epoch += 1
        return ack


def positions(ack: Ack) -> dict[str, Any]:
    return {split.split_id: split.position for split in ack.reading.splits}


def test_one_reader_takes_the_records_of_all_splits() -> None:
    source = Log(a=[1, 2, 3], b=[10, 20])
    rig = Rig(source)
    ack = rig.run({"a": None, "b": None})
    assert [value for value in rig.out if isinstance(value, int)] == [1, 2, 10, 20, 3]
    assert positions(ack) == {"a": 3, "b": 2}
    assert positions(rig.run({"a": 3, "b": 2})) == {"a": 3, "b": 2}
    assert len(source.readers) == 1


def test_the_watermark_is_that_of_the_slowest_split() -> None:
    rig = Rig(Log(a=[1, 2, 3], b=[10, 20]))
    rig.run({"a": None, "b": None})
    assert rig.out[-1] == "W2"


def test_a_new_split_joins_the_open_reader() -> None:
    source = Log(a=[1, 2], b=[3])
    rig = Rig(source)
    rig.run({"a": None})
    assert positions(rig.run({"a": 2, "b": None})) == {"a": 2, "b": 1}
    assert len(source.readers) == 1


@pytest.mark.parametrize("plan", [{"a": 0, "b": 1}, {"b": 1}])
def test_positions_that_do_not_fit_or_a_lost_split_make_another_reader(
    plan: dict[str, int],
) -> None:
    source = Log(a=[1, 2], b=[3])
    rig = Rig(source)
    rig.run({"a": None, "b": None})
    rig.run(plan)
    first, second = source.readers
    assert first.closed
    assert not second.closed
    assert set(second.offsets) == set(plan)


def test_an_epoch_reads_the_share_of_all_splits_together() -> None:
    rig = Rig(Log(a=list(range(100)), b=[]))
    ack = rig.run({"a": None, "b": None}, share=5)
    assert positions(ack)["a"] == 10
    assert rig.operator.next_wakeup() == 0, "there is more"


def test_a_split_ahead_of_the_limit_waits_and_goes_on() -> None:
    source = Log(fast=[10, 20, 30, 40, 50, 60], slow=[1, 2])
    rig = Rig(source)
    ack = rig.run({"fast": None, "slow": None}, max_watermark=25)
    assert positions(ack) == {"fast": 4, "slow": 2}, "it stops with the batch that went too far"
    told = {split.split_id: (split.watermark, split.paused) for split in ack.reading.splits}
    assert told == {"fast": (39, True), "slow": (1, False)}
    assert positions(rig.run({"fast": 4, "slow": 2}, max_watermark=25))["fast"] == 4
    assert positions(rig.run({"fast": 4, "slow": 2}, max_watermark=39))["fast"] == 6


def test_a_subtask_whose_splits_all_wait_needs_no_epoch() -> None:
    rig = Rig(Log(a=[10, 20]), MONOTONOUS.with_idleness(5))
    rig.run({"a": None}, max_watermark=0)
    assert rig.operator.next_wakeup() is None


def test_a_split_that_waits_is_not_idle() -> None:
    rig = Rig(Log(a=[10, 20], b=[1]), MONOTONOUS.with_idleness(5))
    rig.run({"a": None, "b": None}, max_watermark=0)
    rig.now = 100
    ack = rig.run({"a": 2, "b": 1}, max_watermark=0)
    assert {split.split_id: split.watermark for split in ack.reading.splits} == {"a": 19, "b": None}


def test_events_go_both_ways_and_requests_one() -> None:
    source = Log(a=[1])
    rig = Rig(source)
    ack = rig.run({"a": None}, events=(Greeting(),))
    assert [type(event) for event in source.readers[0].heard] == [Greeting]
    assert [type(event) for event in ack.reading.source_events["uid"]] == [Greeting]
    assert ack.reading.split_requests == ["uid"]
    ack = rig.run({"a": 1})
    assert ack.reading.source_events == {}
    assert ack.reading.split_requests == []


def test_a_checkpoint_is_told_with_the_positions_in_it() -> None:
    source = Log(a=[1, 2, 3])
    rig = Rig(source)
    rig.run({"a": None})
    rig.run({"a": 3}, checkpoint=7)
    assert source.readers[0].heard == [(7, {"a": 3})]


def test_a_new_reader_hears_of_the_checkpoint_once_it_has_its_splits() -> None:
    source = Log(a=[1, 2, 3])
    rig = Rig(source)
    rig.run({"a": 3}, checkpoint=7)
    assert source.readers[0].heard == [(7, {"a": 3})]


def test_no_more_splits_is_told_once() -> None:
    source = Log(a=[1])
    rig = Rig(source)
    rig.run({"a": None}, no_more=True)
    rig.run({"a": 1}, no_more=True)
    assert source.readers[0].heard == ["no more"]


def test_records_of_a_split_it_does_not_have_are_refused() -> None:
    class Confused(LogReader):
        def poll(self, max_records: int) -> list[SplitRecords[int]]:
            return [SplitRecords("c", RowBatch([1]))]

    source = Log(a=[1])
    source.create_reader = lambda context: Confused({}, context)
    with pytest.raises(JobExecutionError, match="source 'log' gave records of split 'c'.*has: a"):
        Rig(source).run({"a": None})


def test_a_source_that_cannot_pause_says_so() -> None:
    class Unstoppable(LogReader):
        pause_or_resume_splits = SourceReader.pause_or_resume_splits

    source = Log(a=[1, 2])
    source.create_reader = lambda context: Unstoppable(source.partitions, context)
    with pytest.raises(JobExecutionError, match="Unstoppable cannot pause splits"):
        Rig(source).run({"a": None}, max_watermark=0)
