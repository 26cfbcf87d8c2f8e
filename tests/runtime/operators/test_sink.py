from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from millrace.common.errors import StateError
from millrace.common.sink import Sink, SinkWriter, WriterContext, WriterEpoch
from millrace.common.types.batch import BatchForm, ColumnBatch, RowBatch
from millrace.runtime.epoch import Ack, EpochContext, RestoreAssignment, StateHandle
from millrace.runtime.operator import OperatorContext
from millrace.runtime.operator_input import operator_input
from millrace.runtime.operators.sink import SinkOperator
from millrace.runtime.output import Discard
from millrace.runtime.redistribution import Redistribution, RestoringSubtask
from millrace.state.serialization.payload import decode
from millrace.state.state_delta import StateDelta
from millrace.state.store import SubtaskState
from millrace.state.table_id import TableId


class Recording(Sink[Any]):
    """Its writers note what happens to them; a writer hands over what it has at every third."""

    def __init__(self, batch: int = 1, wakeup: int | None = None) -> None:
        self.batch, self.wakeup = batch, wakeup
        self.events: list[Any] = []

    def create_writer(self, context: WriterContext, state: Any) -> RecordingWriter:
        self.events.append(("create", state))
        return RecordingWriter(self, state or [])


class RecordingWriter(SinkWriter[Any]):
    def __init__(self, sink: Recording, waiting: list[Any]) -> None:
        self.sink, self.waiting = sink, list(waiting)

    def begin_epoch(self, epoch: WriterEpoch) -> None:
        self.sink.events.append(("begin", *epoch))

    def write(self, batch: RowBatch[Any]) -> None:
        if "bad" in batch.values:
            raise ValueError("bad")
        self.waiting += batch.values

    def flush(self, end_of_input: bool) -> None:
        self.sink.events.append(("flush", end_of_input))

    def prepare_commit(self, end_of_input: bool) -> list[Any]:
        if len(self.waiting) < self.sink.batch and not end_of_input:
            return []
        ready, self.waiting = self.waiting, []
        return [ready] if ready else []

    def snapshot_state(self) -> list[Any] | None:
        return self.waiting or None

    def next_wakeup(self) -> int | None:
        return self.sink.wakeup

    def close(self) -> None:
        self.sink.events.append("close")


class Rig:
    def __init__(self, sink: Recording, index: int = 1, parallelism: int = 2) -> None:
        self.state = SubtaskState()
        self.sink = sink
        self.place = (index, parallelism, 128)
        self.epoch = self.now = 0
        self.open()

    def open(self) -> None:
        self.operator = SinkOperator(self.sink)
        context = OperatorContext("sink", "Sink", *self.place, self.state, lambda: self.now)
        self.operator.setup(context, Discard(), {})
        self.operator.open()
        self.operator.restore()

    def run(self, *values: Any, now: int = 0, ended: bool = False) -> list[Any]:
        """One epoch; returns the committables."""
        self.now = now
        self.operator.begin_epoch(EpochContext(self.epoch, now, f"attempt-{self.epoch}"))
        if values:
            self.operator.process(list(values), None)
        self.operator.end_epoch(ended)
        ack = Ack(0, 0, 0)
        self.operator.contribute(ack)
        self.epoch += 1
        return [decode(item) for item in ack.committing.committables.get("sink", [])]


def test_a_writer_lives_as_long_as_its_subtask() -> None:
    """It is told of the epochs that have something for it."""
    rig = Rig(Recording())
    assert rig.run("a", "b", now=5) == [["a", "b"]]
    assert rig.run(now=6) == []
    assert rig.run("c", now=7, ended=True) == [["c"]]
    rig.operator.close()
    rig.operator.close()
    assert rig.sink.events == [
        ("create", None), ("begin", 0, "attempt-0-0", 5), ("flush", False),
        ("begin", 2, "attempt-2-0", 7), ("flush", True), "close",
    ]  # fmt: skip


