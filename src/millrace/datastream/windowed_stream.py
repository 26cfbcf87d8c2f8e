"""`WindowedStream`: a keyed stream with its records in windows (Flink docs, "Windows")."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from millrace.common.errors import JobDefinitionError
from millrace.common.functions.base import (
    AggregateFunction,
    ProcessWindowFunction,
    ReduceFunction,
    WindowFunction,
)
from millrace.common.functions.output_tag import OutputTag
from millrace.common.time.amounts import Duration, Time, millis
from millrace.common.types.typeinfo import TypeInformation, Types
from millrace.common.window import (
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    MergingWindowAssigner,
    SlidingEventTimeWindows,
    Trigger,
    TumblingEventTimeWindows,
    WindowAssigner,
)
from millrace.common.window.evictor import Evictor
from millrace.datastream.checks import checked_function
from millrace.runtime.operator import Operator
from millrace.runtime.operators.pane_window import PaneWindowOperator
from millrace.runtime.operators.session_window import SessionWindowOperator
from millrace.runtime.operators.sliding_window import SlidingWindowOperator
from millrace.runtime.operators.window_operator import WindowOperator, WindowSpec
from millrace.runtime.window_logic import WindowLogic

if TYPE_CHECKING:
    from millrace.datastream.keyed_stream import KeyedStream
    from millrace.datastream.stream import DataStream
    from millrace.datastream.stream_execution_environment import StreamExecutionEnvironment

T = TypeVar("T")
K = TypeVar("K")
W = TypeVar("W")
R = TypeVar("R")
U = TypeVar("U")
WindowFunctionLike = WindowFunction[T, U, K, W] | ProcessWindowFunction[T, U, K, W]


class WindowedStream(Generic[T, K, W]):
    """A keyed stream whose records are grouped into windows. Flink: class ``WindowedStream``.

    Example:
        >>> from millrace.datastream import StreamExecutionEnvironment
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> clicks = env.from_collection([("a", 1), ("b", 1)]).key_by(0)
        >>> windows = clicks.window(TumblingEventTimeWindows.of(Time.seconds(10)))
        >>> windows.reduce(lambda one, other: (one[0], one[1] + other[1])).get_name()
        'Window Reduce'
    """

    def __init__(self, stream: KeyedStream[T, K], window_assigner: WindowAssigner[Any, W]) -> None:
        self._stream = stream
        trigger = window_assigner.get_default_trigger(stream.get_execution_environment())
        self._spec = WindowSpec(window_assigner, trigger)

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """The environment that the stream belongs to."""
        return self._stream.get_execution_environment()

    def get_input_type(self) -> TypeInformation[Any]:
        """The type of the records."""
        return Types.PICKLED_BYTE_ARRAY()

    # -- how windows behave ------------------------------------------------------------

    def trigger(self, trigger: Trigger[Any, Any]) -> WindowedStream[T, K, W]:
        """Set the trigger, which decides when windows emit; it replaces the assigner's default.

        Raises:
            JobDefinitionError: the windows merge (as sessions do), but the trigger cannot.
        """
        if not isinstance(trigger, Trigger):
            raise JobDefinitionError(f"trigger() takes a Trigger, got {trigger!r}")
        self._spec = replace(self._spec, trigger=trigger)
        _check_merging(self._spec)
        return self

    def evictor(self, evictor: Evictor[Any, Any]) -> WindowedStream[T, K, W]:
        """Set the evictor, which removes records from a window when it fires.

        All records of the window are kept in state until then, even for reduce and aggregate.
        """
        if not isinstance(evictor, Evictor):
            raise JobDefinitionError(f"evictor() takes an Evictor, got {evictor!r}")
        self._spec = replace(self._spec, evictor=evictor)
        return self

    def allowed_lateness(
        self, time_ms: int | Time | Duration | timedelta
    ) -> WindowedStream[T, K, W]:
        """Set the time (ms) for which an event-time window is kept after its end.

        A record that arrives within that time makes the window fire again.

        Raises:
            JobDefinitionError: the time is negative.
        """
        lateness = millis(time_ms)
        if lateness < 0:
            raise JobDefinitionError(f"allowed_lateness() takes 0 ms or more, got {lateness}")
        self._spec = replace(self._spec, allowed_lateness=lateness)
        return self

    def side_output_late_data(self, output_tag: OutputTag[T]) -> WindowedStream[T, K, W]:
        """Send late records, whose window is no longer kept, to a side output.

        Without one they are dropped and counted (metric ``numLateRecordsDropped``).
        """
        if not isinstance(output_tag, OutputTag):
            raise JobDefinitionError(
                f"side_output_late_data() takes an OutputTag, got {output_tag!r}"
            )
        self._spec = replace(self._spec, late_tag=output_tag)
        return self

    def share_panes(self, shared: bool = True) -> WindowedStream[T, K, W]:
        """Let overlapping sliding windows share panes.

        A pane is the time that the same windows cover. A record is then aggregated once, in its
        pane, instead of once per window; when a window fires, its panes are merged. This requires
        that ``reduce`` is associative, or that ``merge`` of two accumulators equals the accumulator
        of all their records; nothing checks that. Functions can declare it themselves
        (``mergeable``).

        Without such a declaration each window has an accumulator, as in Flink. A job resumes from a
        checkpoint only with the declaration that it had when the checkpoint was taken.

        Example:
            >>> from millrace.datastream import StreamExecutionEnvironment
            >>> env = StreamExecutionEnvironment.get_execution_environment()
            >>> clicks = env.from_collection([("a", 1), ("b", 1)]).key_by(0)
            >>> day = SlidingEventTimeWindows.of(Time.days(1), Time.minutes(1))
            >>> counts = clicks.window(day).share_panes().reduce(lambda a, b: (a[0], a[1] + b[1]))
        """
        self._spec = replace(self._spec, share_panes=shared)
        return self

    # -- window functions --------------------------------------------------------------

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
        window_function: WindowFunctionLike[T, U, K, W],
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[U]: ...

    def reduce(
        self,
        reduce_function: ReduceFunction[T] | Callable[[T, T], T],
        window_function: WindowFunctionLike[T, Any, K, W] | None = None,
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[Any]:
        """Combine the records of each window incrementally, as they arrive."""
        checked_function(reduce_function, ReduceFunction, "reduce")
        logic = WindowLogic(reduce=reduce_function, window_function=_checked(window_function))
        if window_function is None and output_type is None:
            output_type = self._stream.declared_type()
        return self._apply("Window Reduce", logic, output_type)

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
        window_function: WindowFunctionLike[R, U, K, W],
        accumulator_type: TypeInformation[Any] | None = None,
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[U]: ...

    def aggregate(
        self,
        aggregate_function: AggregateFunction[T, Any, Any],
        window_function: WindowFunctionLike[Any, Any, K, W] | None = None,
        accumulator_type: TypeInformation[Any] | None = None,
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[Any]:
        """Aggregate the records of each window incrementally, as they arrive."""
        checked_function(aggregate_function, AggregateFunction, "aggregate", plain=False)
        logic = WindowLogic(aggregate=aggregate_function, window_function=_checked(window_function))
        return self._apply("Window Aggregate", logic, output_type)

    def apply(
        self,
        window_function: WindowFunction[T, U, K, W],
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[U]:
        """Run a function over all the records of each window."""
        checked_function(window_function, WindowFunction, "apply", plain=False)
        logic = WindowLogic(window_function=window_function)
        return self._apply("Window Apply", logic, output_type)

    def process(
        self,
        process_window_function: ProcessWindowFunction[T, U, K, W],
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[U]:
        """Run a function over all the records of each window, with the window's context."""
        checked_function(process_window_function, ProcessWindowFunction, "process", plain=False)
        logic = WindowLogic(window_function=process_window_function)
        return self._apply("Window Process", logic, output_type)

    def _apply(
        self, name: str, logic: WindowLogic, output_type: TypeInformation[Any] | None
    ) -> DataStream[Any]:
        _check_trigger(self._spec)
        logic = replace(logic, share_panes=self._spec.share_panes)
        factory = window_operator(self._spec, logic, self._stream._key_batch)
        return self._stream._then(name, factory, logic, output_type=output_type)


