"""Joins of two streams: in windows, and by intervals of time (Flink docs, "Joining").

Flink's Python API has no joins; the names are those of its JVM API in snake case:
``first.join(second).where(key1).equal_to(key2).window(assigner).apply(function)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from millrace.common.errors import JobDefinitionError
from millrace.common.functions.base import WindowFunction
from millrace.common.functions.join_functions import (
    CoGroupFunction,
    FlatJoinFunction,
    JoinFunction,
    ProcessJoinFunction,
)
from millrace.common.functions.key_selector import resolve_key_selector
from millrace.common.functions.output_tag import OutputTag
from millrace.common.time.amounts import Duration, Time, millis
from millrace.common.types.typeinfo import TypeInformation
from millrace.common.window import Trigger, WindowAssigner
from millrace.common.window.evictor import Evictor
from millrace.datastream.checks import checked_assigner, checked_function
from millrace.datastream.connected_streams import Selector, checked_same_environment, numbered
from millrace.runtime.function_operator import Adapter
from millrace.runtime.operators.interval_join import Interval, IntervalJoinOperator

if TYPE_CHECKING:
    from millrace.datastream.keyed_stream import KeyedStream
    from millrace.datastream.stream import DataStream
    from millrace.datastream.windowed_stream import WindowedStream

T1 = TypeVar("T1")
T2 = TypeVar("T2")
U = TypeVar("U")
J = TypeVar("J", bound="WithWindow[Any, Any]")
Amount = Time | Duration | int


@dataclass(frozen=True)
class _Windowing:
    """Two streams that are to be joined, with the settings of their windows so far."""

    first: DataStream[Any]
    second: DataStream[Any]
    keys: tuple[Callable[[Any], Any], ...] = ()
    assigner: WindowAssigner[Any, Any] | None = None
    trigger: Trigger[Any, Any] | None = None
    evictor: Evictor[Any, Any] | None = None
    lateness: Amount = 0
    late_tag: OutputTag[Any] | None = None

    def windowed(self) -> WindowedStream[Any, Any, Any]:
        """Both streams as one windowed stream of (0 or 1, record), with keys."""
        assert self.assigner is not None
        tagged = (
            self.first.map(_Tag(0))
            .name("Tag First")
            .union(self.second.map(_Tag(1)).name("Tag Second"))
        )
        stream = tagged.key_by(_TaggedKey(self.keys)).window(self.assigner)
        if self.trigger is not None:
            stream = stream.trigger(self.trigger)
        if self.evictor is not None:
            stream = stream.evictor(self.evictor)
        if self.late_tag is not None:
            stream = stream.side_output_late_data(self.late_tag)
        return stream.allowed_lateness(self.lateness)


@dataclass(frozen=True)
class _Tag:
    side: int

    def __call__(self, value: Any) -> tuple[int, Any]:
        return self.side, value


@dataclass(frozen=True)
class _TaggedKey:
    selectors: tuple[Callable[[Any], Any], ...]

    def __call__(self, tagged: tuple[int, Any]) -> Any:
        return self.selectors[tagged[0]](tagged[1])


class _WithFunction(Adapter, WindowFunction[Any, Any, Any, Any]):
    """Splits a window into its two sides, and calls the user's function with both."""

    def apply(self, key: Any, window: Any, inputs: Iterable[tuple[int, Any]]) -> Any:
        sides: tuple[list[Any], list[Any]] = ([], [])
        for side, value in inputs:
            sides[side].append(value)
        return self.evaluate(*sides)

    def evaluate(self, first: list[Any], second: list[Any]) -> Any:
        """The results for the records of both sides."""
        raise NotImplementedError


class _CoGroup(_WithFunction):
    def evaluate(self, first: list[Any], second: list[Any]) -> Any:
        is_object = isinstance(self.wrapped, CoGroupFunction)
        return (self.wrapped.co_group if is_object else self.wrapped)(first, second)


class _Join(_WithFunction):
    def evaluate(self, first: list[Any], second: list[Any]) -> Any:
        is_object = isinstance(self.wrapped, JoinFunction)
        join = self.wrapped.join if is_object else self.wrapped
        return [join(one, other) for one in first for other in second]


