"""Filter operator: emits the records for which a predicate is true."""

from __future__ import annotations

from itertools import compress
from typing import Any

from millrace.common.types.batch import RowBatch
from millrace.runtime.function_operator import FunctionOperator, as_callable, last_read


class FilterOperator(FunctionOperator):
    """Emits the records for which the function returns true."""

    def open(self) -> None:
        super().open()
        self._filter = as_callable(self.function, "filter")

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        function, reading = self._filter, iter(values)
        try:
            if timestamps is None:
                kept = [value for value in reading if function(value)]
            else:
                admitted = [bool(function(value)) for value in reading]
        except Exception:
            value = last_read(values, reading)  # noqa: F841 (for the description of the failure)
            raise
        if timestamps is None:
            if kept:
                self.output.emit(RowBatch(kept))
            return
        if any(admitted):
            self.output.emit(
                RowBatch(list(compress(values, admitted)), list(compress(timestamps, admitted)))
            )
