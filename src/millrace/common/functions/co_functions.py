"""Functions with two inputs, for connected streams (Flink docs, "Operators": CoMap, CoFlatMap,
"Process Function": low-level joins)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from millrace.common.functions.base import Function, KeyedProcessFunction, ProcessFunction

__all__ = ["CoFlatMapFunction", "CoMapFunction", "CoProcessFunction", "KeyedCoProcessFunction"]

IN1_contra = TypeVar("IN1_contra", contravariant=True)
IN2_contra = TypeVar("IN2_contra", contravariant=True)
OUT_co = TypeVar("OUT_co", covariant=True)
KEY_co = TypeVar("KEY_co", covariant=True)


class CoMapFunction(Function, Generic[IN1_contra, IN2_contra, OUT_co]):
    """Function from one record of either stream to one record.

    Example:
        >>> class Both(CoMapFunction[int, str, str]):
        ...     def map1(self, value):
        ...         return str(value)
        ...     def map2(self, value):
        ...         return value.upper()
        >>> Both().map1(1), Both().map2("a")
        ('1', 'A')
    """

    @abstractmethod
    def map1(self, value: IN1_contra) -> OUT_co:
        """The record that replaces a record of the first stream."""

    @abstractmethod
    def map2(self, value: IN2_contra) -> OUT_co:
        """The record that replaces a record of the second stream."""


class CoFlatMapFunction(Function, Generic[IN1_contra, IN2_contra, OUT_co]):
    """Function from one record of either stream to any number of records."""

    @abstractmethod
    def flat_map1(self, value: IN1_contra) -> Iterable[OUT_co] | None:
        """The records that replace a record of the first stream; None means none."""

    @abstractmethod
    def flat_map2(self, value: IN2_contra) -> Iterable[OUT_co] | None:
        """The records that replace a record of the second stream; None means none."""


class CoProcessFunction(Function, Generic[IN1_contra, IN2_contra, OUT_co]):
    """Handles the records of two streams, with their event times and the clocks.

    Emit with ``yield value``, to a side output with ``yield output_tag, value``.
    """

    class Context(ProcessFunction.Context):
        """Timestamp of the current record, clocks and timers."""

    @abstractmethod
    def process_element1(
        self, value: IN1_contra, ctx: CoProcessFunction.Context
    ) -> Iterable[OUT_co | tuple[Any, Any]] | None:
        """Handle a record of the first stream; usually a generator."""

    @abstractmethod
    def process_element2(
        self, value: IN2_contra, ctx: CoProcessFunction.Context
    ) -> Iterable[OUT_co | tuple[Any, Any]] | None:
        """Handle a record of the second stream; usually a generator."""


class KeyedCoProcessFunction(Function, Generic[KEY_co, IN1_contra, IN2_contra, OUT_co]):
    """Handles the records of two keyed streams, which share keyed state and timers.

    Example:
        >>> from millrace.common.state import ValueStateDescriptor
        >>> from millrace.common.types.typeinfo import Types
        >>> class Enrich(KeyedCoProcessFunction):
        ...     def open(self, runtime_context):
        ...         descriptor = ValueStateDescriptor("name", Types.STRING())
        ...         self.name = runtime_context.get_state(descriptor)
        ...     def process_element1(self, value, ctx):
        ...         yield ctx.get_current_key(), value, self.name.value()
        ...     def process_element2(self, value, ctx):
        ...         self.name.update(value[1])
    """

    class Context(KeyedProcessFunction.Context):
        """Timestamp of the current record, clocks and timers."""

    class OnTimerContext(KeyedProcessFunction.OnTimerContext):
        """Key, timestamp and time domain of the timer that fires."""

    @abstractmethod
    def process_element1(
        self, value: IN1_contra, ctx: KeyedCoProcessFunction.Context
    ) -> Iterable[OUT_co | tuple[Any, Any]] | None:
        """Handle a record of the first stream; usually a generator."""

    @abstractmethod
    def process_element2(
        self, value: IN2_contra, ctx: KeyedCoProcessFunction.Context
    ) -> Iterable[OUT_co | tuple[Any, Any]] | None:
        """Handle a record of the second stream; usually a generator."""

    def on_timer(
        self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext
    ) -> Iterable[OUT_co | tuple[Any, Any]] | None:
        """Handle a timer registered for ``timestamp``; usually a generator."""
        return None
