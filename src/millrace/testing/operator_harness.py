"""Harness of one operator without a job: the test supplies records, watermarks and time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.functions.base import (
    FilterFunction,
    FlatMapFunction,
    Function,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
)
from millrace.common.functions.broadcast_functions import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
)
from millrace.common.functions.co_functions import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
)
from millrace.common.functions.metrics import Counter, Meter
from millrace.common.functions.output_tag import OutputTag
from millrace.common.state.descriptors import MapStateDescriptor
from millrace.common.types.batch import Batch, RowBatch
from millrace.common.window import Window
from millrace.datastream.keyed_stream import KeyedStream
from millrace.datastream.stream import DataStream
from millrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from millrace.runtime.buffer import MIN_WATERMARK
from millrace.runtime.epoch import EpochContext, RestoreAssignment, StateHandle
from millrace.runtime.operator import Operator, OperatorContext
from millrace.runtime.operator_input import operator_input
from millrace.runtime.output import Output
from millrace.runtime.redistribution import Redistribution, RestoringSubtask
from millrace.state.internal_tables import EVENT_TIMERS, PROCESSING_TIMERS
from millrace.state.state_delta import StateDelta, live
from millrace.state.store import SubtaskState
from millrace.state.table_id import TableId
from millrace.testing.paused_collector import paused_collector
from millrace.testing.state_view import StateView, Timer
from millrace.testing.stream_record import StreamRecord

UID = "operator"


@dataclass(frozen=True)
class OperatorSnapshot:
    """State of one subtask, as a checkpoint stores it."""

    subtask_index: int
    parallelism: int
    deltas: tuple[StateDelta, ...]


class _Recorder:
    def __init__(self) -> None:
        self.records: list[StreamRecord] = []
        self.watermarks: list[int] = []

    def emit(self, batch: Batch) -> None:
        rows = batch.to_rows()
        times: Sequence[int | None] = rows.timestamps or [None] * len(rows)
        self.records += map(StreamRecord, rows.values, times)

    def emit_watermark(self, timestamp: int) -> None:
        self.watermarks.append(timestamp)


class _Recorders(dict[OutputTag[Any], Output]):
    """Recorders of side outputs, made at their first use."""

    def get(self, tag: OutputTag[Any], default: Any = None) -> Any:
        return self.setdefault(tag, _Recorder())


class OperatorHarness:
    """One subtask of one operator. Flink: ``KeyedOneInputStreamOperatorTestHarness``,
    ``KeyedTwoInputStreamOperatorTestHarness`` and similar classes.

    Args:
        what: a function object; or a function that makes the operator's stream of another, as in
            ``OperatorHarness(lambda stream: stream.key_by(0).window(...).reduce(...))``; or that
            stream itself. Any operator of the API can be had that way.
        key_by: key selector as in `DataStream.key_by`, for functions on a keyed stream.
        key_by2: key selector of the second input, if it differs.
        broadcast_state: the descriptors that `DataStream.broadcast` takes, for broadcast functions.
        processing_time: first time of the clock, in ms since the Unix epoch.

    Raises:
        JobDefinitionError: ``what`` is none of these.

    Example:
        >>> from millrace.datastream import KeyedProcessFunction
        >>> class Alarm(KeyedProcessFunction):
        ...     def process_element(self, value, ctx):
        ...         ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10)
        ...     def on_timer(self, timestamp, ctx):
        ...         yield f"{ctx.get_current_key()} at {timestamp}"
        >>> harness = OperatorHarness(Alarm(), key_by=lambda value: value)
        >>> harness.process_element("a", 5)
        >>> harness.process_watermark(14)
        >>> harness.output()
        []
        >>> harness.process_watermark(15)
        >>> harness.output()
        ['a at 15']
    """

    def __init__(
        self,
        what: Function | DataStream[Any] | Callable[[DataStream[Any]], DataStream[Any]],
        key_by: Any = None,
        *,
        key_by2: Any = None,
        broadcast_state: Sequence[MapStateDescriptor[Any, Any]] = (),
        subtask_index: int = 0,
        parallelism: int = 1,
        max_parallelism: int = 128,
        processing_time: int = 0,
        batch_mode: bool = False,
    ) -> None:
        stream = operator_stream(what, key_by, key_by2, broadcast_state)
        self._stream = stream
        self._transformation = stream._inputs[0].transformation
        self._place = (subtask_index, parallelism, max_parallelism)
        self._now = processing_time
        self._batch_mode = batch_mode
        self._state = SubtaskState()
        self._deltas: list[StateDelta] = []
        self._epoch = 0
        self._output = _Recorder()
        self._side = _Recorders()
        self.operator: Operator
        """The operator itself."""
        self._open()

    def _open(self) -> None:
        index, parallelism, max_parallelism = self._place
        self._marks = [MIN_WATERMARK, MIN_WATERMARK]
        self.operator = self._transformation.factory()
        context = OperatorContext(
            uid=UID,
            name=self._transformation.name,
            subtask_index=index,
            parallelism=parallelism,
            max_parallelism=max_parallelism,
            state=self._state,
            clock=lambda: self._now,
            batch_mode=self._batch_mode,
        )
        self.operator.setup(context, self._output, self._side)
        self.operator.open()
        self.operator.restore()
        self._begin_epoch()

    def _begin_epoch(self) -> None:
        self.operator.begin_epoch(EpochContext(self._epoch, self._now))
        self.operator.advance_processing_time(self._now)

    # -- what goes in ------------------------------------------------------------------------

    def process_element(self, value: Any, timestamp: int | None = None) -> None:
        """Process one record; ``timestamp`` is its event time in ms since the Unix epoch. If the
        operator has several inputs, the record goes to the first input, or to the input that is not
        broadcast.
        """
        self.process_elements([value], None if timestamp is None else [timestamp])

    def process_elements(self, values: list[Any], timestamps: list[int] | None = None) -> None:
        """Process a batch of records."""
        self.process_batch(RowBatch(values, timestamps))

    def process_batch(self, batch: Batch, number: int = 0) -> None:
        """Process a batch of rows or columns, for the input with the given number."""
        with paused_collector():
            operator_input(self.operator, number).emit(batch)

    def process_element1(self, value: Any, timestamp: int | None = None) -> None:
        """Process one record of the first input."""
        self.process_element(value, timestamp)

    def process_element2(self, value: Any, timestamp: int | None = None) -> None:
        """Process one record of the second input."""
        self.process_batch(RowBatch([value], None if timestamp is None else [timestamp]), 1)

    def process_broadcast_element(self, value: Any, timestamp: int | None = None) -> None:
        """Process one record of the broadcast input."""
        self.process_element2(value, timestamp)

    def process_watermark(self, timestamp: int) -> None:
        """Process a watermark of all inputs, in ms since the Unix epoch."""
        self._marks = [timestamp, timestamp]
        with paused_collector():
            self.operator.process_watermark(timestamp)

    def process_watermark1(self, timestamp: int) -> None:
        """Process a watermark of the first input; event time is the lesser of both inputs'
        watermarks."""
        self._process_watermark(0, timestamp)

    def process_watermark2(self, timestamp: int) -> None:
        """Process a watermark of the second input; event time is the lesser of both inputs'
        watermarks."""
        self._process_watermark(1, timestamp)

    def _process_watermark(self, number: int, timestamp: int) -> None:
        before = min(self._marks)
        self._marks[number] = timestamp
        if min(self._marks) > before:
            with paused_collector():
                self.operator.process_watermark(min(self._marks))

    def set_processing_time(self, timestamp: int) -> None:
        """Set the clock (ms since the Unix epoch). This begins a new epoch, and due timers fire."""
        self._accept()
        self._now = timestamp
        self._begin_epoch()

    # -- what comes out ----------------------------------------------------------------------

    def output(self) -> list[Any]:
        """The values emitted so far."""
        return [record.value for record in self._output.records]

    def records(self) -> list[StreamRecord]:
        """The records emitted so far, with their event times."""
        return list(self._output.records)

    def watermarks(self) -> list[int]:
        """The watermarks emitted so far."""
        return list(self._output.watermarks)

    def side_output(self, tag: OutputTag[Any]) -> list[Any]:
        """The values emitted so far to the side output of a tag."""
        recorder = self._side.get(tag)
        return [record.value for record in recorder.records]

    def clear_output(self) -> None:
        """Drop the records emitted so far."""
        self._output.records.clear()
        self._output.watermarks.clear()
        self._side.clear()

    # -- what it keeps ------------------------------------------------------------------------

    def state(self, name: str, key: Any = None, window: Window | None = None) -> Any:
        """The value, list or dict of a state for ``key``; None if it is empty.

        Aggregating state shows its accumulator. Operator and broadcast state have no key;
        state of a window (the window function's or its trigger's) is found with ``window``.
        What has expired is seen until it is deleted.

        Raises:
            StateError: the operator has no state of that name.
        """
        return self._view().value(name, key, window)

    def keys(self, name: str) -> list[Any]:
        """The keys with an entry in the keyed state of the given name.

        Raises:
            StateError: the operator has no state of that name.
        """
        return self._view().keys(name)

    def event_time_timers(self) -> list[Timer]:
        """The event-time timers that functions and triggers have registered, by time. Windows
        that need no trigger have no timers; `entries` counts their state."""
        return self._view().timers(EVENT_TIMERS)

    def processing_time_timers(self) -> list[Timer]:
        """The registered processing-time timers, by time."""
        return self._view().timers(PROCESSING_TIMERS)

    def accumulator(self, name: str) -> Any:
        """The accumulator of the given name; None if there is none."""
        accumulator = self.operator.context.accumulators.get(name)
        return None if accumulator is None else accumulator.get_local_value()

    def metric(self, name: str) -> Any:
        """Value of a metric: a count, a gauge's number, or a dict for a distribution; None if
        there is none. ``name`` includes the metric's groups, separated by dots."""
        registry = self.operator.context.metrics
        metric = registry.metrics.get(name)
        if isinstance(metric, (Counter, Meter)):
            return metric.get_count()
        return registry.values().get(name)

    def _view(self) -> StateView:
        return StateView(self._state, UID, self._transformation.name)

    def next_wakeup(self) -> int | None:
        """Time at which the operator wants the next epoch, in ms since the Unix epoch."""
        return self.operator.next_wakeup()

    def entries(self) -> int:
        """Number of entries of state, including timers."""
        return sum(table.entry_count() for table in self._state.tables.values())

    # -- checkpoints and failures ------------------------------------------------------------

    def snapshot(self) -> OperatorSnapshot:
        """End the epoch with a checkpoint and begin the next one."""
        self._accept()
        self._begin_epoch()
        index, parallelism, _ = self._place
        return OperatorSnapshot(index, parallelism, tuple(self._deltas))

    def abort(self) -> None:
        """Roll the open epoch back, as after a failure; its output is dropped, too."""
        self.operator.close()
        self._state.roll_back()
        self.clear_output()
        self._open()

    def restored(
        self, *snapshots: OperatorSnapshot, subtask_index: int = 0, parallelism: int = 1
    ) -> OperatorHarness:
        """Another subtask of the same operator, restored from the snapshots of all former
        subtasks; ``parallelism`` is the new parallelism."""
        max_parallelism = self._place[2]
        other = OperatorHarness(
            self._stream,
            subtask_index=subtask_index,
            parallelism=parallelism,
            max_parallelism=max_parallelism,
            processing_time=self._now,
            batch_mode=self._batch_mode,
        )
        other._load(snapshots)
        return other

    def _load(self, snapshots: Sequence[OperatorSnapshot]) -> None:
        _, parallelism, _ = self._place
        self.operator.close()
        self._epoch = max((delta.epoch for s in snapshots for delta in s.deltas), default=-1) + 1
        version = f"harness-{self._epoch - 1}"
        if len(snapshots) == 1 and snapshots[0].parallelism == parallelism:
            self._deltas = list(snapshots[0].deltas)
            self._state.restore(version, self._deltas, _inline)
        else:
            self._redistribute(snapshots, version)
        self._open()

    def _redistribute(self, snapshots: Sequence[OperatorSnapshot], version: str) -> None:
        declared = self.operator.operator_states
        subtask = RestoringSubtask(
            *self._place,
            operators={UID: self._transformation.name},
            states={TableId(UID, state.name): state for state in declared},
        )
        handles = [
            StateHandle(snapshot.subtask_index, snapshot.parallelism, snapshot.deltas, head=True)
            for snapshot in snapshots
        ]
        redistribution = Redistribution(self._state, subtask, _inline)
        redistribution.restore(RestoreAssignment(tuple(handles)), version)

    def _accept(self) -> None:
        version = f"harness-{self._epoch}"
        with paused_collector():
            self.operator.end_epoch(False)
            delta = self._state.snapshot(self._epoch, version)
        if delta is not None:
            self._deltas = live([*self._deltas, delta])
            self._state.align(version, (), _inline)
        self._epoch += 1

    def close(self) -> None:
        """Close the operator and its function."""
        self.operator.close()

    def __enter__(self) -> OperatorHarness:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _inline(delta: StateDelta) -> bytes:
    assert isinstance(delta.data, bytes)
    return delta.data


