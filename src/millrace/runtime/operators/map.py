"""Map: one record in, one out."""

from __future__ import annotations

from typing import Any

from millrace.runtime.function_operator import FunctionOperator, as_callable


class MapOperator(FunctionOperator):
    """Applies a function to every record."""

    def open(self) -> None:
        super().open()
        self._map = as_callable(self.function, "map")

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        function = self._map
        self.output.emit([function(value) for value in values], timestamps)
