"""CoMap and CoFlatMap on connected streams without keys."""

from __future__ import annotations

from typing import Any

from millrace.runtime.function_operator import FunctionOperator


class CoMapOperator(FunctionOperator):
    """Applies the one or the other method of a `CoMapFunction` to every record."""

    def open(self) -> None:
        super().open()
        self._maps = (self.function.map1, self.function.map2)

    def process_input(self, number: int, values: list[Any], timestamps: list[int] | None) -> None:
        function = self._maps[number]
        results = []
        for value in values:
            results.append(function(value))
        self.output.emit(results, timestamps)


class CoFlatMapOperator(FunctionOperator):
    """Applies the one or the other method of a `CoFlatMapFunction` to every record."""

    def open(self) -> None:
        super().open()
        self._flat_maps = (self.function.flat_map1, self.function.flat_map2)

    def process_input(self, number: int, values: list[Any], timestamps: list[int] | None) -> None:
        function = self._flat_maps[number]
        results: list[Any] = []
        times: list[int] = []
        for index, value in enumerate(values):
            produced = function(value)
            if produced is None:
                continue
            results.extend(produced)
            if timestamps is not None:
                times.extend([timestamps[index]] * (len(results) - len(times)))
        if results:
            self.output.emit(results, None if timestamps is None else times)
