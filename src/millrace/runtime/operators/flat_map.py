"""Flat map: one record in, any number of records out."""

from __future__ import annotations

from typing import Any

from millrace.common.types.batch import RowBatch
from millrace.runtime.function_operator import FunctionOperator, as_callable
from millrace.runtime.produced_records import producing


class FlatMapOperator(FunctionOperator):
    """Emits all records that the function returns or yields. None stands for no records."""

    def open(self) -> None:
        super().open()
        self._flat_map = producing(as_callable(self.function, "flat_map"))

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        results: list[Any] = []
        if timestamps is None:
            extend, function = results.extend, self._flat_map
            for value in values:
                produced = function(value)
                if produced is not None:
                    extend(produced)
            if results:
                self.output.emit(RowBatch(results))
        else:
            self._process_timed(values, timestamps, results)

    def _process_timed(self, values: list[Any], timestamps: list[int], results: list[Any]) -> None:
        times: list[int] = []
        function = self._flat_map
        for value, timestamp in zip(values, timestamps, strict=True):
            produced = function(value)
            if produced is not None:
                results.extend(produced)
                times.extend([timestamp] * (len(results) - len(times)))
        if results:
            self.output.emit(RowBatch(results, times))
