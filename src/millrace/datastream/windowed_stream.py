"""Keyed streams cut into windows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from millrace.common.errors import JobDefinitionError
from millrace.common.functions import (
    AggregateFunction,
    ProcessWindowFunction,
    ReduceFunction,
    WindowFunction,
)
from millrace.common.output_tag import OutputTag
from millrace.common.typeinfo import TypeInformation
from millrace.common.window import WindowAssigner
from millrace.datastream.checks import checked_function
from millrace.runtime.operators.window import WindowLogic, WindowOperator

if TYPE_CHECKING:
    from millrace.datastream.data_stream import DataStream
    from millrace.datastream.keyed_stream import KeyedStream
    from millrace.datastream.stream_execution_environment import StreamExecutionEnvironment

T = TypeVar("T")
WindowFunctionLike = WindowFunction[Any, Any, Any, Any] | ProcessWindowFunction[Any, Any, Any, Any]


class WindowedStream(Generic[T]):
    """Records of a keyed stream in windows. Flink: class ``WindowedStream``; docs, "Windows"."""

    def __init__(
        self, stream: KeyedStream[T, Any], window_assigner: WindowAssigner[Any, Any]
    ) -> None:
        self._stream = stream
        self._assigner = window_assigner
        self._late_tag: OutputTag[Any] | None = None

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """The environment that the stream belongs to."""
        return self._stream.get_execution_environment()

    def side_output_late_data(self, output_tag: OutputTag[T]) -> WindowedStream[T]:
        """Send records that come after their window has fired to a side output. Without one they
        are dropped and counted (metric ``numLateRecordsDropped``)."""
        if not isinstance(output_tag, OutputTag):
            raise JobDefinitionError(
                f"side_output_late_data() takes an OutputTag, got {output_tag!r}"
            )
        self._late_tag = output_tag
        return self

    def reduce(
        self,
        reduce_function: ReduceFunction[T] | Callable[[T, T], T],
        window_function: WindowFunctionLike | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream[Any]:
        """Combine each window's records, one by one as they come."""
        checked_function(reduce_function, ReduceFunction, "reduce")
        logic = WindowLogic(reduce=reduce_function, window_function=_checked(window_function))
        return self._apply("Window Reduce", logic)

    def aggregate(
        self,
        aggregate_function: AggregateFunction[T, Any, Any],
        window_function: WindowFunctionLike | None = None,
        accumulator_type: TypeInformation | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream[Any]:
        """Aggregate each window's records, one by one as they come."""
        checked_function(aggregate_function, AggregateFunction, "aggregate", plain=False)
        logic = WindowLogic(aggregate=aggregate_function, window_function=_checked(window_function))
        return self._apply("Window Aggregate", logic)

    def apply(
        self,
        window_function: WindowFunction[T, Any, Any, Any],
        output_type: TypeInformation | None = None,
    ) -> DataStream[Any]:
        """Run a function over all the records of each window."""
        checked_function(window_function, WindowFunction, "apply", plain=False)
        return self._apply("Window Apply", WindowLogic(window_function=window_function))

    def process(
        self,
        process_window_function: ProcessWindowFunction[T, Any, Any, Any],
        output_type: TypeInformation | None = None,
    ) -> DataStream[Any]:
        """Run a function over all the records of each window, with the window's context."""
        checked_function(process_window_function, ProcessWindowFunction, "process", plain=False)
        return self._apply("Window Process", WindowLogic(window_function=process_window_function))

    def _apply(self, name: str, logic: WindowLogic) -> DataStream[Any]:
        factory = partial(
            WindowOperator, self._assigner, logic, self._stream._key_batch, self._late_tag
        )
        return self._stream._then(name, factory, logic)


def _checked(function: Any) -> Any:
    if function is not None and not isinstance(function, (WindowFunction, ProcessWindowFunction)):
        raise JobDefinitionError(
            f"window_function is a WindowFunction or a ProcessWindowFunction, got {function!r}"
        )
    return function
