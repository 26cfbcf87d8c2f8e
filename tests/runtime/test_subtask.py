"""A subtask that is driven step by step, in the order in which things happen to it."""

from __future__ import annotations

from typing import Any

from tests.runtime.counting_stage import MIN, load, produced, program, results

from millrace.runtime.buffer import Buffer, BufferKind
from millrace.runtime.epoch import Ack, EpochContext, FreshStart, LiveStart, SubtaskPlan
from millrace.runtime.subtask import Subtask
from millrace.state.serialization.payload import encode_records

LEFT, RIGHT = (0, 0), (0, 1)
"""The channels: edge and producer."""


class Driver:
    """Drives the keyed stage's subtask 0."""

    def __init__(self) -> None:
        self.program = program()
        self.subtask = Subtask(self.program, self.program.stages[1], 0)
        self.subtask.align(SubtaskPlan(FreshStart()), load)
        self.epoch = 0

    def begin(self, now: int = 0) -> None:
        version = f"v{self.epoch}"
        self.subtask.begin_epoch(EpochContext(self.epoch, now, version, version))

    def send(self, channel: tuple[int, int], *values: Any, watermark: int = MIN) -> None:
        payload = encode_records(list(values), None)
        kind = BufferKind.RECORDS
        size = len(values)
        self.subtask.on_buffer(channel, Buffer(0, *channel, 0, 0, kind, watermark, size, payload))

    def barrier(self) -> Ack:
        self.subtask.on_barrier(self.epoch)
        self.epoch += 1
        return self.subtask.snapshot()

    def accepted(self) -> Ack:
        ack = self.barrier()
        self.subtask.commit(self.epoch - 1)
        return ack


def test_buffers_of_both_channels_in_any_order() -> None:
    driver = Driver()
    driver.begin()
    driver.send(LEFT, "a")
    driver.send(RIGHT, "b")
    driver.send(LEFT, "a")
    assert [(value, count) for value, count, *_ in results(driver.barrier())] == [
        ("a", 1),
        ("b", 1),
        ("a", 2),
    ]


def test_a_watermark_comes_behind_the_records_that_were_gathered_before_it() -> None:
    driver = Driver()
    driver.begin()
    driver.send(LEFT, "a", watermark=10)
    driver.send(RIGHT, "b", watermark=20)
    driver.send(LEFT, "c", watermark=30)
    ack = driver.barrier()
    marks = [(value, mark) for value, _, _, mark in results(ack)]
    assert marks == [("a", MIN), ("b", MIN), ("c", 10)]
    assert ack.progress.watermark == 20


def test_an_idle_channel_lets_time_go_on_until_it_is_active() -> None:
    driver = Driver()
    driver.begin()
    driver.subtask.on_watermark(RIGHT, MIN, idle=True)
    driver.send(LEFT, "a", watermark=10)
    driver.subtask.on_active(RIGHT)
    driver.send(LEFT, "b", watermark=20)
    driver.send(LEFT, "c")
    ack = driver.barrier()
    assert [mark for *_, mark in results(ack)] == [MIN, 10, 10]
    assert ack.progress.watermark == 10


def test_timers_fire_within_an_epoch() -> None:
    driver = Driver()
    driver.begin(now=100)
    driver.send(LEFT, "a")
    driver.subtask.on_timer(109)
    driver.send(LEFT, "b")
    driver.subtask.on_timer(110)
    ack = driver.barrier()
    assert [value[:3] for value in results(ack)] == [
        ("a", 1, 1),
        ("b", 1, 2),
        ("timer", "a", 110),
    ]
    assert ack.progress.next_wakeup == 119, "b came at 109"


def test_an_epoch_that_was_committed_is_not_taken_back() -> None:
    driver = Driver()
    driver.begin()
    driver.send(LEFT, "a")
    driver.accepted()
    driver.begin()
    driver.send(LEFT, "a")
    assert results(driver.barrier())[0][:2] == ("a", 2)
    driver.subtask.roll_back()
    driver.begin()
    driver.send(LEFT, "a")
    assert results(driver.barrier())[0][:3] == ("a", 2, 1), "with a new function"


def test_the_state_after_a_commit_is_what_a_plan_goes_on_from() -> None:
    driver = Driver()
    driver.begin()
    driver.send(LEFT, "a")
    version = driver.accepted().state.version
    assert driver.subtask.align(SubtaskPlan(LiveStart(version)), load) == "current"
    driver.begin()
    driver.send(LEFT, "b")
    driver.barrier()
    assert driver.subtask.align(SubtaskPlan(LiveStart(version)), load) == "current"
    driver.begin()
    driver.send(LEFT, "b")
    assert results(driver.barrier())[0][:2] == ("b", 1), "what was not committed is taken back"


def test_flush_sends_what_waits_and_the_barrier_only_what_came_later() -> None:
    sent = program()
    source = Subtask(sent, sent.stages[0], 0)
    source.align(SubtaskPlan(FreshStart()), load)
    source.begin_epoch(EpochContext(0, 0))
    [exchange] = source.chain.exchanges.values()
    exchange.spread(["a", "b"], None)
    assert list(source.fetched()) == []
    source.flush()
    first = list(source.fetched())
    assert [buffer.kind for buffer in first] == [BufferKind.RECORDS] * len(first)
    assert sum(buffer.size for buffer in first) == 2
    exchange.spread(["c"], None)
    source.on_barrier(0)
    later = list(source.fetched())
    assert sum(buffer.size for buffer in later if buffer.kind == BufferKind.RECORDS) == 1
    assert [buffer.kind for buffer in later][-1] == BufferKind.END
    assert {buffer.sequence for buffer in first}.isdisjoint(
        buffer.sequence for buffer in later if buffer.target in {one.target for one in first}
    )


def test_end_buffers_are_those_that_the_epoch_executor_takes() -> None:
    """The helper that makes input for the epoch executor and this one agree."""
    driver = Driver()
    driver.begin()
    for buffer in produced(0, ["a"], 5):
        channel = buffer.edge, buffer.channel
        if buffer.kind == BufferKind.END:
            driver.subtask.on_watermark(channel, buffer.watermark, idle=False)
        else:
            driver.subtask.on_buffer(channel, buffer)
    assert len(results(driver.barrier())) == 1
