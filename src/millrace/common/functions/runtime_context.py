"""Runtime context of a function: its subtask, state, metrics and job parameters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from millrace.common.functions.accumulators import (
        Accumulator,
        DoubleCounter,
        Histogram,
        IntCounter,
        LongCounter,
    )
    from millrace.common.functions.metrics import MetricGroup
    from millrace.common.state.descriptors import (
        AggregatingState,
        AggregatingStateDescriptor,
        ListState,
        ListStateDescriptor,
        MapState,
        MapStateDescriptor,
        ReducingState,
        ReducingStateDescriptor,
        ValueState,
        ValueStateDescriptor,
    )

__all__ = ["KeyedStateStore", "RuntimeContext"]

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


class KeyedStateStore(ABC):
    """Gives access to state of the current key (Flink docs, "Working with State").

    Every method raises `StateError` when the same name is asked for with another kind of state or
    another type, and on a stream that has no keys.
    """

    @abstractmethod
    def get_state(self, state_descriptor: ValueStateDescriptor[T]) -> ValueState[T]:
        """One value per key."""

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor[T]) -> ListState[T]:
        """A list per key."""

    @abstractmethod
    def get_map_state(self, state_descriptor: MapStateDescriptor[K, V]) -> MapState[K, V]:
        """A map per key."""

    @abstractmethod
    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor[T]) -> ReducingState[T]:
        """One value per key: everything that was added, reduced."""

    @abstractmethod
    def get_aggregating_state(
        self, state_descriptor: AggregatingStateDescriptor[K, Any, V]
    ) -> AggregatingState[K, V]:
        """One accumulator per key: everything that was added, aggregated."""


class RuntimeContext(KeyedStateStore):
    """Context given to ``Function.open``: the subtask, its metrics, its state."""

    @abstractmethod
    def get_task_name(self) -> str:
        """Name of the operator."""

    @abstractmethod
    def get_number_of_parallel_subtasks(self) -> int:
        """Parallelism of the operator."""

    @abstractmethod
    def get_max_number_of_parallel_subtasks(self) -> int:
        """Max parallelism of the operator: the number of its key groups."""

    @abstractmethod
    def get_index_of_this_subtask(self) -> int:
        """Index of this subtask, from 0."""

    @abstractmethod
    def get_attempt_number(self) -> int:
        """Number of restarts of the job in this run before the function was opened."""

    @abstractmethod
    def get_job_parameter(self, key: str, default_value: str) -> str:
        """A global parameter of the job (`ExecutionConfig.set_global_job_parameters`)."""

    @abstractmethod
    def get_metrics_group(self) -> MetricGroup:
        """Metric group of this subtask."""

    @abstractmethod
    def add_accumulator(self, name: str, accumulator: Accumulator[Any, Any]) -> None:
        """Register an accumulator; its sum over all subtasks is in the job's result.

        Raises:
            JobExecutionError: this subtask has one of that name already.
        """

    @abstractmethod
    def get_accumulator(self, name: str) -> Accumulator[Any, Any] | None:
        """The accumulator registered under the given name, or None."""

    @abstractmethod
    def get_int_counter(self, name: str) -> IntCounter:
        """The counter with the given name, created if necessary."""

    @abstractmethod
    def get_long_counter(self, name: str) -> LongCounter:
        """The counter with the given name, created if necessary."""

    @abstractmethod
    def get_double_counter(self, name: str) -> DoubleCounter:
        """The counter with the given name, created if necessary."""

    @abstractmethod
    def get_histogram(self, name: str) -> Histogram:
        """The histogram with the given name, created if necessary."""

    def get_task_name_with_subtasks(self) -> str:
        """Name of the task, for example ``"Count (3/4)#0"``: subtask (from 1), parallelism,
        attempt.
        """
        subtask = f"{self.get_index_of_this_subtask() + 1}/{self.get_number_of_parallel_subtasks()}"
        return f"{self.get_task_name()} ({subtask})#{self.get_attempt_number()}"
