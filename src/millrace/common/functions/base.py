"""The interfaces that user code implements, with the names of Flink's Python API.

Wherever the API takes one of these with a single method, a plain Python callable does as well.
Semantics: Flink docs, "User-Defined Functions", "Process Function" and "Windows".

Example:
    >>> class Lengths(MapFunction[str, int]):
    ...     def map(self, value: str) -> int:
    ...         return len(value)
    >>> Lengths().map("mill")
    4
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Generic, TypeVar

from millrace.common.functions.runtime_context import KeyedStateStore, RuntimeContext
from millrace.common.time.time_domain import TimeDomain
from millrace.common.time.timer_service import TimerService

__all__ = [
    "AggregateFunction",
    "FilterFunction",
    "FlatMapFunction",
    "Function",
    "KeySelector",
    "KeyedProcessFunction",
    "KeyedStateStore",
    "MapFunction",
    "ProcessFunction",
    "ProcessWindowFunction",
    "ReduceFunction",
    "ReduceFunctionWrapper",
    "RuntimeContext",
    "SinkFunction",
    "SourceFunction",
    "TimeDomain",
    "TimerService",
    "WindowFunction",
]

T = TypeVar("T")
ACC = TypeVar("ACC")
IN_contra = TypeVar("IN_contra", contravariant=True)
OUT_co = TypeVar("OUT_co", covariant=True)
KEY_co = TypeVar("KEY_co", covariant=True)
KEY_contra = TypeVar("KEY_contra", contravariant=True)
W_contra = TypeVar("W_contra", contravariant=True)
W_co = TypeVar("W_co", covariant=True)


class Function(ABC):  # noqa: B024 (a function without a life cycle overrides nothing here)
    """Base of all user functions. A function must be picklable until it is opened."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Called once per subtask before the first record. State objects are requested here."""

    def close(self) -> None:
        """Called once after the last record, also when the job failed."""


class MapFunction(Function, Generic[IN_contra, OUT_co]):
    """Function from one record to one record."""

    @abstractmethod
    def map(self, value: IN_contra) -> OUT_co:
        """The record that replaces ``value``."""


class FlatMapFunction(Function, Generic[IN_contra, OUT_co]):
    """Function from one record to any number of records.

    Example:
        >>> class Words(FlatMapFunction[str, str]):
        ...     def flat_map(self, value):
        ...         yield from value.split()
        >>> list(Words().flat_map("to be"))
        ['to', 'be']
    """

    @abstractmethod
    def flat_map(self, value: IN_contra) -> Iterable[OUT_co] | None:
        """The records that replace ``value``; None means none."""


class FilterFunction(Function, Generic[IN_contra]):
    """Decides which records are kept."""

    @abstractmethod
    def filter(self, value: IN_contra) -> bool:
        """True to keep ``value``."""


class KeySelector(Function, Generic[IN_contra, KEY_co]):
    """Function that extracts the key of a record."""

    @abstractmethod
    def get_key(self, value: IN_contra) -> KEY_co:
        """The key; it must depend on ``value`` only."""


class ReduceFunction(Function, Generic[T]):
    """Combines two values into one of the same type."""

    mergeable: ClassVar[bool] = False
    """Whether ``reduce`` is associative: ``reduce(reduce(a, b), reduce(c, d))`` is
    ``reduce(reduce(reduce(a, b), c), d)``. Sliding windows of a function that declares it share
    their panes; it is not checked."""

    @abstractmethod
    def reduce(self, value1: T, value2: T) -> T:
        """The combination; ``value1`` is the result so far."""


class ReduceFunctionWrapper(ReduceFunction[T]):
    """A plain callable of two values as a `ReduceFunction`.

    Example:
        >>> ReduceFunctionWrapper(max).reduce(1, 2)
        2
    """

    def __init__(self, func: Callable[[T, T], T]) -> None:
        self._func = func

    def reduce(self, value1: T, value2: T) -> T:
        return self._func(value1, value2)


class AggregateFunction(Function, Generic[IN_contra, ACC, OUT_co]):
    """Aggregates values in an accumulator of another type.

    Example:
        >>> class Average(AggregateFunction[int, tuple[int, int], float]):
        ...     def create_accumulator(self):
        ...         return 0, 0
        ...     def add(self, value, accumulator):
        ...         return accumulator[0] + value, accumulator[1] + 1
        ...     def get_result(self, accumulator):
        ...         return accumulator[0] / accumulator[1]
        ...     def merge(self, acc_a, acc_b):
        ...         return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]
        >>> average = Average()
        >>> average.get_result(average.add(4, average.add(2, average.create_accumulator())))
        3.0
    """

    mergeable: ClassVar[bool] = False
    """Whether ``merge`` of what two groups of values gave is what all of them give, one group added
    after the other. Sliding windows of a function that declares it share their panes, which are
    merged; it is not checked."""

    @abstractmethod
    def create_accumulator(self) -> ACC:
        """A new, empty accumulator."""

    @abstractmethod
    def add(self, value: IN_contra, accumulator: ACC) -> ACC:
        """The accumulator with ``value`` added; may be the same object, changed."""

    @abstractmethod
    def get_result(self, accumulator: ACC) -> OUT_co:
        """The result so far."""

    @abstractmethod
    def merge(self, acc_a: ACC, acc_b: ACC) -> ACC:
        """One accumulator with the values of both. Only merging windows (sessions), and sliding
        windows of a function that is declared `mergeable`, call it."""


