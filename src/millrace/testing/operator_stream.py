"""The stream around the operator that a harness is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from millrace.common.state.descriptors import MapStateDescriptor
from millrace.datastream.keyed_stream import KeyedStream
from millrace.datastream.stream import DataStream
from millrace.datastream.stream_execution_environment import StreamExecutionEnvironment

Build = Callable[[Any], DataStream[Any]]
Descriptors = Sequence[MapStateDescriptor[Any, Any]]


def operator_stream(
    what: Any, key_by: Any, key_by2: Any, broadcast_state: Descriptors
) -> DataStream[Any]:
    """The stream with the operator to test: ``what`` itself, or a stream made with it; raises
    JobDefinitionError for objects that make no stream.
    """
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
