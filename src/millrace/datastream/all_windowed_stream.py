"""Windows over whole streams, without keys, in one subtask (Flink docs, "Windows")."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from millrace.common.errors import JobDefinitionError
from millrace.common.functions.base import (
    AggregateFunction,
    ProcessWindowFunction,
    ReduceFunction,
    WindowFunction,
)
from millrace.common.functions.key_selector import NullByteKeySelector
from millrace.common.functions.output_tag import OutputTag
from millrace.common.functions.window_functions import AllWindowFunction, ProcessAllWindowFunction
from millrace.common.time.amounts import Duration, Time
from millrace.common.types.typeinfo import TypeInformation
from millrace.common.window import Trigger, WindowAssigner
from millrace.common.window.evictor import Evictor
from millrace.datastream.checks import checked_function
from millrace.datastream.windowed_stream import WindowedStream
from millrace.runtime.function_operator import Adapter

if TYPE_CHECKING:
    from millrace.datastream.stream import DataStream
    from millrace.datastream.stream_execution_environment import StreamExecutionEnvironment

T = TypeVar("T")
W = TypeVar("W")
R = TypeVar("R")
U = TypeVar("U")
AllFunction = AllWindowFunction[T, U, W] | ProcessAllWindowFunction[T, U, W]


class AllWindowedStream(Generic[T, W]):
    """Records of a stream in windows, all in one subtask. Flink: class ``AllWindowedStream``."""

    def __init__(self, stream: DataStream[T], window_assigner: WindowAssigner[Any, W]) -> None:
        self._windowed: WindowedStream[T, int, W] = WindowedStream(
            stream.key_by(NullByteKeySelector()), window_assigner
        )

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """The environment that the stream belongs to."""
        return self._windowed.get_execution_environment()

    def get_input_type(self) -> TypeInformation[Any]:
        """The type of the records."""
        return self._windowed.get_input_type()

    def trigger(self, trigger: Trigger[Any, Any]) -> AllWindowedStream[T, W]:
        """Set the trigger, as `WindowedStream.trigger` does."""
        self._windowed.trigger(trigger)
        return self

    def evictor(self, evictor: Evictor[Any, Any]) -> AllWindowedStream[T, W]:
        """Set the evictor, as `WindowedStream.evictor` does."""
        self._windowed.evictor(evictor)
        return self

    def allowed_lateness(
        self, time_ms: int | Time | Duration | timedelta
    ) -> AllWindowedStream[T, W]:
        """Set the allowed lateness, as `WindowedStream.allowed_lateness` does."""
        self._windowed.allowed_lateness(time_ms)
        return self

    def side_output_late_data(self, output_tag: OutputTag[T]) -> AllWindowedStream[T, W]:
        """Send late records to a side output, as `WindowedStream.side_output_late_data` does."""
        self._windowed.side_output_late_data(output_tag)
        return self

    def share_panes(self, shared: bool = True) -> AllWindowedStream[T, W]:
        """Share panes between windows, as `WindowedStream.share_panes` does."""
        self._windowed.share_panes(shared)
        return self

    @overload
    def reduce(
        self,
        reduce_function: ReduceFunction[T] | Callable[[T, T], T],
        window_function: None = None,
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[T]: ...

    @overload
    def reduce(
        self,
        reduce_function: ReduceFunction[T] | Callable[[T, T], T],
        window_function: AllFunction[T, U, W],
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[U]: ...

    def reduce(
        self,
        reduce_function: ReduceFunction[T] | Callable[[T, T], T],
        window_function: AllFunction[T, Any, W] | None = None,
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[Any]:
        """Combine the records of each window incrementally, as they arrive."""
        adapted = _adapted(window_function)
        return _single(self._windowed.reduce(reduce_function, adapted, output_type))

    @overload
    def aggregate(
        self,
        aggregate_function: AggregateFunction[T, Any, R],
        window_function: None = None,
        accumulator_type: TypeInformation[Any] | None = None,
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[R]: ...

    @overload
    def aggregate(
        self,
        aggregate_function: AggregateFunction[T, Any, R],
        window_function: AllFunction[R, U, W],
        accumulator_type: TypeInformation[Any] | None = None,
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[U]: ...

    def aggregate(
        self,
        aggregate_function: AggregateFunction[T, Any, Any],
        window_function: AllFunction[Any, Any, W] | None = None,
        accumulator_type: TypeInformation[Any] | None = None,
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[Any]:
        """Aggregate the records of each window incrementally, as they arrive."""
        adapted = _adapted(window_function)
        windowed = self._windowed
        return _single(
            windowed.aggregate(aggregate_function, adapted, accumulator_type, output_type)
        )

    def apply(
        self,
        window_function: AllWindowFunction[T, U, W],
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[U]:
        """Run a function over all the records of each window."""
        checked_function(window_function, AllWindowFunction, "apply", plain=False)
        return _single(self._windowed.apply(_Apply(window_function), output_type))

    def process(
        self,
        process_window_function: ProcessAllWindowFunction[T, U, W],
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[U]:
        """Run a function over all the records of each window, with the window's context."""
        checked_function(process_window_function, ProcessAllWindowFunction, "process", plain=False)
        function = _Process(process_window_function)
        return _single(self._windowed.process(function, output_type))


def _single(stream: DataStream[Any]) -> DataStream[Any]:
    return stream.force_non_parallel()


def _adapted(function: AllFunction[Any, Any, Any] | None) -> _Apply | _Process | None:
    if function is None:
        return None
    if isinstance(function, AllWindowFunction):
        return _Apply(function)
    if isinstance(function, ProcessAllWindowFunction):
        return _Process(function)
    raise JobDefinitionError(
        f"window_function is an AllWindowFunction or a ProcessAllWindowFunction, got {function!r}"
    )


class _Apply(Adapter, WindowFunction[Any, Any, Any, Any]):
    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Any] | None:
        results: Iterable[Any] | None = self.wrapped.apply(window, inputs)
        return results


class _Process(Adapter, ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any] | None:
        results: Iterable[Any] | None = self.wrapped.process(context, elements)
        return results

    def clear(self, context: Any) -> None:
        self.wrapped.clear(context)