Build = Callable[[Any], DataStream[Any]]
Descriptors = Sequence[MapStateDescriptor[Any, Any]]


def operator_stream(
    what: Any, key_by: Any, key_by2: Any, broadcast_state: Descriptors
) -> DataStream[Any]:
    """The stream that ends with the operator to test: ``what`` itself, or a stream made with it.
    Raises JobDefinitionError for objects that make no stream."""
    if isinstance(what, DataStream):
        return what
    env = StreamExecutionEnvironment.get_execution_environment()
    if not isinstance(what, Function):
        return _made(what, env)
    stream = _input(env, key_by)
    if isinstance(what, (BroadcastProcessFunction, KeyedBroadcastProcessFunction)):
        rules = _input(env, None).broadcast(*_declared(broadcast_state))
        return stream.connect(rules).process(what)
    build = _one_input(stream, what) or _two_inputs(env, stream, what, key_by2 or key_by)
    return _refuse(what) if build is None else build(what)


def _made(what: Any, env: StreamExecutionEnvironment) -> DataStream[Any]:
    made = what(env.from_collection([])) if callable(what) else None
    return made if isinstance(made, DataStream) else _refuse(what)


def _input(env: StreamExecutionEnvironment, key_by: Any) -> DataStream[Any]:
    stream: DataStream[Any] = env.from_collection([])
    return stream if key_by is None else stream.key_by(key_by)


