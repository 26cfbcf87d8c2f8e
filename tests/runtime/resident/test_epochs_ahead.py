"""A subtask that begins its next epoch before the driver's plan for it arrives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import pytest
from tests.runtime.counting_stage import load

from millrace.common import Types, WatermarkStrategy
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
from millrace.common.state import ValueStateDescriptor
from millrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from millrace.job_graph.stages import build_job_graph
from millrace.runtime.buffer import MIN_WATERMARK, Buffer, BufferKind, end_of
from millrace.runtime.epoch import (
    Ack,
    EpochPlan,
    FailureKind,
    FreshStart,
    LiveStart,
    SubtaskPlan,
    SubtaskStart,
)
from millrace.runtime.resident.outbox import Outbox
from millrace.runtime.resident.patience import Patience
from millrace.runtime.resident.resident_subtask import Phase, ResidentSubtask, Storage
from millrace.runtime.resident.resident_worker import ResidentWorker
from millrace.runtime.subtask import ChannelReader
from millrace.runtime.worker import Worker
from millrace.state.serialization.payload import decode, encode_records

CHANNEL = (0, 0)
BEFORE, AHEAD, LATE = [1, 2], [3, 4], [5]


class Sums(KeyedProcessFunction):
    """Sums of all numbers so far; refuses negative ones."""

    def open(self, runtime_context: Any) -> None:
        self._sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> Iterable[int]:
        if value < 0:
            raise ValueError("negative")
        total = (self._sum.value() or 0) + value
        self._sum.update(total)
        yield total


class Summing:
    """The subtask, and what it has sent."""

    def __init__(self, backend: str) -> None:
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
        sums = env.from_collection([]).key_by(lambda n: 0).process(Sums()).key_by(lambda n: n)
        graph = build_job_graph([sums._collecting("Collect")], "run", "job", max_parallelism=128)
        self._program = graph.program
        if backend == "rocksdb":
            from millrace.datastream import EmbeddedRocksDBStateBackend

            self._program = replace(graph.program, state_backend=EmbeddedRocksDBStateBackend())
        self._worker = Worker("test")
        self.acks: list[Ack] = []
        self.sent: list[int] = []
        self._reader = ChannelReader()
        self._attempt, self._count = 0, 0
        self.connect()

    def connect(self) -> None:
        """Connect anew, as after a loss: the state stays in its worker."""
        self._attempt += 1
        self._count = 0
        self.subtask = ResidentSubtask(
            self._worker.subtask(self._program, self._program.stages[1], 0),
            self._attempt,
            0,
            Outbox({1: 1}, 1, self._take),
            lambda channel, target, records: None,
            lambda payload: self.acks.append(decode(payload)),
            lambda: 0,
            Patience(0.0),
        )

    def _take(self, task: int, buffer: Buffer) -> None:
        if buffer.kind not in (BufferKind.STATUS, BufferKind.END):
            self.sent += self._reader.read(buffer).to_rows().values

    def begin(self, epoch: int, start: SubtaskStart, attempt: int = 0, **more: Any) -> None:
        plans = {self.subtask.place: SubtaskPlan(start)}
        plan = EpochPlan(epoch, attempt, 0, None, False, plans, **more)
        self.subtask.begin(plan, Storage(load, None))

    def send(self, numbers: list[int]) -> None:
        for number in numbers:
            payload = encode_records([number], None)
            kind, at = BufferKind.RECORDS, self._count
            buffer = Buffer(0, *CHANNEL, self._attempt, at, kind, MIN_WATERMARK, 1, payload)
            self._count += 1
            self.subtask.gate.put(CHANNEL, buffer)
        while self.subtask.due_at(0, 1e9) == 0:
            self.subtask.turn(1e9)

    def begin_ahead(self) -> None:
        """Begin the second epoch before its plan."""
        assert self.subtask.may_run_ahead_of(1)
        self.subtask.begin_ahead()

    def barrier(self) -> Ack:
        self.put_barrier()
        return self.acks.pop()

    def put_barrier(self) -> None:
        end = end_of(0, *CHANNEL, self._attempt, MIN_WATERMARK, False, [self._count])
        self.subtask.gate.put_barrier(CHANNEL, end, self._count, False)
        self._count = 0
        while self.subtask.due_at(0, 1e9) == 0:
            self.subtask.turn(1e9)


@pytest.fixture(params=["hashmap", "rocksdb"])
def summing(request: pytest.FixtureRequest) -> Summing:
    return Summing(request.param)


def version_after_the_first_epoch(summing: Summing) -> str:
    summing.begin(0, FreshStart())
    summing.send(BEFORE)
    ack = summing.barrier()
    assert ack.failure is None, ack.failure
    return ack.state.version


def test_nothing_is_done_without_leave(summing: Summing) -> None:
    version_after_the_first_epoch(summing)
    summing.send(AHEAD)
    assert summing.subtask.phase is Phase.WAITING
    assert summing.sent == [1, 3]


def test_an_epoch_goes_on_when_its_plan_arrives(summing: Summing) -> None:
    version = version_after_the_first_epoch(summing)
    summing.begin_ahead()
    summing.send(AHEAD)
    assert summing.sent == [1, 3, 6, 10]
    summing.begin(1, LiveStart(version))
    summing.send(LATE)
    second = summing.barrier()
    assert second.failure is None
    assert second.traffic.records_in == len(AHEAD + LATE)
    assert second.state.version.startswith("run-1-0-")
    summing.begin(2, LiveStart(second.state.version))
    summing.send([1])
    assert summing.sent == [1, 3, 6, 10, 15, 16]


def test_a_barrier_that_overtakes_the_plan_waits_for_it(summing: Summing) -> None:
    """Producers in other workers may have had the plan, and the barrier after it, before."""
    version = version_after_the_first_epoch(summing)
    summing.begin_ahead()
    summing.send(AHEAD)
    summing.put_barrier()
    assert not summing.acks
    summing.begin(1, LiveStart(version))
    summing.send([])
    ack = summing.acks.pop()
    assert ack.failure is None
    assert ack.traffic.records_in == len(AHEAD)


def test_leave_holds_for_one_epoch(summing: Summing) -> None:
    version = version_after_the_first_epoch(summing)
    assert summing.subtask.may_run_ahead_of(1)
    summing.begin(1, LiveStart(version))
    assert not summing.subtask.may_run_ahead_of(1)
    summing.send(AHEAD)
    summing.barrier()
    assert not summing.subtask.may_run_ahead_of(1)
    assert summing.subtask.may_run_ahead_of(2)


def test_a_refused_epoch_is_undone_with_the_one_ahead(summing: Summing) -> None:
    version_after_the_first_epoch(summing)
    summing.begin_ahead()
    summing.send(AHEAD)
    summing.connect()
    summing.begin(0, FreshStart(), attempt=1)
    summing.send([100])
    assert summing.sent[-1] == 100
    assert summing.barrier().failure is None


def test_an_epoch_ahead_is_undone_alone(summing: Summing) -> None:
    """The driver has accepted the epoch before, and the subtask has not heard of it."""
    version = version_after_the_first_epoch(summing)
    summing.begin_ahead()
    summing.send(AHEAD)
    summing.connect()
    summing.begin(1, LiveStart(version), attempt=1)
    summing.send([100])
    assert summing.sent[-1] == sum(BEFORE) + 100
    assert summing.barrier().failure is None


def test_a_failure_ahead_belongs_to_the_epoch_ahead(summing: Summing) -> None:
    version = version_after_the_first_epoch(summing)
    summing.begin_ahead()
    summing.send([-1])
    assert not summing.acks  # the driver still counts those of the first epoch
    summing.begin(1, LiveStart(version))
    failure = summing.acks.pop().failure
    assert failure is not None
    assert failure.kind is FailureKind.USER
    assert "negative" in failure.user_traceback


@pytest.mark.parametrize(
    "surprise",
    [{"flush": True}, {"ends_run": True}, {"divide": {1: 2}}, {"messages": {"uid": b""}}],
    ids=lambda surprise: next(iter(surprise)),
)
def test_a_plan_that_an_epoch_must_begin_with_comes_too_late(
    surprise: dict[str, Any], summing: Summing
) -> None:
    """The driver makes no such plan; if it did, nothing would be wrong without a word."""
    version = version_after_the_first_epoch(summing)
    summing.begin_ahead()
    summing.begin(1, LiveStart(version), **surprise)
    failure = summing.acks.pop().failure
    assert failure is not None
    assert failure.kind is FailureKind.STATE_MISS


class NothingYet(SourceReader[int]):
    """A reader without splits."""

    def add_splits(self, splits: Sequence[AssignedSplit]) -> None:
        raise AssertionError("there are no splits")

    def poll(self, max_records: int) -> Sequence[SplitRecords[int]]:
        return []

    def snapshot_state(self) -> dict[str, Any]:
        return {}


class NoSplits(SplitEnumerator):
    def discover(self, now: int) -> list[SourceSplit]:
        return []


class EmptySource(Source[int]):
    boundedness = Boundedness.BOUNDED

    def create_enumerator(self) -> SplitEnumerator:
        return NoSplits()

    def create_reader(self, context: ReaderContext) -> SourceReader[int]:
        return NothingYet()


class Reading:
    """A source's subtask, whose splits the driver has not found yet."""

    def __init__(self) -> None:
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
        watermarks = WatermarkStrategy.no_watermarks()
        keyed = env.from_source(EmptySource(), watermarks, "source").key_by(lambda n: n)
        mapped = keyed.map(lambda n: n)
        graph = build_job_graph([mapped._collecting("Collect")], "run", "job", max_parallelism=128)
        program, stage = graph.program, graph.program.stages[0]
        edges = {edge.id: 1 for edge in program.edges if edge.source_stage == stage.id}
        self.acks: list[Ack] = []
        self.subtask = ResidentSubtask(
            Worker("test").subtask(program, stage, 0),
            1,
            0,
            Outbox(edges, 1, lambda target, buffer: None),
            lambda *grant: None,
            lambda payload: self.acks.append(decode(payload)),
            lambda: 0,
            Patience(0.0),
        )

    def begin(self, epoch: int, start: SubtaskStart, no_more_splits: bool) -> None:
        part = SubtaskPlan(start, (), no_more_splits)
        plan = EpochPlan(epoch, 0, 0, None, False, {self.subtask.place: part})
        self.subtask.begin(plan, Storage(load, None))
        self.work()

    def work(self) -> None:
        while self.subtask.due_at(0, 1e9) == 0:
            self.subtask.turn(1e9)


