"""CoProcess functions: two inputs with event times and side outputs, and on keyed streams state
and timers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace.runtime.function_operator import Adapter
from millrace.runtime.operators.keyed_process import KeyedProcessOperator
from millrace.runtime.operators.process import ProcessOperator
from millrace.runtime.produced_records import producing

KeyBatch = Callable[[list[Any]], list[Any]]


class CoProcessOperator(ProcessOperator):
    """Runs a `CoProcessFunction` on connected streams without keys."""

    def bind(self) -> None:
        function = self.function
        self._elements = producing(function.process_element1), producing(function.process_element2)

    def process_input(self, number: int, values: list[Any], timestamps: list[int] | None) -> None:
        self._element = self._elements[number]
        self.process(values, timestamps)


class KeyedCoProcessOperator(KeyedProcessOperator):
    """Runs a `KeyedCoProcessFunction`. ``key_batches`` extract the keys of each input's batches."""

    def __init__(self, function: Any, key_batches: tuple[KeyBatch, KeyBatch]) -> None:
        super().__init__(function, key_batches[0])
        self._key_batches = key_batches

    def bind(self) -> None:
        function = self.function
        self._elements = producing(function.process_element1), producing(function.process_element2)
        # a CoProcessFunction does as well; unless it has a method for them, timers do nothing
        self._on_timer = producing(getattr(function, "on_timer", _ignore_timer))

    def process_input(self, number: int, values: list[Any], timestamps: list[int] | None) -> None:
        self._keys_of = self._key_batches[number]
        self._element = self._elements[number]
        self.process(values, timestamps)


def _ignore_timer(timestamp: int, ctx: Any) -> None:
    """Timer callback of functions without timers."""


class KeyedCoMap(Adapter):
    """A `CoMapFunction` on keyed streams."""

    def process_element1(self, value: Any, ctx: Any) -> Any:
        """Map a record of the first stream."""
        return (self.wrapped.map1(value),)

    def process_element2(self, value: Any, ctx: Any) -> Any:
        """Map a record of the second stream."""
        return (self.wrapped.map2(value),)


class KeyedCoFlatMap(Adapter):
    """A `CoFlatMapFunction` on keyed streams."""

    def process_element1(self, value: Any, ctx: Any) -> Any:
        """Map a record of the first stream."""
        return self.wrapped.flat_map1(value)

    def process_element2(self, value: Any, ctx: Any) -> Any:
        """Map a record of the second stream."""
        return self.wrapped.flat_map2(value)