def _declared(descriptors: Descriptors) -> Descriptors:
    if not descriptors:
        raise JobDefinitionError(
            "the harness of a broadcast function needs broadcast_state=[descriptor, ...], "
            "the descriptors that broadcast() gets"
        )
    return descriptors


def _one_input(stream: DataStream[Any], function: Function) -> Build | None:
    if isinstance(function, (KeyedProcessFunction, ProcessFunction)):
        return stream.process
    if isinstance(function, MapFunction):
        return stream.map
    if isinstance(function, FlatMapFunction):
        return stream.flat_map
    if isinstance(function, FilterFunction):
        return stream.filter
    if isinstance(function, ReduceFunction) and isinstance(stream, KeyedStream):
        return stream.reduce
    return None


def _two_inputs(
    env: StreamExecutionEnvironment, stream: DataStream[Any], function: Function, key_by2: Any
) -> Build | None:
    connected = stream.connect(_input(env, key_by2))
    if isinstance(function, (CoProcessFunction, KeyedCoProcessFunction)):
        return connected.process
    if isinstance(function, CoMapFunction):
        return connected.map
    if isinstance(function, CoFlatMapFunction):
        return connected.flat_map
    return None


def _refuse(what: Any) -> DataStream[Any]:
    raise JobDefinitionError(
        f"OperatorHarness takes a function object, the stream of an operator, or a function that "
        f"makes that stream of another, got {what!r}; functions on a keyed stream need "
        "key_by=..., and window functions the stream: lambda stream: stream.key_by(...).window(...)"
        ".process(...)"
    )
