"""Streams: what a program is made of. Every method only adds to the plan; nothing runs.

Semantics: Flink docs, "DataStream API: Operators".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from millrace.common.errors import JobDefinitionError
from millrace.common.functions import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    ProcessFunction,
    SinkFunction,
)
from millrace.common.key_selector import batch_keys, resolve_key_selector
from millrace.common.output_tag import OutputTag
from millrace.common.sink import Sink
from millrace.common.typeinfo import TypeInformation
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.datastream.checks import checked_function
from millrace.datastream.data_stream_sink import DataStreamSink, checked_parallelism
from millrace.plan.transformation import Input, Partitioning, Role, Transformation
from millrace.runtime.operator import Operator
from millrace.runtime.operators.collect import CollectOperator
from millrace.runtime.operators.filter import FilterOperator
from millrace.runtime.operators.flat_map import FlatMapOperator
from millrace.runtime.operators.map import MapOperator
from millrace.runtime.operators.process import ProcessOperator
from millrace.runtime.operators.sink import SinkOperator
from millrace.runtime.operators.sink_function import SinkFunctionOperator
from millrace.runtime.operators.timestamps import TimestampsOperator
from millrace.runtime.program import Exchange

if TYPE_CHECKING:
    from millrace.datastream.collected import CloseableIterator
    from millrace.datastream.keyed_stream import KeyedStream
    from millrace.datastream.stream_execution_environment import StreamExecutionEnvironment

T = TypeVar("T")
U = TypeVar("U")
K = TypeVar("K")


class DataStream(Generic[T]):
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

    # -- about the stream --------------------------------------------------------------

    def get_name(self) -> str:
        """The name of the operator that makes this stream."""
        return self._transformation.name

    def name(self, name: str) -> DataStream[T]:
        """Name the operator, for logs and error messages."""
        self._operator("name").name = name
        return self

    def uid(self, uid: str) -> DataStream[T]:
        """Give the operator a fixed id, under which its state is found again."""
        self._operator("uid").uid = uid
        return self

    def set_description(self, description: str) -> DataStream[T]:
        """Describe the operator, for the plan."""
        self._operator("set_description").description = description
        return self

    def set_parallelism(self, parallelism: int) -> DataStream[T]:
        """How many subtasks run the operator."""
        checked = checked_parallelism(parallelism)
        self._operator("set_parallelism").parallelism = checked
        return self

    def disable_chaining(self) -> DataStream[T]:
        """Run the operator in a stage of its own, before and behind an exchange."""
        self._operator("disable_chaining").chaining = False
        return self

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """The environment that the stream belongs to."""
        return self._env

    @property
    def _transformation(self) -> Transformation:
        return self._inputs[0].transformation

    def _operator(self, method: str) -> Transformation:
        """The operator whose result this stream is, to be changed by ``method``."""
        first = self._inputs[0]
        if len(self._inputs) == 1 and first.tag is None and first.partitioning is None:
            return first.transformation
        raise JobDefinitionError(
            f"{method}() changes one operator, but this stream is a union, a side output or a "
            f"repartitioned stream; call it on the result of an operator, such as "
            f"'{first.transformation.name}'"
        )

    # -- one record at a time ----------------------------------------------------------

    def map(
        self,
        func: MapFunction[T, U] | Callable[[T], U],
        output_type: TypeInformation | None = None,
    ) -> DataStream[U]:
        """One record out for each one in."""
        checked_function(func, MapFunction, "map")
        return self._then("Map", partial(MapOperator, func), func)

    def flat_map(
        self,
        func: FlatMapFunction[T, U] | Callable[[T], Iterable[U] | None],
        output_type: TypeInformation | None = None,
    ) -> DataStream[U]:
        """Any number of records out: all that the function returns or yields."""
        checked_function(func, FlatMapFunction, "flat_map")
        return self._then("Flat Map", partial(FlatMapOperator, func), func)

    def filter(self, func: FilterFunction[T] | Callable[[T], bool]) -> DataStream[T]:
        """Keep the records for which the function is true."""
        checked_function(func, FilterFunction, "filter")
        return self._then("Filter", partial(FilterOperator, func), func)

    def process(
        self, func: ProcessFunction[T, U], output_type: TypeInformation | None = None
    ) -> DataStream[U]:
        """Run a `ProcessFunction`: event times and side outputs (``yield tag, value``)."""
        keyed: Any = func
        if isinstance(keyed, KeyedProcessFunction):
            raise JobDefinitionError(
                f"process() got a {type(func).__name__}, which is a KeyedProcessFunction, on a "
                "stream without keys; call key_by before it"
            )
        checked_function(func, ProcessFunction, "process", plain=False)
        return self._then("Process", partial(ProcessOperator, func), func)

    def assign_timestamps_and_watermarks(
        self, watermark_strategy: WatermarkStrategy[Any]
    ) -> DataStream[T]:
        """Give records event times, and the stream watermarks."""
        if not isinstance(watermark_strategy, WatermarkStrategy):
            raise JobDefinitionError(
                "assign_timestamps_and_watermarks() takes a WatermarkStrategy, got "
                f"{watermark_strategy!r}"
            )
        operator = partial(TimestampsOperator, watermark_strategy)
        return self._then("Timestamps/Watermarks", operator, watermark_strategy)

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

    def get_side_output(self, output_tag: OutputTag[U]) -> DataStream[U]:
        """What the operator yielded with this tag."""
        if not isinstance(output_tag, OutputTag):
            raise JobDefinitionError(f"get_side_output() takes an OutputTag, got {output_tag!r}")
        return DataStream(self._env, [Input(self._operator("get_side_output"), output_tag)])

    # -- how records are spread --------------------------------------------------------

    def key_by(
        self,
        key_selector: Callable[[T], K] | KeySelector[T, K] | str | int | Sequence[str | int],
        key_type: TypeInformation | None = None,
    ) -> KeyedStream[T, K]:
        """Partition by key: all records of a key come to the same subtask, where its state is.

        The selector is a function, a `KeySelector`, or names or positions of fields. Keys are
        of types with a stable encoding: str, int, float, bytes, bool, None, Decimal, Fraction,
        complex, dates and times, UUID, enums, rows, frozen dataclasses, tuples and frozensets of
        these.
        """
        from millrace.datastream.keyed_stream import KeyedStream

        partitioning = Partitioning(
            Exchange.KEYED, resolve_key_selector(key_selector), batch_keys(key_selector)
        )
        return KeyedStream(self._env, self._partitioned(partitioning), partitioning)

    def rebalance(self) -> DataStream[T]:
        """Deal records out to the subtasks in turn."""
        return DataStream(self._env, self._partitioned(Partitioning(Exchange.REBALANCE)))

    def shuffle(self) -> DataStream[T]:
        """Send each record to a random subtask."""
        return DataStream(self._env, self._partitioned(Partitioning(Exchange.SHUFFLE)))

    def broadcast(self) -> DataStream[T]:
        """Send each record to every subtask."""
        return DataStream(self._env, self._partitioned(Partitioning(Exchange.BROADCAST)))

    def forward(self) -> DataStream[T]:
        """Keep each record in its subtask."""
        return DataStream(self._env, self._partitioned(Partitioning(Exchange.FORWARD)))

    def _partitioned(self, partitioning: Partitioning) -> list[Input]:
        return [Input(i.transformation, i.tag, partitioning) for i in self._inputs]

    # -- the end of a stream -----------------------------------------------------------

    def sink_to(self, sink: Sink[T]) -> DataStreamSink:
        """Write the stream to a sink."""
        if not isinstance(sink, Sink):
            raise JobDefinitionError(f"sink_to() takes a Sink, got {sink!r}")
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
        """Print every record in the client, once its epoch has been committed.

        A line is the value, behind ``sink_identifier`` and the number of the subtask if there
        are several.
        """
        from millrace.datastream.collected import Printer

        transformation = self._collecting("Print")
        self._env.add_result_handler(transformation, Printer(sink_identifier))
        return self._env.add_sink_transformation(transformation)

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> CloseableIterator[T] | list[T]:
        """Run the job and iterate over this stream's records; with ``limit``, a list of so many.

        A record is seen once its epoch has been committed. Close the iterator (it is a context
        manager) to cancel the job before its end.
        """
        from millrace.datastream.collected import collect

        collecting = self._collecting("Collect")
        # no exchange in between: each subtask's order stays
        collecting.parallelism = max(i.transformation.parallelism for i in self._inputs)
        iterator: CloseableIterator[T] = collect(self._env, collecting, job_execution_name)
        return iterator if limit is None else iterator.take(limit)

    def _collecting(self, name: str) -> Transformation:
        return self._transform(name, Role.COLLECT, CollectOperator, ())

    # -- building ----------------------------------------------------------------------

    def _then(self, name: str, factory: Callable[[], Operator], function: Any) -> DataStream[Any]:
        transformation = self._transform(name, Role.OPERATOR, factory, (function,))
        return DataStream(self._env, [Input(transformation)])

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
            functions=functions,
            sink=sink,
        )
