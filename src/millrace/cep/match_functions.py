"""Users' functions for matches, adapted to the one form that the operator calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from millrace.common.functions.base import Function
from millrace.common.functions.output_tag import OutputTag
from millrace.common.functions.pattern_functions import (
    Match,
    PatternFlatSelectFunction,
    PatternFlatTimeoutFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    PatternTimeoutFunction,
    TimedOutPartialMatchHandler,
)
from millrace.common.functions.runtime_context import RuntimeContext
from millrace.runtime.function_operator import Adapter, as_callable
from millrace.runtime.produced_records import records_of

T = TypeVar("T")
U = TypeVar("U")
SelectFunction = PatternSelectFunction[T, U] | Callable[[Match[T]], U]
FlatSelectFunction = PatternFlatSelectFunction[T, U] | Callable[[Match[T]], Iterable[U] | None]
TimeoutFunction = PatternTimeoutFunction[T, U] | Callable[[Match[T], int], U]
FlatTimeoutFunction = (
    PatternFlatTimeoutFunction[T, U] | Callable[[Match[T], int], Iterable[U] | None]
)


class Select(Adapter, PatternProcessFunction[Any, Any]):
    """Adapter of a function that gives one record per match."""

    def __init__(self, function: SelectFunction[Any, Any]) -> None:
        super().__init__(function)
        self._select = as_callable(function, "select")

    def process_match(
        self, match: Match[Any], ctx: PatternProcessFunction.Context
    ) -> Iterable[Any]:
        return (self._select(match),)


class FlatSelect(Adapter, PatternProcessFunction[Any, Any]):
    """Adapter of a function that gives any number of records per match."""

    def __init__(self, function: FlatSelectFunction[Any, Any]) -> None:
        super().__init__(function)
        self._flat_select = as_callable(function, "flat_select")

    def process_match(
        self, match: Match[Any], ctx: PatternProcessFunction.Context
    ) -> Iterable[Any] | None:
        results = self._flat_select(match)
        return None if results is None else records_of(results, self.wrapped)


class _WithTimeout(Adapter, TimedOutPartialMatchHandler[Any]):
    """Base of the adapters with a second function, for timed-out partial matches. Its records go
    to a side output."""

    def __init__(self, function: Any, timeout: Any, tag: OutputTag[Any]) -> None:
        super().__init__(function)
        self._timeout_function = timeout
        self._timeout = as_callable(timeout, "timeout")
        self._tag = tag

    def open(self, runtime_context: RuntimeContext) -> None:
        super().open(runtime_context)
        if isinstance(self._timeout_function, Function):
            self._timeout_function.open(runtime_context)

    def close(self) -> None:
        super().close()
        if isinstance(self._timeout_function, Function):
            self._timeout_function.close()

    def process_timed_out_match(
        self, match: Match[Any], ctx: PatternProcessFunction.Context
    ) -> Iterable[Any] | None:
        results = self._timed_out(match, ctx.timestamp())
        return None if results is None else [(self._tag, result) for result in results]

    def _timed_out(self, match: Match[Any], timestamp: int) -> Iterable[Any] | None:
        return (self._timeout(match, timestamp),)


class SelectWithTimeout(_WithTimeout, Select):
    """Adapter of functions that give one record per match and one per timed-out partial match."""


class FlatSelectWithTimeout(_WithTimeout, FlatSelect):
    """Adapter of functions that give any number of records per match and per timed-out partial
    match."""

    def _timed_out(self, match: Match[Any], timestamp: int) -> Iterable[Any] | None:
        results = self._timeout(match, timestamp)
        return None if results is None else records_of(results, self._timeout_function)