class _FlatJoin(_WithFunction):
    def evaluate(self, first: list[Any], second: list[Any]) -> Any:
        for one in first:
            for other in second:
                yield from self.wrapped.join(one, other) or ()


class _Where(Generic[T1, T2, J]):
    """Two streams that are to be joined, before their keys are set."""

    # the type[J]; a class variable cannot be said to be generic
    kind: ClassVar[Any]
    method: ClassVar[str]

    def __init__(self, first: DataStream[T1], second: DataStream[T2]) -> None:
        checked_same_environment(self.method, first, second)
        self._windowing = _Windowing(first, second)

    def where(
        self, key_selector: Selector[T1], key_type: TypeInformation[Any] | None = None
    ) -> EqualTo[T1, T2, J]:
        """Set the key of the first stream's records, as for ``key_by``."""
        return EqualTo(
            self.kind, replace(self._windowing, keys=(resolve_key_selector(key_selector),))
        )


@dataclass(frozen=True)
class EqualTo(Generic[T1, T2, J]):
    """Two streams that are to be joined, with the first stream's key."""

    kind: type[J]
    windowing: _Windowing

    def equal_to(
        self, key_selector: Selector[T2], key_type: TypeInformation[Any] | None = None
    ) -> KeyedPair[T1, T2, J]:
        """Set the key of the second stream's records, which must equal the first one's."""
        keys = (*self.windowing.keys, resolve_key_selector(key_selector))
        return KeyedPair(self.kind, replace(self.windowing, keys=keys))


@dataclass(frozen=True)
class KeyedPair(Generic[T1, T2, J]):
    """Two streams that are to be joined, with both keys, before the window is set."""

    kind: type[J]
    windowing: _Windowing

    def window(self, assigner: WindowAssigner[Any, Any]) -> J:
        """Set the windows in which records meet. An assigner or trigger that the program defines
        gets pairs of 0 or 1 (for the stream) and the record."""
        return self.kind(replace(self.windowing, assigner=checked_assigner("window", assigner)))


@dataclass(frozen=True)
class WithWindow(Generic[T1, T2]):
    """Two streams whose records meet in windows, before a function is applied."""

    windowing: _Windowing = field(repr=False)

    def trigger(self, trigger: Trigger[Any, Any]) -> Self:
        """Set the trigger of the windows."""
        return type(self)(replace(self.windowing, trigger=trigger))

    def evictor(self, evictor: Evictor[Any, Any]) -> Self:
        """Set the evictor of the windows."""
        return type(self)(replace(self.windowing, evictor=evictor))

    def allowed_lateness(self, new_lateness: Amount) -> Self:
        """Set the time for which a window is kept after its end, for late records."""
        return type(self)(replace(self.windowing, lateness=new_lateness))

    def side_output_late_data(self, output_tag: OutputTag[Any]) -> Self:
        """Send late records to a side output, as pairs (0 or 1, record)."""
        return type(self)(replace(self.windowing, late_tag=output_tag))

    def apply(
        self, function: Any, output_type: TypeInformation[Any] | None = None
    ) -> DataStream[Any]:
        """Apply a function to the windows."""
        raise NotImplementedError


