"""CoMap and CoFlatMap on connected streams without keys."""

from __future__ import annotations

from typing import Any

from millrace.runtime.operators.flat_map import FlatMapOperator
from millrace.runtime.operators.map import MapOperator
from millrace.runtime.produced_records import producing


class CoMapOperator(MapOperator):
    """Applies the method of a `CoMapFunction` for the record's input."""

    def open(self) -> None:
        self.open_function(None)
        self._maps = (self.function.map1, self.function.map2)

    def process_input(self, number: int, values: list[Any], timestamps: list[int] | None) -> None:
        self._map = self._maps[number]
        self.process(values, timestamps)


class CoFlatMapOperator(FlatMapOperator):
    """Applies the method of a `CoFlatMapFunction` for the record's input."""

    def open(self) -> None:
        self.open_function(None)
        function = self.function
        self._flat_maps = producing(function.flat_map1), producing(function.flat_map2)

    def process_input(self, number: int, values: list[Any], timestamps: list[int] | None) -> None:
        self._flat_map = self._flat_maps[number]
        self.process(values, timestamps)
