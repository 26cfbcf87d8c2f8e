"""Map: one record in, one record out."""

from __future__ import annotations

from typing import Any

from millrace.common.types.batch import RowBatch
from millrace.runtime.function_operator import FunctionOperator, as_callable, last_read


class MapOperator(FunctionOperator):
    """Applies a function to every record."""

    def open(self) -> None:
        super().open()
        self._map = as_callable(self.function, "map")

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        function, reading = self._map, iter(values)
        try:
            mapped = [function(value) for value in reading]
        except Exception:
            value = last_read(values, reading)  # noqa: F841 (for the description of the failure)
            raise
        self.output.emit(RowBatch(mapped, timestamps))
