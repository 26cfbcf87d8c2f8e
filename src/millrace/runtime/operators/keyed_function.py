"""Map, flat map and filter functions that use keyed state, run as keyed process functions.

Semantics: Flink docs, "Working with State": any rich function on a keyed stream has keyed state.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from millrace.common.functions import (
    FilterFunction,
    FlatMapFunction,
    Function,
    KeyedProcessFunction,
    MapFunction,
)
from millrace.common.runtime_context import RuntimeContext
from millrace.runtime.function_operator import Adapter


class _WithState(Adapter, KeyedProcessFunction[Any, Any, Any]):
    def __init__(self, function: Any) -> None:
        self.wrapped = function

    def open(self, runtime_context: RuntimeContext) -> None:
        self.wrapped.open(runtime_context)

    def close(self) -> None:
        self.wrapped.close()


class _Map(_WithState):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        return (self.wrapped.map(value),)


class _FlatMap(_WithState):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        results: Iterable[Any] | None = self.wrapped.flat_map(value)
        return results


class _Filter(_WithState):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        return (value,) if self.wrapped.filter(value) else None


def with_keyed_state(function: Function) -> KeyedProcessFunction[Any, Any, Any]:
    """The function as a keyed process function, so that its `open` can get keyed state."""
    if isinstance(function, MapFunction):
        return _Map(function)
    if isinstance(function, FlatMapFunction):
        return _FlatMap(function)
    assert isinstance(function, FilterFunction)
    return _Filter(function)