class ProcessFunction(Function, Generic[IN_contra, OUT_co]):
    """Like a flat map that also sees the record's timestamp and the clocks.

    Emit with ``yield value``, to a side output with ``yield output_tag, value``.
    """

    class Context(ABC):
        """Timestamp of the current record, clocks and timers."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Clocks and timers; timers need a keyed stream."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """Event time of the record, ms since the epoch; None if it has none."""

    @abstractmethod
    def process_element(
        self, value: IN_contra, ctx: ProcessFunction.Context
    ) -> Iterable[OUT_co | tuple[Any, Any]] | None:
        """Handle one record; usually a generator."""


class KeyedProcessFunction(Function, Generic[KEY_co, IN_contra, OUT_co]):
    """Handles records and timers of one key at a time, with keyed state.

    Example:
        >>> class Alarm(KeyedProcessFunction[str, int, str]):
        ...     def process_element(self, value, ctx):
        ...         ctx.timer_service().register_event_time_timer(ctx.timestamp() + 60_000)
        ...     def on_timer(self, timestamp, ctx):
        ...         yield f"{ctx.get_current_key()} was here a minute before {timestamp}"
    """

    class Context(ABC):
        """Timestamp of the current record, clocks and timers."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """Key of the record or timer."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Clocks and timers of the current key."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """Event time of the record or timer, ms since the epoch; None if it has none."""

    class OnTimerContext(Context):
        """Key, timestamp and time domain of the timer that fires."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """The time domain of the timer."""

    @abstractmethod
    def process_element(
        self, value: IN_contra, ctx: KeyedProcessFunction.Context
    ) -> Iterable[OUT_co | tuple[Any, Any]] | None:
        """Handle one record; usually a generator."""

    def on_timer(
        self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext
    ) -> Iterable[OUT_co | tuple[Any, Any]] | None:
        """Handle a timer registered for ``timestamp``; usually a generator."""
        return None


class WindowFunction(Function, Generic[IN_contra, OUT_co, KEY_contra, W_contra]):
    """Evaluates a window of one key from all its elements."""

    @abstractmethod
    def apply(
        self, key: KEY_contra, window: W_contra, inputs: Iterable[IN_contra]
    ) -> Iterable[OUT_co] | None:
        """Evaluate a window; returns the records to emit."""


class ProcessWindowFunction(Function, Generic[IN_contra, OUT_co, KEY_contra, W_contra]):
    """Evaluates a window of one key, with access to clocks and state."""

    class Context(ABC, Generic[W_co]):
        """The window that is evaluated, clocks and state."""

        @abstractmethod
        def window(self) -> W_co:
            """The window that is evaluated."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """The machine's time, ms since the epoch."""

        @abstractmethod
        def current_watermark(self) -> int:
            """The event-time watermark, ms since the epoch."""

        @abstractmethod
        def window_state(self) -> KeyedStateStore:
            """State of this key and this window; clear it in `ProcessWindowFunction.clear`."""

        @abstractmethod
        def global_state(self) -> KeyedStateStore:
            """State of this key over all windows."""

    @abstractmethod
    def process(
        self,
        key: KEY_contra,
        context: ProcessWindowFunction.Context[W_contra],
        elements: Iterable[IN_contra],
    ) -> Iterable[OUT_co | tuple[Any, Any]] | None:
        """Evaluate a window; returns the records to emit."""

    def clear(self, context: ProcessWindowFunction.Context[W_contra]) -> None:
        """Delete the window's state; called when the window is deleted."""


class SinkFunction(Function, Generic[IN_contra]):
    """Writes records to an external system one by one, at least once: a replay writes them again.

    For exactly-once results write a `millrace.common.sink.Sink`.
    """

    class Context(ABC):
        """Timestamp of the current record, clocks and timers."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """The machine's time, ms since the epoch."""

        @abstractmethod
        def current_watermark(self) -> int:
            """The event-time watermark, ms since the epoch."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """Event time of the record, ms since the epoch; None if it has none."""

    @abstractmethod
    def invoke(self, value: IN_contra, context: SinkFunction.Context) -> None:
        """Write one record."""


class SourceFunction(Function, Generic[OUT_co]):
    """Produces records from a loop of its own.

    It cannot be read again after a failure; `millrace.common.source.Source` can.
    """

    class SourceContext(ABC):
        """Output of a source."""

        @abstractmethod
        def collect(self, element: Any) -> None:
            """Emit a record without a timestamp."""

        @abstractmethod
        def collect_with_timestamp(self, element: Any, timestamp: int) -> None:
            """Emit a record with an event time (ms since the epoch)."""

        @abstractmethod
        def emit_watermark(self, timestamp: int) -> None:
            """Emit a watermark: no record at or before ``timestamp`` follows."""

        @abstractmethod
        def mark_as_temporarily_idle(self) -> None:
            """Exclude this source from the watermark until its next record."""

    @abstractmethod
    def run(self, ctx: SourceFunction.SourceContext) -> None:
        """Emit records until there are no more or `cancel` was called."""

    @abstractmethod
    def cancel(self) -> None:
        """Make `run` return soon; another thread calls it."""
