"""Streams partitioned by key: state, timers, rolling aggregation, windows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar, cast, overload

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
from millrace.common.functions.batch_functions import BatchProcessFunction
from millrace.common.state.column_descriptors import ColumnDescriptor
from millrace.common.state.descriptors import ReducingStateDescriptor, ValueStateDescriptor
from millrace.common.types.row import Row
from millrace.common.types.typeinfo import TypeInformation
from millrace.common.window import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
    CountWindow,
    WindowAssigner,
)
from millrace.datastream.checks import (
    checked_assigner,
    checked_field,
    checked_function,
    checked_states,
)
from millrace.datastream.data_stream_sink import DataStreamSink
from millrace.datastream.joined_streams import IntervalJoin
from millrace.datastream.stream import DataStream
from millrace.datastream.windowed_stream import WindowedStream
from millrace.job_graph.transformation import Input, Partitioning, Role
from millrace.runtime.aggregations import Extreme, ExtremeBy, Sum
from millrace.runtime.operators.keyed_function import with_keyed_state
from millrace.runtime.operators.keyed_process import KeyedProcessOperator
from millrace.runtime.operators.map import MapOperator
from millrace.runtime.operators.map_batches import BatchSpec, checked_batches
from millrace.runtime.operators.queryable_sink import QueryableSink
from millrace.runtime.operators.reduce import ReduceOperator

if TYPE_CHECKING:
    from millrace.datastream.collected import CloseableIterator
    from millrace.datastream.stream_execution_environment import StreamExecutionEnvironment

T = TypeVar("T")
U = TypeVar("U")
K = TypeVar("K")
W = TypeVar("W")
Field = int | str


class WithKey:
    """Map function that makes a row of a record's key and the record."""

    def __init__(self, key_batch: Callable[[list[Any]], list[Any]]) -> None:
        self._key_batch = key_batch

    def __call__(self, value: Any) -> Row:
        (key,) = self._key_batch([value])
        return Row(f0=key, f1=value)


