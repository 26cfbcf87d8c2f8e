"""Runtime context that user functions get in `open`."""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

from millrace.common.errors import JobExecutionError, StateError
from millrace.common.functions.accumulators import (
    Accumulator,
    DoubleCounter,
    Histogram,
    IntCounter,
    LongCounter,
)
from millrace.common.functions.metrics import MetricGroup
from millrace.common.functions.runtime_context import RuntimeContext
from millrace.runtime.keyed_state import KeyedStates
from millrace.runtime.metrics import RegisteredGroup
from millrace.runtime.operator import OperatorContext

A = TypeVar("A", bound=Accumulator[Any, Any])


class StreamRuntimeContext(RuntimeContext):
    """Gives a function information about its subtask, and access to state."""

    def __init__(self, context: OperatorContext, states: KeyedStates | None) -> None:
        self._context = context
        self._states = states

    def get_task_name(self) -> str:
        return self._context.name

    def get_number_of_parallel_subtasks(self) -> int:
        return self._context.parallelism

    def get_max_number_of_parallel_subtasks(self) -> int:
        return self._context.max_parallelism

    def get_index_of_this_subtask(self) -> int:
        return self._context.subtask_index

    def get_attempt_number(self) -> int:
        return self._context.attempt_number

    def get_job_parameter(self, key: str, default_value: str) -> str:
        return self._context.job_parameters.get(key, default_value)

    def get_metrics_group(self) -> MetricGroup:
        return RegisteredGroup(self._context.metrics)

    def add_accumulator(self, name: str, accumulator: Accumulator[Any, Any]) -> None:
        if name in self._context.accumulators:
            raise JobExecutionError(
                f"operator '{self._context.name}' has an accumulator '{name}' already; give each "
                "its own name"
            )
        self._context.accumulators[name] = accumulator

    def get_accumulator(self, name: str) -> Accumulator[Any, Any] | None:
        return self._context.accumulators.get(name)

    def get_int_counter(self, name: str) -> IntCounter:
        return self._accumulator(name, IntCounter)

    def get_long_counter(self, name: str) -> LongCounter:
        return self._accumulator(name, LongCounter)

    def get_double_counter(self, name: str) -> DoubleCounter:
        return self._accumulator(name, DoubleCounter)

    def get_histogram(self, name: str) -> Histogram:
        return self._accumulator(name, Histogram)

    def _accumulator(self, name: str, kind: type[A]) -> A:
        accumulator = self._context.accumulators.setdefault(name, kind())
        if type(accumulator) is not kind:
            raise JobExecutionError(
                f"accumulator '{name}' of operator '{self._context.name}' is a "
                f"{type(accumulator).__name__}, not a {kind.__name__}"
            )
        return accumulator

    def get_state(self, state_descriptor: Any) -> Any:
        return self._keyed().get_state(state_descriptor)

    def get_list_state(self, state_descriptor: Any) -> Any:
        return self._keyed().get_list_state(state_descriptor)

    def get_map_state(self, state_descriptor: Any) -> Any:
        return self._keyed().get_map_state(state_descriptor)

    def get_reducing_state(self, state_descriptor: Any) -> Any:
        return self._keyed().get_reducing_state(state_descriptor)

    def get_aggregating_state(self, state_descriptor: Any) -> Any:
        return self._keyed().get_aggregating_state(state_descriptor)

    def _keyed(self) -> KeyedStates:
        if self._states is None:
            self._refuse()
        return self._states

    def _refuse(self) -> NoReturn:
        raise StateError(
            f"operator '{self._context.name}' has no keyed state: it does not run on a keyed "
            "stream; call key_by before it"
        )