def test_the_writer_of_a_restarted_subtask_gets_the_state_of_the_last() -> None:
    rig = Rig(Recording(batch=4))
    for expected, value in ((None, "a"), (["a"], "b"), (["a", "b"], "c")):
        rig.open()
        assert rig.run(value) == []
        assert [event for event in rig.sink.events if event[0] == "create"][-1][1] == expected
    rig.open()
    assert rig.run("d") == [["a", "b", "c", "d"]]
    rig.open()
    assert rig.run("e") == []
    assert [event for event in rig.sink.events if event[0] == "create"][-1] == ("create", None)


class Changing(Recording):
    """Its writer returns as its state a list that it goes on adding to."""

    def create_writer(self, context: WriterContext, state: Any) -> RecordingWriter:
        return ChangingWriter(self, state or [])


class ChangingWriter(RecordingWriter):
    def snapshot_state(self) -> list[Any]:
        return self.waiting


def test_a_state_that_the_writer_goes_on_changing_is_kept_as_it_was() -> None:
    rig = Rig(Changing(batch=9))
    states = []
    for value in ("a", "b"):
        rig.run(value)
        delta = rig.state.snapshot(rig.epoch, "v")
        states.append(delta is not None)
        rig.operator.process(["never accepted"], None)
        rig.open()
    assert states == [True, True]
    assert rig.run("c", ended=True) == [["a", "b", "c"]]


class Former(Recording):
    """Its writer is one for a single epoch."""

    def __init__(self, nested: bool) -> None:
        super().__init__()
        self.nested = nested

    def create_writer(self, context: WriterContext, state: Any) -> SinkWriter[Any]:
        return FormerWriter(self.nested)


class FormerWriter(SinkWriter[Any]):
    def __init__(self, nested: bool) -> None:
        self.nested, self.values = nested, list[Any]()

    def write(self, batch: RowBatch[Any]) -> None:
        self.values += batch.values

    def prepare_commit(self, end_of_input: bool) -> list[Any]:
        return [self.values] if self.nested else self.values


@pytest.mark.parametrize("nested", [True, False])
def test_what_was_handed_over_before_is_refused(nested: bool) -> None:
    """A sink that was written when there was a writer for each epoch would double its records."""
    rig = Rig(Former(nested))
    rig.run("a")
    with pytest.raises(
        StateError, match=r"FormerWriter.prepare_commit\(\) of sink 'Sink'.*begin_epo"
    ):
        rig.run("b")


class Constant(RecordingWriter):
    def prepare_commit(self, end_of_input: bool) -> Any:
        return ("written",)


class Same(Recording):
    def create_writer(self, context: WriterContext, state: Any) -> RecordingWriter:
        return Constant(self, [])


def test_a_committable_that_cannot_change_may_be_the_one_of_the_epoch_before() -> None:
    rig = Rig(Same())
    assert [rig.run("a"), rig.run("b")] == [["written"]] * 2


@pytest.mark.parametrize(
    ("name", "place"),
    [("attempt", "epoch.attempt"), ("epoch", "epoch.number"), ("now", "now"), ("shared", "close")],
)
def test_what_the_context_of_a_writer_no_longer_has(name: str, place: str) -> None:
    with pytest.raises(AttributeError, match=place):
        getattr(WriterContext(0, 1, "run"), name)


def test_the_end_of_input_gets_everything_out() -> None:
    rig = Rig(Recording(batch=3))
    assert rig.run("a") == []
    assert rig.run(ended=True) == [["a"]]
    assert rig.run(ended=True) == []


def test_a_writer_is_told_once_that_nothing_may_stay_open() -> None:
    """It may have kept records of an epoch before: Flink, too, flushes at the end of the input."""
    rig = Rig(Recording())
    rig.run("a")
    before = len(rig.sink.events)
    rig.run()
    rig.run(ended=True)
    rig.run(ended=True)
    assert rig.sink.events[before:] == [("begin", 2, "attempt-2-0", 0), ("flush", True)]


def test_a_writer_that_asked_for_it_is_woken_without_records() -> None:
    rig = Rig(Recording(batch=3, wakeup=100))
    rig.run("a", now=50)
    assert rig.operator.next_wakeup() == 100
    before = len(rig.sink.events)
    rig.run(now=99)
    assert len(rig.sink.events) == before
    rig.run(now=100)
    assert rig.sink.events[before:] == [("begin", 2, "attempt-2-0", 100), ("flush", False)]


