"""One subtask over several epochs: versions, aborts, idle channels, incomplete input."""

from __future__ import annotations

from typing import Any

import pytest
from tests.runtime.counting_stage import MAX, MIN, load, produced, program, results

from millrace.runtime.buffer import Buffer
from millrace.runtime.epoch import (
    Ack,
    EpochPlan,
    FailureKind,
    FreshStart,
    LiveStart,
    RestoredStart,
    SubtaskPlan,
    SubtaskStart,
)
from millrace.runtime.epoch_subtask import EpochSubtask
from millrace.runtime.subtask import Subtask
from millrace.runtime.subtask_input import IncompleteInputError
from millrace.state.serialization.payload import decode
from millrace.state.state_delta import StateDelta


class Rig:
    """The keyed stage's subtask 0, with two producers."""

    def __init__(self, worker_of: Rig | None = None) -> None:
        self.program = worker_of.program if worker_of else program()
        self.stage = self.program.stages[1]
        self.subtask = EpochSubtask(Subtask(self.program, self.stage, 0), "worker")
        self.versions = worker_of.versions if worker_of else [""]
        self.deltas: list[StateDelta] = worker_of.deltas if worker_of else []
        self.attempt = 0

    def run(
        self,
        *channels: Any,
        epoch: int,
        now: int = 0,
        accept: bool = True,
        restore: bool = False,
    ) -> Ack:
        """One epoch; per channel (records, watermark after them, status)."""
        self.attempt += 1
        version = self.versions[-1]
        start: SubtaskStart = LiveStart(version, tuple(self.deltas[-3:]))
        if restore:
            start = RestoredStart(version, tuple(self.deltas))
        plan = SubtaskPlan(start if self.deltas else FreshStart())
        whole = EpochPlan(epoch, 0, now, None, False, {(self.stage.id, 0): plan})
        buffers = [buffer for n, channel in enumerate(channels) for buffer in produced(n, *channel)]
        *_, last = self.subtask.run(whole, self.attempt, buffers, load)
        ack = decode(last.payload)
        if accept and ack.state.delta is not None:
            self.versions.append(ack.state.version)
            self.deltas.append(ack.state.delta)
        return ack


def test_state_goes_from_epoch_to_epoch() -> None:
    rig = Rig()
    ack = rig.run([["a"]], [], epoch=0)
    assert results(ack) == [("a", 1, 1, MIN)]
    assert (ack.state.origin, ack.traffic.records_in, ack.worker) == ("new", 1, "worker")
    assert ack.consumed == {0: (5, 5)}
    ack = rig.run([["a"]], [], epoch=1)
    assert results(ack) == [("a", 2, 2, MIN)]
    assert ack.state.origin == "current"


def test_an_epoch_without_changes_keeps_the_version() -> None:
    rig = Rig()
    first = rig.run([["a"]], [], epoch=0)
    second = rig.run([], [], epoch=1)
    assert second.state.delta is None
    assert second.state.version == first.state.version


def test_an_epoch_that_did_not_count_is_taken_back_with_the_function() -> None:
    rig = Rig()
    rig.run([["a"]], [], epoch=0)
    rig.run([["a"]], [], epoch=1, accept=False)
    assert results(rig.run([["a"]], [], epoch=1)) == [("a", 2, 1, MIN)]


def test_a_worker_that_missed_epochs_catches_up() -> None:
    rig = Rig()
    rig.run([["a"]], [], epoch=0)
    other = Rig(rig)
    ack = other.run([["a"]], [], epoch=1)
    assert ack.failure is not None
    assert ack.failure.kind is FailureKind.STATE_MISS
    assert results(other.run([["a"]], [], epoch=1, restore=True)) == [("a", 2, 1, MIN)]
    ack = rig.run([["a"]], [], epoch=2)
    assert ack.state.origin == "replayed"
    # the function is a new one: what its own fields held is of an older version
    assert results(ack) == [("a", 3, 1, MIN)]


def test_a_worker_whose_epoch_was_done_elsewhere_starts_with_a_new_function() -> None:
    rig = Rig()
    rig.run([["a"]], [], epoch=0)
    other = Rig(rig)
    rig.run([["a"], 50], [[], 50], epoch=1, accept=False)
    other.run([["b"], 30], [[], 30], epoch=1, restore=True)
    assert results(rig.run([["a"]], [], epoch=2)) == [("a", 2, 1, 30)]


