"""Sink function: one call per record, at least once."""

from __future__ import annotations

from typing import Any

from millrace.common.functions.base import SinkFunction
from millrace.runtime.function_operator import FunctionOperator
from millrace.runtime.operator import Operator


class _SinkContext(SinkFunction.Context):
    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        self.time: int | None = None

    def current_processing_time(self) -> int:
        return self._operator.context.clock()

    def current_watermark(self) -> int:
        return self._operator.watermark

    def timestamp(self) -> int | None:
        return self.time


class SinkFunctionOperator(FunctionOperator):
    """Calls a `SinkFunction`, or a plain callable, for every record. A repeated epoch repeats
    the calls."""

    def open(self) -> None:
        super().open()
        self._context = _SinkContext(self)

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        context = self._context
        if not isinstance(self.function, SinkFunction):
            for value in values:
                self.function(value)
            return
        invoke = self.function.invoke
        for index, value in enumerate(values):
            context.time = None if timestamps is None else timestamps[index]
            invoke(value, context)
