"""Two streams handled by one function, which shares state between them.

Semantics: Flink docs, "DataStream API: Operators" (Connect) and "The Broadcast State Pattern".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from millrace.common.errors import JobDefinitionError
from millrace.common.functions.base import KeySelector
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
from millrace.common.state.descriptors import MapStateDescriptor
from millrace.common.types.typeinfo import TypeInformation
from millrace.datastream.checks import checked_function
from millrace.datastream.operator_settings import OperatorSettings
from millrace.job_graph.transformation import Input
from millrace.runtime.operator import Operator
from millrace.runtime.operators.broadcast_process import (
    BroadcastProcessOperator,
    KeyedBroadcastProcessOperator,
)
from millrace.runtime.operators.co_map import CoFlatMapOperator, CoMapOperator
from millrace.runtime.operators.co_process import (
    CoProcessOperator,
    KeyedCoFlatMap,
    KeyedCoMap,
    KeyedCoProcessOperator,
)

if TYPE_CHECKING:
    from millrace.datastream.stream import DataStream

T1 = TypeVar("T1")
T2 = TypeVar("T2")
U = TypeVar("U")
Selector = Callable[[T1], Any] | KeySelector[T1, Any] | str | int | Sequence[str | int]
"""Key selector as in `DataStream.key_by`."""


class ConnectedStreams(Generic[T1, T2]):
    """Two connected streams. Flink: class ``ConnectedStreams``.

    Example:
        >>> from millrace.datastream import StreamExecutionEnvironment
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> numbers, words = env.from_collection([1]), env.from_collection(["a"])
        >>> class Both(CoMapFunction):
        ...     def map1(self, value):
        ...         return str(value)
        ...     def map2(self, value):
        ...         return value.upper()
        >>> numbers.connect(words).map(Both()).get_name()
        'Co-Map'
    """

    def __init__(self, stream1: DataStream[T1], stream2: DataStream[T2]) -> None:
        self.stream1 = stream1
        self.stream2 = stream2

    def key_by(
        self,
        key_selector1: Selector[T1],
        key_selector2: Selector[T2],
        key_type: TypeInformation[Any] | None = None,
    ) -> ConnectedStreams[T1, T2]:
        """Partition both streams by key: records with equal keys go to the same subtask, where
        they share keyed state and timers."""
        return ConnectedStreams(
            self.stream1.key_by(key_selector1, key_type),
            self.stream2.key_by(key_selector2, key_type),
        )

    def map(
        self, func: CoMapFunction[T1, T2, U], output_type: TypeInformation[Any] | None = None
    ) -> DataStream[U]:
        """Apply a function from one record to one record; on keyed streams it may use keyed
        state."""
        checked_function(func, CoMapFunction, "map", plain=False)
        keys = self._key_batches()
        if keys is None:
            return self._then("Co-Map", partial(CoMapOperator, func), func, output_type)
        factory = partial(KeyedCoProcessOperator, KeyedCoMap(func), keys)
        return self._then("Co-Map", factory, func, output_type)

    def flat_map(
        self, func: CoFlatMapFunction[T1, T2, U], output_type: TypeInformation[Any] | None = None
    ) -> DataStream[U]:
        """Apply a function from one record to any number of records; on keyed streams it may use
        keyed state."""
        checked_function(func, CoFlatMapFunction, "flat_map", plain=False)
        keys = self._key_batches()
        if keys is None:
            return self._then("Co-Flat Map", partial(CoFlatMapOperator, func), func, output_type)
        factory = partial(KeyedCoProcessOperator, KeyedCoFlatMap(func), keys)
        return self._then("Co-Flat Map", factory, func, output_type)

    def process(
        self,
        func: CoProcessFunction[T1, T2, U] | KeyedCoProcessFunction[Any, T1, T2, U],
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[U]:
        """Run a `CoProcessFunction`, or on keyed streams a `KeyedCoProcessFunction`."""
        keys = self._key_batches()
        if isinstance(func, KeyedCoProcessFunction) and keys is None:
            raise JobDefinitionError(
                f"process() got a {type(func).__name__}, which is a KeyedCoProcessFunction, on "
                "connected streams that are not both keyed; call key_by before it"
            )
        if isinstance(func, KeyedCoProcessFunction) or keys is not None:
            wanted = (
                CoProcessFunction
                if isinstance(func, CoProcessFunction)
                else (KeyedCoProcessFunction)
            )
            checked_function(func, wanted, "process", plain=False)
            assert keys is not None
            factory = partial(KeyedCoProcessOperator, func, keys)
            return self._then("Co-Process", factory, func, output_type)
        checked_function(func, CoProcessFunction, "process", plain=False)
        return self._then("Co-Process", partial(CoProcessOperator, func), func, output_type)

    def _key_batches(self) -> tuple[Any, Any] | None:
        """Key functions of both streams, if both have keys."""
        batches = [getattr(stream, "_key_batch", None) for stream in (self.stream1, self.stream2)]
        return None if None in batches else (batches[0], batches[1])

    def _then(
        self,
        name: str,
        factory: Callable[[], Operator],
        func: Any,
        output_type: TypeInformation[Any] | None,
    ) -> DataStream[Any]:
        inputs = numbered(self.stream1, 0) + numbered(self.stream2, 1)
        return self.stream1._then(name, factory, func, inputs, output_type)


class BroadcastStream(Generic[T1]):
    """A stream that goes to every subtask, with the broadcast states that it fills."""

    def __init__(
        self,
        stream: DataStream[T1],
        descriptors: Sequence[MapStateDescriptor[Any, Any]],
    ) -> None:
        for descriptor in descriptors:
            if not isinstance(descriptor, MapStateDescriptor):
                raise JobDefinitionError(
                    f"broadcast() takes MapStateDescriptors, got {descriptor!r}"
                )
        self.stream = stream
        self.descriptors = tuple(descriptors)


class BroadcastConnectedStream(Generic[T1, T2]):
    """A stream and a broadcast stream. Flink: class ``BroadcastConnectedStream``."""

    def __init__(self, stream: DataStream[T1], broadcast: BroadcastStream[T2]) -> None:
        self._stream = stream
        self._broadcast = broadcast

    def process(
        self,
        func: BroadcastProcessFunction[T1, T2, U] | KeyedBroadcastProcessFunction[Any, T1, T2, U],
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[U]:
        """Run a `KeyedBroadcastProcessFunction` on a keyed stream, else a
        `BroadcastProcessFunction`."""
        from millrace.datastream.keyed_stream import KeyedStream

        keyed = isinstance(self._stream, KeyedStream)
        wanted = KeyedBroadcastProcessFunction if keyed else BroadcastProcessFunction
        if isinstance(func, BroadcastProcessFunction if keyed else KeyedBroadcastProcessFunction):
            raise JobDefinitionError(
                f"process() takes a {wanted.__name__} here, got {type(func).__name__}: the stream "
                f"is {'keyed' if keyed else 'not keyed; call key_by before connect'}"
            )
        checked_function(func, wanted, "process", plain=False)
        descriptors = self._broadcast.descriptors
        factory: Callable[[], Operator]
        if isinstance(self._stream, KeyedStream):
            key_batch = self._stream._key_batch
            factory = partial(KeyedBroadcastProcessOperator, func, key_batch, descriptors)
        else:
            factory = partial(BroadcastProcessOperator, func, descriptors)
        # first, so that within an epoch the rules are there before the records they are for
        inputs = numbered(self._broadcast.stream, 1) + numbered(self._stream, 0)
        name = "Co-Process-Broadcast"
        return self._stream._then(name, factory, func, inputs, output_type)


def numbered(stream: DataStream[Any], number: int) -> list[Input]:
    """The inputs of a stream, numbered as one side of an operator."""
    return [replace(source, number=number) for source in stream._inputs]


def checked_same_environment(method: str, first: DataStream[Any], second: DataStream[Any]) -> None:
    """Raise JobDefinitionError unless both streams belong to the same job."""
    if not isinstance(second, OperatorSettings):
        raise JobDefinitionError(f"{method}() takes a stream, got {second!r}")
    if first.get_execution_environment() is not second.get_execution_environment():
        raise JobDefinitionError(
            f"{method}() takes streams of one job, but these are of two environments; build both "
            "with the same StreamExecutionEnvironment"
        )