class _JoinWindow(WithWindow[T1, T2]):
    def apply(
        self,
        function: JoinFunction[T1, T2, U] | FlatJoinFunction[T1, T2, U] | Callable[[T1, T2], U],
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[U]:
        """Call the function for each pair of records with equal keys in the same window."""
        if isinstance(function, FlatJoinFunction):
            return self.windowing.windowed().apply(_FlatJoin(function)).name("Join")
        checked_function(function, JoinFunction, "apply")
        return self.windowing.windowed().apply(_Join(function)).name("Join")


class _CoGroupWindow(WithWindow[T1, T2]):
    def apply(
        self,
        function: CoGroupFunction[T1, T2, U] | Callable[[list[T1], list[T2]], Iterable[U]],
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[U]:
        """Call the function once per key and window, with the records of both streams."""
        checked_function(function, CoGroupFunction, "apply")
        return self.windowing.windowed().apply(_CoGroup(function)).name("CoGroup")


class JoinedStreams(_Where[T1, T2, _JoinWindow[T1, T2]]):
    """Two streams whose records meet in windows, pair by pair. Flink: class ``JoinedStreams``.

    Example:
        >>> from millrace.datastream import StreamExecutionEnvironment
        >>> from millrace.datastream.window import TumblingEventTimeWindows
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> orders, users = env.from_collection([(1, "a")]), env.from_collection([(1, "Ann")])
        >>> windows = TumblingEventTimeWindows.of(1000)
        >>> joined = orders.join(users).where(0).equal_to(0).window(windows)
        >>> joined.apply(lambda order, user: (user[1], order[1])).get_name()
        'Join'
    """

    kind = _JoinWindow
    method = "join"


class CoGroupedStreams(_Where[T1, T2, _CoGroupWindow[T1, T2]]):
    """Two streams whose records meet in windows, group by group. Flink: class
    ``CoGroupedStreams``."""

    kind = _CoGroupWindow
    method = "co_group"


class IntervalJoin(Generic[T1, T2]):
    """Two keyed streams whose records meet when their event times are close. Flink: class
    ``KeyedStream.IntervalJoin``."""

    def __init__(self, left: KeyedStream[T1, Any], right: KeyedStream[T2, Any]) -> None:
        checked_same_environment("interval_join", left, right)
        self._streams = left, right

    def between(self, lower_bound: Amount, upper_bound: Amount) -> IntervalJoined[T1, T2]:
        """A pair matches when left.time + lower <= right.time <= left.time + upper (ms). Bounds
        may be negative.

        Raises:
            JobDefinitionError: the lower bound is above the upper one.
        """
        lower, upper = millis(lower_bound), millis(upper_bound)
        if lower > upper:
            raise JobDefinitionError(
                f"between() needs a lower bound at most the upper bound, got {lower} and {upper} ms"
            )
        return IntervalJoined(self._streams, Interval(lower, upper))


class IntervalJoined(Generic[T1, T2]):
    """Two keyed streams and the interval of their join."""

    def __init__(
        self, streams: tuple[KeyedStream[T1, Any], KeyedStream[T2, Any]], interval: Interval
    ) -> None:
        self._streams = streams
        self._interval = interval
        self._exclusive = [False, False]

    def lower_bound_exclusive(self) -> IntervalJoined[T1, T2]:
        """Exclude pairs at the lower bound."""
        self._exclusive[0] = True
        return self

    def upper_bound_exclusive(self) -> IntervalJoined[T1, T2]:
        """Exclude pairs at the upper bound."""
        self._exclusive[1] = True
        return self

    def side_output_left_late_data(self, output_tag: OutputTag[T1]) -> IntervalJoined[T1, T2]:
        """Send late left records to a side output."""
        self._interval = replace(self._interval, left_late_tag=_checked_tag(output_tag))
        return self

    def side_output_right_late_data(self, output_tag: OutputTag[T2]) -> IntervalJoined[T1, T2]:
        """Send late right records to a side output."""
        self._interval = replace(self._interval, right_late_tag=_checked_tag(output_tag))
        return self

    def process(
        self,
        process_join_function: ProcessJoinFunction[T1, T2, U] | Callable[[T1, T2], U],
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[U]:
        """Run a `ProcessJoinFunction`, or a plain function of both records that returns the
        result, on each matching pair."""
        checked_function(process_join_function, ProcessJoinFunction, "process")
        lower_exclusive, upper_exclusive = self._exclusive
        interval = replace(
            self._interval,
            lower=self._interval.lower + lower_exclusive,
            upper=self._interval.upper - upper_exclusive,
        )
        left, right = self._streams
        keys = left._key_batch, right._key_batch
        factory = partial(IntervalJoinOperator, process_join_function, interval, keys)
        inputs = numbered(left, 0) + numbered(right, 1)
        return left._then("Interval Join", factory, process_join_function, inputs)


def _checked_tag(tag: Any) -> OutputTag[Any]:
    if not isinstance(tag, OutputTag):
        raise JobDefinitionError(f"late records go to an OutputTag, got {tag!r}")
    return tag