def test_after_a_restart_kept_state_gets_a_writer_that_can_ask_for_a_wakeup() -> None:
    rig = Rig(Recording(batch=3, wakeup=100))
    rig.run("a", now=50)
    rig.open()
    assert rig.operator.next_wakeup() is None
    rig.run(now=60)
    assert rig.operator.next_wakeup() == 100


def test_a_writer_is_closed_when_the_epoch_fails() -> None:
    rig = Rig(Recording())
    with pytest.raises(ValueError, match="bad"):
        rig.run("bad")
    rig.operator.close()
    assert rig.sink.events[-1] == "close"


class Merging(Recording):
    def merge_writer_states(self, states: Any) -> Any:
        return [value for state in states for value in state]


def rescaled(sink: Recording, states: list[list[str]], index: int, **options: bool) -> Rig:
    """One of two subtasks that go on from as many writers as there are ``states``."""
    handles = []
    for former, values in enumerate(states):
        rig = Rig(sink, former, len(states))
        rig.run(*values)
        delta = rig.state.snapshot(1, "v")
        assert delta is not None
        handles.append(StateHandle(former, len(states), (delta,), True))
    rig = Rig(sink, index)
    (declared,) = rig.operator.operator_states
    subtask = RestoringSubtask(
        index, 2, 128, {"sink": "Sink"}, {TableId("sink", declared.name): declared}
    )
    assignment = RestoreAssignment(tuple(handles), **options)
    Redistribution(rig.state, subtask, inline).restore(assignment, "w")
    rig.open()
    return rig


def inline(delta: StateDelta) -> bytes:
    assert isinstance(delta.data, bytes)
    return delta.data


def test_what_writers_keep_is_split_among_the_new_ones() -> None:
    """Each writer's state goes on in one of them; several become one."""
    states = [["a"], ["b"], ["c", "d"]]
    first, second = (rescaled(Merging(batch=9), states, index) for index in range(2))
    assert first.run(ended=True) == [["a", "c", "d"]]
    assert second.run(ended=True) == [["b"]]
    assert first.run(ended=True) == []


def test_a_fork_leaves_to_its_parent_what_writers_keep() -> None:
    for states in ([["a"], ["b"]], [["a"], ["b"], ["c"]]):
        assert rescaled(Merging(batch=9), states, 0, forked=True).run(ended=True) == []
        assert rescaled(Merging(batch=9), states, 0, forked=False).run(ended=True) != []


def test_states_that_a_sink_cannot_merge() -> None:
    rig = rescaled(Recording(batch=9), [["a"], ["b"], ["c"]], 0)
    with pytest.raises(StateError, match="Recording .*does not define merge_writer_states"):
        rig.run(ended=True)


class Both(RecordingWriter):
    def write_columns(self, batch: ColumnBatch) -> None:
        self.waiting.append(batch.data.to_pydict())


class TakesEither(Recording):
    takes = BatchForm.EITHER

    def create_writer(self, context: WriterContext, state: Any) -> RecordingWriter:
        return Both(self, [])


@pytest.mark.parametrize(
    ("sink", "written"),
    [(Recording(), ["a", {"x": 1}, {"x": 2}]), (TakesEither(), ["a", {"x": [1, 2]}])],
)
def test_columns_reach_a_writer_in_the_form_that_its_sink_takes(
    sink: Recording, written: list[Any]
) -> None:
    rig = Rig(sink)
    rig.operator.begin_epoch(EpochContext(0, 0))
    sink_input = operator_input(rig.operator)
    sink_input.emit(RowBatch(["a"]))
    sink_input.emit(ColumnBatch(pa.record_batch({"x": [1, 2]})))
    rig.operator.end_epoch(True)
    ack = Ack(0, 0, 0)
    rig.operator.contribute(ack)
    assert decode(ack.committing.committables["sink"][0]) == written