def test_a_failure_names_operator_and_record_and_leaves_nothing() -> None:
    rig = Rig()
    rig.run([["a"]], [], epoch=0)
    ack = rig.run([["a", "bad"]], [], epoch=1)
    assert ack.failure is not None
    assert ack.failure.kind is FailureKind.USER
    assert (ack.failure.operator, ack.failure.record) == ("Keyed Process", "'bad'")
    assert results(rig.run([["a"]], [], epoch=1)) == [("a", 2, 1, MIN)]


def drop_first(buffers: list[Buffer]) -> list[Buffer]:
    return buffers[1:]


def drop_end(buffers: list[Buffer]) -> list[Buffer]:
    return buffers[:-1]


def drop_channel(buffers: list[Buffer]) -> list[Buffer]:
    return [buffer for buffer in buffers if buffer.channel == 0]


def twice(buffers: list[Buffer]) -> list[Buffer]:
    return [*buffers, buffers[0]]


def mixed_attempts(buffers: list[Buffer]) -> list[Buffer]:
    return [buffers[0]._replace(attempt=6), *buffers[1:]]


@pytest.mark.parametrize("spoil", [drop_first, drop_end, drop_channel, twice, mixed_attempts])
def test_incomplete_or_mixed_input_is_refused(spoil) -> None:
    rig = Rig()
    plan = EpochPlan(0, 0, 0, None, False, {(rig.stage.id, 0): SubtaskPlan()})
    buffers = [*produced(0, ["a", "b"]), *produced(1, ["c"])]
    *_, last = rig.subtask.run(plan, 1, spoil(buffers), load)
    ack = decode(last.payload)
    assert ack.failure.kind is FailureKind.INCOMPLETE
    assert results(rig.run([["a"]], [], epoch=0)) == [("a", 1, 1, MIN)]


def test_input_is_taken_in_order_however_it_arrives() -> None:
    rig = Rig()
    plan = EpochPlan(0, 0, 0, None, False, {(rig.stage.id, 0): SubtaskPlan()})
    buffers = [*produced(0, ["a", "b", "c"]), *produced(1, ["d", "e"])]
    *_, last = rig.subtask.run(plan, 1, reversed(buffers), load)
    assert [value for value, *_ in results(decode(last.payload))] == ["a", "b", "c", "d", "e"]


def test_the_watermark_is_the_minimum_over_channels_and_state() -> None:
    rig = Rig()
    assert rig.run([["a"], 10], [[], 5], epoch=0).progress.watermark == 5
    assert rig.run([[], 20], [["b"]], epoch=1).progress.watermark == 5
    other = Rig(rig)
    ack = other.run([["c"]], [[], 7], epoch=2, restore=True)
    assert ack.progress.watermark == 7
    assert results(ack)[0][3] == 5


def test_an_idle_channel_does_not_hold_the_watermark_back() -> None:
    rig = Rig()
    assert rig.run([["a"], 10], [[], MIN, True], epoch=0).progress.watermark == 10


def test_a_channel_that_became_active_counts_from_the_beginning_of_the_epoch() -> None:
    """Otherwise its records were late only because channel 0 is taken first."""
    rig = Rig()
    rig.run([["a"], 10], [[], MIN, True], epoch=0)
    ack = rig.run([["b"], 90], [["c"], 15, False], epoch=1)
    assert [(value, mark) for value, *_, mark in results(ack)] == [("b", 10), ("c", 10)]
    assert ack.progress.watermark == 15


def test_the_end_comes_when_all_channels_have_ended() -> None:
    rig = Rig()
    assert not rig.run([["a"], MAX], [[], MIN, True], epoch=0).progress.ended
    ack = rig.run([], [["b"], MAX], epoch=1)
    assert ack.progress.ended
    assert ack.progress.watermark == MAX


def test_processing_timers_fire_into_operators_that_are_ready() -> None:
    """The collecting operator behind has begun its epoch before the timers fire."""
    rig = Rig()
    ack = rig.run([["a"]], [], epoch=0, now=100)
    assert ack.progress.next_wakeup == 110
    ack = rig.run([], [], epoch=1, now=110)
    assert results(ack) == [("timer", "a", 110)]
    assert ack.progress.next_wakeup is None


def test_the_graph_is_what_the_tests_suppose() -> None:
    stages = program().stages
    assert [stage.name for stage in stages] == ["Collection", "Keyed Process -> Collect"]


def test_a_buffer_that_is_missing_is_no_failure_of_a_function() -> None:
    """Otherwise the restart strategy would decide, and the message would name an operator."""
    ack = Rig().subtask.failed_by(IncompleteInputError("1 of 2 buffers have arrived"), 1)
    assert ack.failure is not None
    assert ack.failure.kind is FailureKind.INCOMPLETE
