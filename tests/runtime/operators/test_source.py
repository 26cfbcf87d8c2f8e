from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.operators.source_epochs import read

from millrace.common import Duration, WatermarkStrategy
from millrace.common.source import (
    ReaderContext,
    Source,
    SourceEvent,
    SourceSplit,
    SplitEnumerator,
    SplitReader,
    SplitSource,
    StaticEnumerator,
)
from millrace.common.time.watermark_strategy import WatermarkGenerator
from millrace.common.types.batch import Batch, RowBatch
from millrace.runtime import reading_end
from millrace.runtime.call_costs import LONGEST_PIECE
from millrace.runtime.epoch import Ack, EpochContext, ProgressReport, ReadPlan, SplitPlan
from millrace.runtime.operator import OperatorContext
from millrace.runtime.operators.source import SourceOperator
from millrace.runtime.reading_end import BatchPace, ReadingEnd
from millrace.state.store import SubtaskState

MIN, MAX = -(2**63), 2**63 - 1


class Script(SplitSource[int]):
    """Each split gives its records, which are their event times, one list per read. One that ends
    with None goes on for ever without giving more."""

    def __init__(self, **splits: list[list[int] | None]) -> None:
        self.splits = splits
        self.wakeup: int | None = None
        self.open_readers = 0

    def create_enumerator(self) -> SplitEnumerator:
        return StaticEnumerator([SourceSplit(name) for name in self.splits])

    def create_split_reader(
        self, split: Any, position: Any, context: ReaderContext
    ) -> ScriptReader:
        self.open_readers += 1
        return ScriptReader(self, self.splits[split.split_id], position or 0)


class ScriptReader(SplitReader[int]):
    def __init__(self, source: Script, reads: list[list[int] | None], position: int) -> None:
        self.source, self.reads, self.next = source, reads, position

    def read(self, max_records: int) -> RowBatch[int]:
        values = self.reads[self.next]
        if values is None:
            return RowBatch([], [])
        self.next += 1
        return RowBatch(values, list(values))

    def position(self) -> int:
        return self.next

    def finished(self) -> bool:
        return self.next == len(self.reads)

    def next_wakeup(self, now: int) -> int | None:
        return self.source.wakeup

    def close(self) -> None:
        self.source.open_readers -= 1


class Rig:
    """A source operator and what comes out of it, in order: records, and watermarks as W<time>."""

    def __init__(self, source: Source[Any], strategy: WatermarkStrategy[Any], **settings: Any):
        self.source, self.strategy, self.settings = source, strategy, settings
        self.now = 0
        self.state = SubtaskState()
        self.out: list[Any] = []
        self.epoch = 0
        self.open()

    def open(self) -> None:
        def clock() -> int:
            return self.now

        context = OperatorContext(
            "uid", "Source", 0, 1, 128, self.state, clock, source_clock=clock, **self.settings
        )
        self.operator = SourceOperator(self.source, self.strategy)
        self.operator.setup(context, self, {})
        self.operator.open()
        self.operator.restore()

    def emit(self, batch: Batch) -> None:
        self.out += batch.to_rows().values

    def emit_watermark(self, timestamp: int) -> None:
        self.out.append(f"W{timestamp}" if timestamp < MAX else "END")

    def run(
        self,
        plans: dict[str, Any],
        limit: int = 1000,
        no_more: bool = True,
        max_watermark: int | None = None,
    ) -> Ack:
        """One epoch over splits at positions; returns its answer."""
        operator = self.operator
        operator.begin_epoch(EpochContext(self.epoch, self.now))
        operator.advance_processing_time(self.now)
        splits = [SplitPlan("uid", SourceSplit(name), at, limit) for name, at in plans.items()]
        ended = read(operator, ReadPlan(splits, 100, (), max_watermark, no_more)).ended
        operator.end_epoch(ended)
        ack = Ack(0, 0, 0, progress=ProgressReport(ended=ended))
        operator.contribute(ack)
        version = f"v{self.epoch}"
        if self.state.snapshot(self.epoch, version):
            self.state.align(version, (), lambda delta: b"")
        self.epoch += 1
        return ack


