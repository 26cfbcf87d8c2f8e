"""Map, flat map and filter functions with keyed state, run as keyed process functions.

Semantics: Flink docs, "Working with State": any rich function on a keyed stream has keyed state.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from millrace.common.functions.base import (
    FilterFunction,
    FlatMapFunction,
    Function,
    KeyedProcessFunction,
    MapFunction,
)
from millrace.runtime.function_operator import Adapter


class _Map(Adapter, KeyedProcessFunction[Any, Any, Any]):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        return (self.wrapped.map(value),)


class _FlatMap(Adapter, KeyedProcessFunction[Any, Any, Any]):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        results: Iterable[Any] | None = self.wrapped.flat_map(value)
        return results


class _Filter(Adapter, KeyedProcessFunction[Any, Any, Any]):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        return (value,) if self.wrapped.filter(value) else None


def with_keyed_state(function: Function) -> KeyedProcessFunction[Any, Any, Any]:
    """The function as a keyed process function, so that `open` can use keyed state."""
    if isinstance(function, MapFunction):
        return _Map(function)
    if isinstance(function, FlatMapFunction):
        return _FlatMap(function)
    assert isinstance(function, FilterFunction)
    return _Filter(function)
