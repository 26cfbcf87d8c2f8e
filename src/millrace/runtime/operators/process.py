"""Process function on a stream without keys: like flat map, with event times and side outputs."""

from __future__ import annotations

from typing import Any

from millrace.common.errors import StateError
from millrace.common.functions.base import ProcessFunction
from millrace.common.time.timer_service import TimerService
from millrace.runtime.function_operator import FunctionOperator
from millrace.runtime.operator import Operator
from millrace.runtime.produced_records import producing


class _TimeOnly(TimerService):
    """Timer service that only tells the time, because timers need a key."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator

    def current_processing_time(self) -> int:
        return self._operator.context.clock()

    def current_watermark(self) -> int:
        return self._operator.watermark

    def register_processing_time_timer(self, timestamp: int) -> None:
        self._refuse()

    def register_event_time_timer(self, timestamp: int) -> None:
        self._refuse()

    def delete_processing_time_timer(self, timestamp: int) -> None:
        self._refuse()

    def delete_event_time_timer(self, timestamp: int) -> None:
        self._refuse()

    def _refuse(self) -> None:
        name = self._operator.context.name
        raise StateError(
            f"operator '{name}' cannot use timers: it does not run on a keyed stream; "
            "call key_by before it"
        )


class _ProcessContext(ProcessFunction.Context):
    def __init__(self, operator: Operator) -> None:
        self._timers = _TimeOnly(operator)
        self.time: int | None = None

    def timer_service(self) -> TimerService:
        return self._timers

    def timestamp(self) -> int | None:
        return self.time


class ProcessOperator(FunctionOperator):
    """Runs a `ProcessFunction`."""

    def open(self) -> None:
        super().open()
        self._context = _ProcessContext(self)
        self.bind()

    def bind(self) -> None:
        """Look up the user's methods."""
        self._element = producing(self.function.process_element)

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        context = self._context
        function = self._element
        results: list[Any] = []
        times: list[int] = []
        for index, value in enumerate(values):
            context.time = timestamp = None if timestamps is None else timestamps[index]
            produced = function(value, context)
            if produced is not None:
                results.extend(produced)
                if timestamp is not None:
                    times.extend([timestamp] * (len(results) - len(times)))
        self.emit_results(results, None if timestamps is None else times)