MONOTONOUS = WatermarkStrategy.for_monotonous_timestamps()


def positions(ack: Ack) -> dict[str, tuple[Any, bool]]:
    return {split.split_id: (split.position, split.finished) for split in ack.reading.splits}


def test_reads_a_split_to_its_end() -> None:
    rig = Rig(Script(a=[[1, 2], [3]]), MONOTONOUS)
    ack = rig.run({"a": None})
    assert rig.out == [1, 2, "W1", 3, "W2", "END"]
    assert positions(ack) == {"a": (None, True)}
    assert ack.progress.ended
    assert rig.source.open_readers == 0


def test_an_epoch_reads_its_share_and_the_next_goes_on() -> None:
    source = Script(a=[[1], [2], [3]])
    rig = Rig(source, MONOTONOUS)
    assert positions(rig.run({"a": None}, limit=2)) == {"a": (2, False)}
    assert rig.operator.next_wakeup() == 0, "there is more to read at once"
    assert source.open_readers == 1
    assert positions(rig.run({"a": 2})) == {"a": (None, True)}
    assert rig.out == [1, "W0", 2, "W1", 3, "W2", "END"]


@pytest.mark.parametrize(
    ("change", "is_new"),
    [
        ({}, False),
        ({"splits": ("a", "b")}, True),
        ({"limit": 7}, True),
        ({"events": (SourceEvent(),)}, True),
        ({"max_watermark": 5}, True),
        ({"no_more_splits": True}, True),
        ({"checkpoint": 3}, True),
    ],
    ids=lambda value: "-".join(value) or "nothing" if isinstance(value, dict) else "",
)
def test_a_plan_that_comes_later_tells_something_new_or_not(
    change: dict[str, Any], is_new: bool
) -> None:
    rig = Rig(Script(a=[[1]], b=[[2]]), MONOTONOUS)

    def plan(
        splits: tuple[str, ...] = ("a",),
        limit: int = 1000,
        events: tuple[SourceEvent, ...] = (),
        max_watermark: int | None = None,
        no_more_splits: bool = False,
    ) -> ReadPlan:
        plans = [SplitPlan("uid", SourceSplit(name), None, limit) for name in splits]
        return ReadPlan(plans, 100, events, max_watermark, no_more_splits)

    rig.operator.begin_reading(plan())
    checkpoint = change.pop("checkpoint", None)
    if checkpoint is not None:
        rig.operator.notify_checkpoint_complete(checkpoint)
    assert rig.operator.revise_reading(plan(**change)) is is_new
    assert not rig.operator.revise_reading(plan(**{**change, "events": ()})) or (
        "no_more_splits" in change
    )


def test_another_position_than_the_readers_opens_a_new_one() -> None:
    rig = Rig(Script(a=[[1], [2], [3]]), WatermarkStrategy.no_watermarks())
    rig.run({"a": None}, limit=2)
    rig.run({"a": 1})
    assert rig.out == [1, 2, 2, 3, "END"]
    assert rig.source.open_readers == 0


def test_the_watermark_is_the_minimum_over_splits() -> None:
    rig = Rig(Script(a=[[10], None], b=[[3], None]), MONOTONOUS)
    rig.run({"a": None, "b": None})
    assert rig.out == [10, 3, "W2"]


def test_a_finished_split_is_left_out() -> None:
    rig = Rig(Script(a=[[10], [30], []], b=[[3]]), MONOTONOUS)
    rig.run({"a": None, "b": None}, no_more=False)
    assert rig.out == [10, 3, "W2", 30, "W29"]


