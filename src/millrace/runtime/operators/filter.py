"""Filter: keeps the records for which a predicate holds."""

from __future__ import annotations

from itertools import compress
from typing import Any

from millrace.runtime.function_operator import FunctionOperator, as_callable


class FilterOperator(FunctionOperator):
    """Keeps what the predicate admits."""

    def open(self) -> None:
        super().open()
        self._filter = as_callable(self.function, "filter")

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        function = self._filter
        if timestamps is None:
            kept = [value for value in values if function(value)]
            if kept:
                self.output.emit(kept, None)
            return
        admitted = [bool(function(value)) for value in values]
        if any(admitted):
            self.output.emit(list(compress(values, admitted)), list(compress(timestamps, admitted)))