class KeyedStream(DataStream[T], Generic[T, K]):
    """A stream whose records have keys. Flink: class ``KeyedStream``.

    Example:
        >>> from millrace.datastream import StreamExecutionEnvironment
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> counts = env.from_collection([("a", 1), ("a", 2)]).key_by(0).sum(1)
        >>> counts.get_name()
        'Sum'
    """

    def __init__(
        self, env: StreamExecutionEnvironment, inputs: Sequence[Input], keys: Partitioning
    ) -> None:
        super().__init__(env, inputs)
        assert keys.key_batch is not None
        self._key_batch = keys.key_batch
        self._selector = keys.key_selector

    def map(
        self,
        func: MapFunction[T, U] | Callable[[T], U],
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[U]:
        """Apply a function from one record to one record; a `MapFunction` may use keyed state."""
        if not isinstance(func, MapFunction):
            return super().map(func, output_type)
        return self._with_state("Map", func, output_type)

    def flat_map(
        self,
        func: FlatMapFunction[T, U] | Callable[[T], Iterable[U] | None],
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[U]:
        """Apply a function from one record to any number of records; a `FlatMapFunction` may use
        keyed state."""
        if not isinstance(func, FlatMapFunction):
            return super().flat_map(func, output_type)
        return self._with_state("Flat Map", func, output_type)

    def filter(self, func: FilterFunction[T] | Callable[[T], bool]) -> DataStream[T]:
        """Keep the records for which the function is true; a `FilterFunction` may use keyed
        state."""
        if not isinstance(func, FilterFunction):
            return super().filter(func)
        return self._of_same_type(self._with_state("Filter", func))

    def _with_state(
        self, name: str, func: Function, output_type: TypeInformation[Any] | None = None
    ) -> DataStream[Any]:
        factory = partial(KeyedProcessOperator, with_keyed_state(func), self._key_batch)
        return self._then(name, factory, func, output_type=output_type)

    def process(
        self,
        func: KeyedProcessFunction[K, T, U] | ProcessFunction[T, U],
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[U]:
        """Run a `KeyedProcessFunction`: state and timers per key, side outputs."""
        if isinstance(func, ProcessFunction):
            return super().process(func, output_type)
        checked_function(func, KeyedProcessFunction, "process", plain=False)
        factory = partial(KeyedProcessOperator, func, self._key_batch)
        return self._then("Keyed Process", factory, func, output_type=output_type)

    def process_batch(
        self,
        func: BatchProcessFunction | Callable[[Any, BatchProcessFunction.Context], Any],
        states: Sequence[ColumnDescriptor] = (),
        batch_format: str = "arrow",
        records: str = "dict",
        timestamp_column: str | None = None,
    ) -> DataStream[Any]:
        """Call a vectorised function with batches of records and the state of their keys, in
        columns.

        ``key_by`` has to name the columns of the key. How many records a batch has depends on the
        input; see `BatchProcessFunction` for state and timers.

        Args:
            func: takes a batch and its context; returns one, an iterator of several, or None.
            states: those of a plain function; a `BatchProcessFunction` has them itself.
            batch_format, records, timestamp_column: as in `DataStream.map_batches`.

        Raises:
            JobDefinitionError: the key is a function, or an argument is none of these.

        Example:
            >>> import pyarrow as pa
            >>> from millrace.datastream import StreamExecutionEnvironment
            >>> from millrace.datastream.state import ReducingColumnDescriptor
            >>> env = StreamExecutionEnvironment.get_execution_environment()
            >>> def count(batch, ctx):
            ...     return batch.append_column("n", ctx.state("n").accumulate(1))
            >>> words = env.from_collection([{"word": "to"}, {"word": "be"}]).key_by("word")
            >>> words.process_batch(count, [ReducingColumnDescriptor("n", pa.int64())]).get_name()
            'Process Batch'
        """
        from millrace.runtime.operators.process_batch import ProcessBatchOperator, key_fields

        if not isinstance(func, BatchProcessFunction):
            checked_function(func, BatchProcessFunction, "process_batch")
        spec = checked_batches("process_batch", BatchSpec(batch_format, records, timestamp_column))
        own = func.states() if isinstance(func, BatchProcessFunction) else states
        fields = key_fields(self._selector)
        factory = partial(ProcessBatchOperator, func, spec, fields, checked_states(own))
        return self._then("Process Batch", factory, func)

    def reduce(self, func: ReduceFunction[T] | Callable[[T, T], T]) -> DataStream[T]:
        """Combine each record with its key's result so far, and emit the new result; a
        `ReduceFunction` may use keyed state."""
        checked_function(func, ReduceFunction, "reduce")
        return self._reduce("Reduce", func)

    def sum(self, position_to_sum: Field = 0) -> DataStream[T]:
        """The running sum of a field, per key."""
        return self._reduce("Sum", Sum(checked_field(position_to_sum)))

    def min(self, position_to_min: Field = 0) -> DataStream[T]:
        """The smallest value of a field so far, per key. Other fields are those of the first
        record."""
        return self._reduce("Min", Extreme(checked_field(position_to_min), greatest=False))

    def max(self, position_to_max: Field = 0) -> DataStream[T]:
        """The greatest value of a field so far, per key. Other fields are those of the first
        record."""
        return self._reduce("Max", Extreme(checked_field(position_to_max), greatest=True))

    def min_by(self, position_to_min_by: Field = 0) -> DataStream[T]:
        """The record with the smallest value of a field so far, per key. If several are equal,
        the first one."""
        return self._reduce("Min By", ExtremeBy(checked_field(position_to_min_by), greatest=False))

    def max_by(self, position_to_max_by: Field = 0) -> DataStream[T]:
        """The record with the greatest value of a field so far, per key. If several are equal,
        the first one."""
        return self._reduce("Max By", ExtremeBy(checked_field(position_to_max_by), greatest=True))

    def window(self, window_assigner: WindowAssigner[Any, W]) -> WindowedStream[T, K, W]:
        """Assign each key's records to windows."""
        return WindowedStream(self, checked_assigner("window", window_assigner))

    def count_window(self, size: int, slide: int = 0) -> WindowedStream[T, K, CountWindow]:
        """Windows of ``size`` records of a key: consecutive ones, or with ``slide`` a new one
        every ``slide`` records."""
        if slide:
            return self.window(CountSlidingWindowAssigner.of(size, slide))
        return self.window(CountTumblingWindowAssigner.of(size))

    def interval_join(self, other: KeyedStream[U, K]) -> IntervalJoin[T, U]:
        """Pair this stream's records with those of another keyed stream whose event times are
        close: ``.between(lower, upper).process(function)``."""
        if not isinstance(other, KeyedStream):
            raise JobDefinitionError(
                f"interval_join() takes a keyed stream, got {other!r}; call key_by on it"
            )
        return IntervalJoin(self, other)

    def as_queryable_state(
        self,
        queryable_state_name: str,
        state_descriptor: ValueStateDescriptor[T] | ReducingStateDescriptor[T] | None = None,
    ) -> DataStreamSink:
        """Keep the last record of each key as queryable state; with the descriptor of a reducing
        state, all records of a key reduced to one.

        Semantics: Flink docs, "Queryable State", Queryable State Stream.

        Raises:
            JobDefinitionError: the descriptor is of another kind of state.
            StateError: the name is empty, or the descriptor is queryable already.
        """
        known = self.declared_type()
        descriptor = state_descriptor or ValueStateDescriptor(queryable_state_name, known)
        if not isinstance(descriptor, (ValueStateDescriptor, ReducingStateDescriptor)):
            raise JobDefinitionError(
                "as_queryable_state() takes the descriptor of a value or reducing state, got "
                f"{state_descriptor!r}"
            )
        descriptor.set_queryable(queryable_state_name)
        function = QueryableSink(descriptor)
        factory = partial(KeyedProcessOperator, function, self._key_batch)
        transformation = self._transform("Queryable State", Role.SINK, factory, (function,))
        return self._env.add_sink_transformation(transformation)

    @overload
    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: None = None
    ) -> CloseableIterator[Any]: ...

    @overload
    def execute_and_collect(
        self, job_execution_name: str | None = None, *, limit: int
    ) -> list[Any]: ...

    @overload
    def execute_and_collect(self, job_execution_name: str | None, limit: int) -> list[Any]: ...

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> CloseableIterator[Any] | list[Any]:
        """Run the job and iterate over this stream's records; as in PyFlink, each element is a
        row of the key (``f0``) and the record (``f1``)."""
        function = WithKey(self._key_batch)
        pairs = self._then("Keys", partial(MapOperator, function), function)
        if limit is None:
            return pairs.execute_and_collect(job_execution_name)
        return pairs.execute_and_collect(job_execution_name, limit)

    def get_type(self) -> TypeInformation[Any]:
        """The type of the records."""
        return super().get_type()

    # -- not on a keyed stream: it is no operator, and its records are where their state is ----

    def _operator(self, method: str) -> NoReturn:
        raise JobDefinitionError(
            f"{method}() on a keyed stream names no operator; call it before key_by, or on the "
            "result of an operation on the keyed stream"
        )

    def _partitioned_by(self, method: str, partitioning: Partitioning) -> NoReturn:
        raise JobDefinitionError(
            f"{method}() on a keyed stream would undo key_by; call it before key_by, or on the "
            "result of an operation on the keyed stream"
        )

    def _reduce(self, name: str, function: Any) -> DataStream[T]:
        factory = partial(ReduceOperator, function, self._key_batch)
        stream = self._then(name, factory, function, output_type=self.declared_type())
        return cast("DataStream[T]", stream)