def test_splits_that_finish_together_reach_the_newest_of_them() -> None:
    """It depended on which split was seen to be finished first: the time of a watched directory
    stood still until the next file."""
    rig = Rig(Script(a=[[50]], b=[[30], [], []]), MONOTONOUS)
    rig.run({"a": None, "b": None}, no_more=False)
    assert rig.out == [50, 30, "W29"]
    rig.run({"b": 2}, no_more=False)
    assert rig.out == [50, 30, "W29", "W49"]


def test_an_idle_split_is_left_out_and_comes_back() -> None:
    source = Script(a=[[10], [], [30], [], [50], None], b=[[], [], [], [40], None])
    rig = Rig(source, MONOTONOUS.with_idleness(50))
    rig.run({"a": None, "b": None})
    assert rig.out == [10], "b gave nothing yet, and may give something old"
    rig.now = 50
    rig.run({"a": 2, "b": 1})
    assert rig.out == [10, 30, "W29"]
    assert not rig.operator.idle
    rig.run({"a": 4, "b": 3})
    assert rig.out == [10, 30, "W29", 50, 40, "W39"]


def test_idle_when_all_splits_are() -> None:
    rig = Rig(Script(a=[[10], None]), MONOTONOUS.with_idleness(50))
    rig.run({"a": None})
    assert not rig.operator.output_idle(True)
    rig.now = 50
    rig.run({"a": 1})
    assert rig.operator.output_idle(False)


def test_a_subtask_that_wakes_is_active_while_it_still_reads() -> None:
    rig = Rig(Script(a=[[10], None], b=[[20], [30], None]), MONOTONOUS.with_idleness(50))
    rig.run({"a": None})
    rig.now = 50
    rig.run({"a": 1})
    assert rig.operator.idle
    split = SplitPlan("uid", SourceSplit("b"), None, 1000)
    plan = ReadPlan([SplitPlan("uid", SourceSplit("a"), 1, 1000), split], 100, (), None, False)
    rig.operator.begin_reading(plan)
    assert not rig.operator.idle, "it has a split that it has not looked at"
    rig.operator.idle = True
    next(iter(rig.operator.read_available(plan)))
    assert not rig.operator.idle, "it has records"


def test_a_subtask_without_splits_is_idle_until_it_gets_one() -> None:
    rig = Rig(Script(a=[[1]]), MONOTONOUS)
    rig.run({}, no_more=False)
    assert rig.operator.idle
    rig.run({"a": None}, no_more=False)
    assert not rig.operator.idle, "it waits for its next split"


def test_without_splits_and_none_to_come_it_ends() -> None:
    rig = Rig(Script(), MONOTONOUS)
    assert rig.run({}).progress.ended
    assert rig.out == ["END"]


def test_a_record_times_watermark_does_not_overtake_it() -> None:
    """Punctuated generators: each watermark stands right behind its own record."""

    class Punctuated(WatermarkGenerator[int]):
        def on_event(self, event: int, timestamp: int, output: Any) -> None:
            output.emit_watermark(timestamp)

        def on_periodic_emit(self, output: Any) -> None:
            pass

    rig = Rig(Script(a=[[1, 2, 3]]), WatermarkStrategy.for_generator(Punctuated))
    rig.run({"a": None})
    assert rig.out == [1, "W1", 2, "W2", 3, "W3", "END"]


def test_watermarks_survive_a_restart_and_never_go_back() -> None:
    source = Script(a=[[10]], b=[[3], [20], None])
    rig = Rig(source, MONOTONOUS)
    rig.run({"a": None}, no_more=False)
    rig.open()
    rig.run({"b": None}, limit=1, no_more=False)
    rig.run({"b": 1}, no_more=False)
    assert rig.out == [10, "W9", 3, 20, "W19"]


@pytest.mark.parametrize(("wakeup", "expected"), [(None, 1100), (1500, 1500)])
def test_a_drained_split_is_polled_or_wakes_itself(wakeup, expected) -> None:
    source = Script(a=[[1], None])
    source.wakeup = wakeup
    rig = Rig(source, MONOTONOUS)
    rig.now = 1000
    rig.run({"a": None})
    assert rig.operator.next_wakeup() == expected
    assert rig.operator.is_polled is (wakeup is None)