def test_a_source_that_rests_hears_of_the_end_of_the_splits() -> None:
    """It has begun ahead, and nothing would wake it before the next barrier."""
    reading = Reading()
    reading.begin(0, FreshStart(), no_more_splits=False)
    reading.subtask.end_reading()
    reading.work()
    ack = reading.acks.pop()
    assert ack.failure is None
    reading.subtask.begin_ahead()
    reading.work()
    assert not reading.subtask.is_exhausted
    reading.begin(1, LiveStart(ack.state.version), no_more_splits=True)
    assert reading.subtask.is_exhausted


@dataclass
class Waiting:
    """What a worker sees of a subtask that has acknowledged its epoch."""

    log_origin: Any = None
    ready: bool = True

    def may_run_ahead_of(self, epoch: int) -> bool:
        return self.ready and epoch == 1

    def begin_ahead(self) -> None:
        self.ready = False

    def due_at(self, now: int, clock: float) -> None:
        return None


class Pushed(ResidentWorker):
    """A worker without sockets."""

    def __init__(self, *subtasks: Waiting) -> None:
        self._subtasks: Any = list(subtasks)
        self._turns, self._turn_since, self._connect_until = None, None, None
        self._held: Any = SimpleNamespace(watchdog=SimpleNamespace(end=lambda: None))
        self._clock = lambda: 0
        self.pushed = 0
        self._allow_ahead(1)

    def _push_all(self) -> None:
        self.pushed += 1


def test_a_busy_worker_answers_before_it_runs_ahead() -> None:
    subtask = Waiting()
    worker = Pushed(subtask)
    worker._run_ahead(1, has_worked=True)
    assert subtask.ready
    assert worker._until_due() == 0  # and does not sleep meanwhile
    worker._run_ahead(1, has_worked=True)
    assert not subtask.ready
    assert worker.pushed == 1
    assert worker._until_due() > 0


def test_an_idle_worker_runs_ahead_immediately() -> None:
    subtask = Waiting()
    worker = Pushed(subtask)
    worker._run_ahead(1, has_worked=False)
    assert not subtask.ready
    assert worker._until_due() > 0


def test_a_worker_without_leave_does_not_stay_awake() -> None:
    worker = Pushed(Waiting())
    worker._run_ahead(1, has_worked=True)
    worker._allow_ahead(None)
    assert worker._until_due() > 0
