"""Streams, from which programs are built. Methods only add to the plan; nothing runs.

Semantics: Flink docs, "DataStream API: Operators".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from millrace.common.errors import JobDefinitionError
from millrace.common.functions.base import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    ProcessFunction,
    SinkFunction,
)
from millrace.common.functions.batch_functions import MapBatchFunction
from millrace.common.functions.key_selector import batch_keys, resolve_key_selector
from millrace.common.functions.output_tag import OutputTag
from millrace.common.functions.partitioner import Partitioner
from millrace.common.sink.sink import Sink
from millrace.common.state.descriptors import MapStateDescriptor
from millrace.common.time.watermark_strategy import WatermarkStrategy
from millrace.common.types.typeinfo import TypeInformation
from millrace.common.window import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
    CountWindow,
    WindowAssigner,
)
from millrace.datastream.checks import (
    built_or_not,
    checked_assigner,
    checked_function,
    checked_key_type,
)
from millrace.datastream.connected_streams import (
    BroadcastConnectedStream,
    BroadcastStream,
    ConnectedStreams,
    checked_same_environment,
)
from millrace.datastream.data_stream_sink import DataStreamSink
from millrace.datastream.joined_streams import CoGroupedStreams, JoinedStreams
from millrace.datastream.operator_settings import OperatorSettings
from millrace.job_graph.transformation import Input, Partitioning, Role, Transformation
from millrace.runtime.aggregations import TupleProjection
from millrace.runtime.declared_output import with_declared_output
from millrace.runtime.operator import Operator
from millrace.runtime.operators.collect import CollectOperator
from millrace.runtime.operators.filter import FilterOperator
from millrace.runtime.operators.flat_map import FlatMapOperator
from millrace.runtime.operators.map import MapOperator
from millrace.runtime.operators.map_batches import (
    BatchSpec,
    MapBatchesOperator,
    checked_batches,
)
from millrace.runtime.operators.process import ProcessOperator
from millrace.runtime.operators.sink import SinkOperator
from millrace.runtime.operators.sink_function import SinkFunctionOperator
from millrace.runtime.operators.timestamps import TimestampsOperator
from millrace.runtime.program import Exchange

if TYPE_CHECKING:
    from millrace.datastream.all_windowed_stream import AllWindowedStream
    from millrace.datastream.collected import CloseableIterator
    from millrace.datastream.iterative_stream import IterativeStream
    from millrace.datastream.keyed_stream import KeyedStream
    from millrace.datastream.stream_execution_environment import StreamExecutionEnvironment

T = TypeVar("T")
U = TypeVar("U")
K = TypeVar("K")
W = TypeVar("W")


class DataStream(OperatorSettings, Generic[T]):
    """A stream of records of type ``T``.

    Example:
        >>> from millrace.datastream import StreamExecutionEnvironment
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> words = env.from_collection(["to be", "or not"]).flat_map(str.split)
        >>> words.get_name()
        'Flat Map'
    """

    def __init__(self, env: StreamExecutionEnvironment, inputs: Sequence[Input]) -> None:
        self._env = env
        self._inputs = tuple(inputs)

    # -- one record at a time ----------------------------------------------------------

    def map(
        self,
        func: MapFunction[T, U] | Callable[[T], U],
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[U]:
        """Apply a function from one record to one record."""
        checked_function(func, MapFunction, "map")
        return self._then("Map", partial(MapOperator, func), func, output_type=output_type)

    def flat_map(
        self,
        func: FlatMapFunction[T, U] | Callable[[T], Iterable[U] | None],
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[U]:
        """Apply a function from one record to all records that it returns or yields."""
        checked_function(func, FlatMapFunction, "flat_map")
        factory = partial(FlatMapOperator, func)
        return self._then("Flat Map", factory, func, output_type=output_type)

    def filter(self, func: FilterFunction[T] | Callable[[T], bool]) -> DataStream[T]:
        """Keep the records for which the function is true."""
        checked_function(func, FilterFunction, "filter")
        return self._of_same_type(self._then("Filter", partial(FilterOperator, func), func))

    def map_batches(
        self,
        func: MapBatchFunction | Callable[[Any], Any],
        batch_format: str = "arrow",
        records: str = "dict",
        timestamp_column: str | None = None,
    ) -> DataStream[Any]:
        """Call a vectorised function with whole batches of records.

        Records become columns: fields of dicts, rows, named tuples and dataclasses by name, of
        tuples as f0, f1, ..., a plain value as the column ``value``. Between vectorised functions
        batches stay columnar, also across forward, rebalance, rescale, global and broadcast
        exchanges; a function that wants records one by one gets them as ``records`` says.

        Args:
            func: takes a batch; returns one, an iterator of several, or None.
            batch_format: ``arrow`` (`pyarrow.RecordBatch`), ``pandas`` or ``polars``.
            records: ``dict``, ``row``, ``tuple`` or ``value``.
            timestamp_column: gives the function the event times (ms) in a column of that name,
                and takes them from its result: whole numbers, or all missing for records without
                event time. Needed when the number of records changes.

        Raises:
            JobDefinitionError: a library is missing, or an argument is none of these.

        Example:
            >>> from millrace.datastream import StreamExecutionEnvironment
            >>> env = StreamExecutionEnvironment.get_execution_environment()
            >>> numbers = env.from_collection([1, 2, 3])
            >>> numbers.map_batches(lambda batch: batch.slice(1)).get_name()
            'Map Batches'
        """
        if not isinstance(func, MapBatchFunction):
            checked_function(func, MapBatchFunction, "map_batches")
        spec = checked_batches("map_batches", BatchSpec(batch_format, records, timestamp_column))
        return self._then("Map Batches", partial(MapBatchesOperator, func, spec), func)

    def project(self, *field_indexes: int | str) -> DataStream[tuple[Any, ...]]:
        """Tuples of some of the fields, by position or name.

        Raises:
            JobDefinitionError: no field is named.
        """
        if not field_indexes:
            raise JobDefinitionError("project() needs the positions or names of fields")
        fields = TupleProjection(field_indexes)
        return self._then("TupleProjection", partial(MapOperator, fields), fields)

    def process(
        self, func: ProcessFunction[T, U], output_type: TypeInformation[Any] | None = None
    ) -> DataStream[U]:
        """Run a `ProcessFunction`, which sees event times and may emit to side outputs
        (``yield tag, value``)."""
        keyed: Any = func
        if isinstance(keyed, KeyedProcessFunction):
            raise JobDefinitionError(
                f"process() got a {type(func).__name__}, which is a KeyedProcessFunction, on a "
                "stream without keys; call key_by before it"
            )
        checked_function(func, ProcessFunction, "process", plain=False)
        factory = partial(ProcessOperator, func)
        return self._then("Process", factory, func, output_type=output_type)

    def assign_timestamps_and_watermarks(
        self, watermark_strategy: WatermarkStrategy[Any]
    ) -> DataStream[T]:
        """Assign event times to records, and watermarks to the stream."""
        if not isinstance(watermark_strategy, WatermarkStrategy):
            raise JobDefinitionError(
                "assign_timestamps_and_watermarks() takes a WatermarkStrategy, got "
                f"{watermark_strategy!r}"
            )
        operator = partial(TimestampsOperator, watermark_strategy)
        stream = self._then("Timestamps/Watermarks", operator, watermark_strategy)
        return self._of_same_type(stream)

    # -- several streams ---------------------------------------------------------------

    def union(self, *streams: DataStream[T]) -> DataStream[T]:
        """This stream and others of the same type as one."""
        inputs = list(self._inputs)
        for stream in streams:
            if not isinstance(stream, DataStream):
                raise JobDefinitionError(f"union() takes streams, got {stream!r}")
            if stream._env is not self._env:
                raise JobDefinitionError(
                    "union() takes streams of one job, but these are of two environments; build "
                    "both with the same StreamExecutionEnvironment"
                )
            inputs.extend(stream._inputs)
        return DataStream(self._env, inputs)

    @overload
    def connect(self, ds: BroadcastStream[U]) -> BroadcastConnectedStream[T, U]: ...

    @overload
    def connect(self, ds: DataStream[U]) -> ConnectedStreams[T, U]: ...

    def connect(
        self, ds: DataStream[U] | BroadcastStream[U]
    ) -> ConnectedStreams[T, U] | BroadcastConnectedStream[T, U]:
        """Connect this stream with another one, for a function of both streams with shared
        state. The other stream may be a broadcast stream."""
        if isinstance(ds, BroadcastStream):
            checked_same_environment("connect", self, ds.stream)
            return BroadcastConnectedStream(self, ds)
        if not isinstance(ds, DataStream):
            raise JobDefinitionError(f"connect() takes a stream or a broadcast stream, got {ds!r}")
        checked_same_environment("connect", self, ds)
        return ConnectedStreams(self, ds)

    def join(self, other: DataStream[U]) -> JoinedStreams[T, U]:
        """Pair this stream's records with those of another stream, by key and window:
        ``.where(key).equal_to(key).window(assigner).apply(function)``."""
        return JoinedStreams(self, other)

    def co_group(self, other: DataStream[U]) -> CoGroupedStreams[T, U]:
        """Group this stream's records with those of another stream, by key and window:
        ``.where(key).equal_to(key).window(assigner).apply(function)``."""
        return CoGroupedStreams(self, other)

    def window_all(self, window_assigner: WindowAssigner[Any, W]) -> AllWindowedStream[T, W]:
        """Assign the records of the whole stream to windows, in one subtask."""
        from millrace.datastream.all_windowed_stream import AllWindowedStream

        return AllWindowedStream(self, checked_assigner("window_all", window_assigner))

    def count_window_all(self, size: int, slide: int = 0) -> AllWindowedStream[T, CountWindow]:
        """Windows of ``size`` records of the whole stream, in one subtask."""
        if slide:
            return self.window_all(CountSlidingWindowAssigner.of(size, slide))
        return self.window_all(CountTumblingWindowAssigner.of(size))

    def get_side_output(self, output_tag: OutputTag[U]) -> DataStream[U]:
        """Stream of the records that the operator yielded with this tag."""
        if not isinstance(output_tag, OutputTag):
            raise JobDefinitionError(f"get_side_output() takes an OutputTag, got {output_tag!r}")
        return DataStream(self._env, [Input(self._operator("get_side_output"), output_tag)])

    # -- how records are spread --------------------------------------------------------

    @overload
    def key_by(
        self,
        key_selector: Callable[[T], K] | KeySelector[T, K],
        key_type: TypeInformation[Any] | None = None,
    ) -> KeyedStream[T, K]: ...

    @overload
    def key_by(
        self,
        key_selector: str | int | Sequence[str | int],
        key_type: TypeInformation[Any] | None = None,
    ) -> KeyedStream[T, Any]: ...

    def key_by(
        self,
        key_selector: Callable[[T], Any] | KeySelector[T, Any] | str | int | Sequence[str | int],
        key_type: TypeInformation[Any] | None = None,
    ) -> KeyedStream[T, Any]:
        """Partition by key: all records of a key go to the same subtask, which has their state.

        The selector is a function, a `KeySelector`, or names or positions of fields. Keys are
        of types with a stable encoding: str, int, float, bytes, bool, None, Decimal, Fraction,
        complex, dates and times, UUID, enums, rows, dataclasses that can be hashed (frozen ones),
        tuples and frozensets of these; a list keys like the tuple of its items. With ``key_type``,
        keys are written as plain data with their type, not pickled; a key of another type fails the
        job, and the error names the record::

            @dataclass(frozen=True)
            class Place:
                country: str
                city: str

            sales.key_by(lambda sale: Place(sale[0], sale[1]), key_type=Types.of(Place))

        Raises:
            JobDefinitionError: values of the type cannot be keys; the error says what to use.
        """
        from millrace.datastream.keyed_stream import KeyedStream

        partitioning = Partitioning(
            Exchange.KEYED,
            resolve_key_selector(key_selector),
            batch_keys(key_selector),
            key_type=checked_key_type("key_by", key_type),
        )
        return KeyedStream(self._env, self._partitioned(partitioning), partitioning)

    def partition_custom(
        self,
        partitioner: Partitioner | Callable[[K, int], int],
        key_selector: Callable[[T], K] | KeySelector[T, K] | str | int | Sequence[str | int],
    ) -> DataStream[T]:
        """Send each record to the subtask that ``partitioner(key, number of subtasks)`` names."""
        checked_function(partitioner, Partitioner, "partition_custom")
        partitioning = Partitioning(
            Exchange.CUSTOM,
            resolve_key_selector(key_selector),
            batch_keys(key_selector),
            partitioner=partitioner,
        )
        return self._partitioned_by("partition_custom", partitioning)

    def rebalance(self) -> DataStream[T]:
        """Distribute records to all subtasks in turn."""
        return self._partitioned_by("rebalance", Partitioning(Exchange.REBALANCE))

    def rescale(self) -> DataStream[T]:
        """Distribute records in turn, from each subtask to only some of the next ones."""
        return self._partitioned_by("rescale", Partitioning(Exchange.RESCALE))

    def global_(self) -> DataStream[T]:
        """Send all records to the first subtask. (Flink: ``global``, a keyword of Python.)"""
        return self._partitioned_by("global_", Partitioning(Exchange.GLOBAL))

    def shuffle(self) -> DataStream[T]:
        """Send each record to a random subtask."""
        return self._partitioned_by("shuffle", Partitioning(Exchange.SHUFFLE))

    @overload
    def broadcast(self) -> DataStream[T]: ...

    @overload
    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor[Any, Any],
        *other_broadcast_state_descriptors: MapStateDescriptor[Any, Any],
    ) -> BroadcastStream[T]: ...

    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor[Any, Any] | None = None,
        *other_broadcast_state_descriptors: MapStateDescriptor[Any, Any],
    ) -> DataStream[T] | BroadcastStream[T]:
        """Send each record to every subtask. With descriptors, the stream fills broadcast state
        (see `connect`)."""
        stream = self._partitioned_by("broadcast", Partitioning(Exchange.BROADCAST))
        if broadcast_state_descriptor is None:
            return stream
        descriptors = (broadcast_state_descriptor, *other_broadcast_state_descriptors)
        return BroadcastStream(stream, descriptors)

    def forward(self) -> DataStream[T]:
        """Keep each record in its subtask."""
        return self._partitioned_by("forward", Partitioning(Exchange.FORWARD))

    def _partitioned_by(self, method: str, partitioning: Partitioning) -> DataStream[T]:
        return DataStream(self._env, self._partitioned(partitioning))

    def _partitioned(self, partitioning: Partitioning) -> list[Input]:
        return [Input(i.transformation, i.tag, partitioning) for i in self._inputs]

    # -- loops -------------------------------------------------------------------------

    def iterate(self, max_wait_time_millis: int = 0) -> IterativeStream[T]:
        """Begin a loop: ``close_with`` of the result feeds a stream back to this point.

        ``max_wait_time_millis`` is accepted for Flink's sake and not needed: the loop ends when
        its inputs have ended and nothing goes round any more.
        """
        from millrace.datastream.iterative_stream import IterativeStream

        return IterativeStream(self)

    # -- the end of a stream -----------------------------------------------------------

    def sink_to(self, sink: Sink[T]) -> DataStreamSink:
        """Write the stream to a sink."""
        if not isinstance(sink, Sink):
            raise JobDefinitionError(f"sink_to() takes a Sink, got {built_or_not(sink)}")
        transformation = self._transform(
            "Sink", Role.SINK, partial(SinkOperator, sink), (sink,), sink=sink
        )
        return self._env.add_sink_transformation(transformation)

    def add_sink(self, sink_func: SinkFunction[T] | Callable[[T], Any] | Sink[T]) -> DataStreamSink:
        """Call a function for every record (at least once), or write to a sink."""
        if isinstance(sink_func, Sink):
            return self.sink_to(sink_func)
        checked_function(sink_func, SinkFunction, "add_sink")
        factory = partial(SinkFunctionOperator, sink_func)
        transformation = self._transform("Sink", Role.SINK, factory, (sink_func,))
        return self._env.add_sink_transformation(transformation)

    def print(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Print every record in the client, after its epoch is committed.

        A line is the value, behind ``sink_identifier`` and the number of the subtask if there
        are several.
        """
        from millrace.datastream.collected import Printer

        transformation = self._collecting("Print")
        self._env.add_result_handler(transformation, Printer(sink_identifier))
        return self._env.add_sink_transformation(transformation)

    @overload
    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: None = None
    ) -> CloseableIterator[T]: ...

    @overload
    def execute_and_collect(
        self, job_execution_name: str | None = None, *, limit: int
    ) -> list[T]: ...

    @overload
    def execute_and_collect(self, job_execution_name: str | None, limit: int) -> list[T]: ...

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> CloseableIterator[T] | list[T]:
        """Run the job and iterate over this stream's records; with ``limit``, return a list of that
        many.

        A record is seen once its epoch has been committed. Close the iterator (it is a context
        manager) to cancel the job before its end.
        """
        collecting = self._collecting("Collect")
        # no exchange in between: each subtask's order stays
        widest = max((i.transformation for i in self._inputs), key=lambda t: t.parallelism)
        collecting.parallelism = widest.parallelism
        collecting.fixed_parallelism = widest.fixed_parallelism
        iterator: CloseableIterator[T] = self._env.collect_records(collecting, job_execution_name)
        return iterator if limit is None else iterator.take(limit)

    def _collecting(self, name: str) -> Transformation:
        return self._transform(name, Role.COLLECT, CollectOperator, ())

    # -- building ----------------------------------------------------------------------

    def _then(
        self,
        name: str,
        factory: Callable[[], Operator],
        function: Any,
        inputs: Sequence[Input] | None = None,
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[Any]:
        factory = with_declared_output(factory, output_type)
        transformation = self._transform(name, Role.OPERATOR, factory, (function,))
        if inputs is not None:
            transformation.inputs = tuple(inputs)
        transformation.output_type = output_type
        return DataStream(self._env, [Input(transformation)])

    def _of_same_type(self, stream: DataStream[Any]) -> DataStream[Any]:
        """This stream's declared type for another stream with the same records."""
        stream._transformation.output_type = self.declared_type()
        return stream

    def _transform(
        self,
        name: str,
        role: Role,
        factory: Callable[[], Operator],
        functions: tuple[Any, ...],
        sink: Sink[Any] | None = None,
    ) -> Transformation:
        return Transformation(
            name=name,
            role=role,
            factory=factory,
            inputs=self._inputs,
            parallelism=self._env.get_parallelism(),
            chaining=self._env.is_chaining_enabled(),
            functions=functions,
            sink=sink,
        )