def test_batch_mode_has_no_watermark_before_the_end() -> None:
    rig = Rig(Script(a=[[5], [1]]), MONOTONOUS, batch_mode=True)
    rig.run({"a": None})
    assert rig.out == [5, 1, "END"]


def test_the_time_in_which_alignment_pauses_a_split_is_no_idle_time() -> None:
    """Flink's watermark generators stop their clock meanwhile, too."""
    rig = Rig(Script(ahead=[[50], None]), MONOTONOUS.with_idleness(Duration.of_millis(100)))
    [split] = rig.run({"ahead": 0}, limit=1, max_watermark=10).reading.splits
    assert (split.watermark, split.paused) == (49, True)
    for rig.now in (60, 300, 1000):
        assert rig.run({"ahead": 1}, max_watermark=10).reading.splits[0].paused
    rig.now = 1010
    [split] = rig.run({"ahead": 1}, max_watermark=60).reading.splits
    assert (split.watermark, split.paused) == (49, False), "it may still have something to say"
    rig.now = 1099
    assert rig.run({"ahead": 1}, max_watermark=60).reading.splits[0].watermark == 49
    rig.now = 1110
    assert rig.run({"ahead": 1}, max_watermark=60).reading.splits[0].watermark is None


def test_reading_ends_when_somebody_waits_and_goes_on_there(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(reading_end, "LOOK", 0)
    end = tmp_path / "0-0.end"
    rig = Rig(Script(a=[[1], [2], [3]]), MONOTONOUS)
    rig.operator.begin_epoch(EpochContext(0, 0))
    rig.operator.advance_processing_time(0)
    splits = [SplitPlan("uid", SourceSplit("a"), None, 1000)]
    plan = ReadPlan(splits, 100, no_more_splits=True, is_end_wanted=ReadingEnd(str(end)).is_wanted)
    rig.operator.begin_reading(plan)
    for _ in rig.operator.read_available(plan):
        if 2 in rig.out:
            end.touch()
    rig.operator.finish_reading(plan)
    rig.operator.end_epoch(False)
    ack = Ack(0, 0, 0)
    rig.operator.contribute(ack)
    assert positions(ack) == {"a": (2, False)}
    assert rig.operator.next_wakeup() is not None, "what is left is read in the next epoch"


@given(
    st.floats(1e-3, 1.0),
    st.floats(1e-7, 1e-3),
    st.lists(st.floats(0.8, 1.3), min_size=60, max_size=60),
)
def test_an_expensive_call_makes_no_batch_small(
    call: float, record: float, noise: list[float]
) -> None:
    """Batches of one record took jobs to a hundredth of their rate."""
    pace, done, took = BatchPace(), 0, 0.0
    for number, factor in enumerate(noise):
        size = pace.limit(4096)
        seconds = (call + size * record) * factor
        pace.observe(size, seconds)
        if number >= 5:
            assert seconds <= 6 * max(LONGEST_PIECE, 2 * call + 16 * record)
        if number >= len(noise) // 2:
            done, took = done + size, took + seconds
    largest = min(4096, max(1, (max(LONGEST_PIECE, 2 * call) - call) / record))
    assert done / took >= 0.2 * largest / (call + largest * record)


def test_batches_become_small_where_records_are_dear() -> None:
    asked: list[int] = []
    pace = BatchPace()
    for _ in range(4):
        asked.append(pace.limit(1000))
        pace.observe(asked[-1], asked[-1] * 0.01)
    assert asked == [1000, 10, 20, 10], "a batch of 10 takes a tenth of a second"
    for _ in range(12):
        pace.observe(pace.limit(1000), 1e-6)
    assert pace.limit(1000) == 1000
    pace.observe(0, 5.0)
    assert pace.limit(1000) == 1000, "the end of a split may take its time, and has no records"