def _check_trigger(spec: WindowSpec) -> None:
    if not isinstance(spec.trigger, Trigger):
        raise JobDefinitionError(
            f"{spec.assigner!r} has no default trigger: its get_default_trigger() returned "
            f"{spec.trigger!r}; return a Trigger there, or set one with trigger()"
        )
    _check_merging(spec)


def _check_merging(spec: WindowSpec) -> None:
    if isinstance(spec.assigner, MergingWindowAssigner) and not spec.trigger.can_merge():
        raise JobDefinitionError(
            f"{spec.trigger!r} cannot merge, but the windows of {spec.assigner!r} are "
            "merged; use a trigger that implements on_merge() and whose can_merge() returns "
            "True"
        )


def window_operator(
    spec: WindowSpec, logic: WindowLogic, key_batch: Callable[[list[Any]], list[Any]]
) -> Callable[[], Operator]:
    """Factory of the operator for the given windows.

    Windows with the event-time trigger, no evictor and no allowed lateness have faster operators,
    for most assigners; all others have `WindowOperator`.
    """
    assigner = spec.assigner
    is_plain = type(spec.trigger) is EventTimeTrigger and spec.evictor is None
    if is_plain and spec.allowed_lateness == 0:
        operator_class = _fast_operator(assigner, logic)
        if operator_class is not None:
            return partial(operator_class, assigner, logic, key_batch, spec.late_tag)
    return partial(WindowOperator, spec, logic, key_batch)


def _fast_operator(
    assigner: WindowAssigner[Any, Any], logic: WindowLogic
) -> Callable[..., Operator] | None:
    if type(assigner) is TumblingEventTimeWindows:
        return PaneWindowOperator
    if type(assigner) is SlidingEventTimeWindows and assigner.slide <= assigner.size:
        return SlidingWindowOperator if logic.panes_are_shared() else PaneWindowOperator
    if type(assigner) in (EventTimeSessionWindows, DynamicEventTimeSessionWindows):
        return SessionWindowOperator if logic.incremental else None
    return None


def _checked(function: Any) -> Any:
    if function is not None and not isinstance(function, (WindowFunction, ProcessWindowFunction)):
        raise JobDefinitionError(
            f"window_function is a WindowFunction or a ProcessWindowFunction, got {function!r}"
        )
    return function
