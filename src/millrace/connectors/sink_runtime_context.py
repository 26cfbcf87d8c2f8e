"""What a sink function may ask in `open`."""

from __future__ import annotations

from typing import Any, NoReturn

from millrace.common.errors import StateError
from millrace.common.metrics import MetricGroup
from millrace.common.runtime_context import RuntimeContext
from millrace.runtime.metrics import MetricRegistry, RegisteredGroup

__all__ = ["SinkRuntimeContext"]


class SinkRuntimeContext(RuntimeContext):
    """Tells a sink function about its subtask; a sink has no keyed state."""

    def __init__(self, subtask_index: int, parallelism: int) -> None:
        self._subtask_index = subtask_index
        self._parallelism = parallelism
        self._metrics = MetricRegistry()

    def get_task_name(self) -> str:
        return "Sink"

    def get_number_of_parallel_subtasks(self) -> int:
        return self._parallelism

    def get_max_number_of_parallel_subtasks(self) -> int:
        return self._parallelism

    def get_index_of_this_subtask(self) -> int:
        return self._subtask_index

    def get_attempt_number(self) -> int:
        return 0

    def get_metrics_group(self) -> MetricGroup:
        return RegisteredGroup(self._metrics)

    def get_state(self, state_descriptor: Any) -> NoReturn:
        self._refuse(state_descriptor)

    def get_list_state(self, state_descriptor: Any) -> NoReturn:
        self._refuse(state_descriptor)

    def get_map_state(self, state_descriptor: Any) -> NoReturn:
        self._refuse(state_descriptor)

    def get_reducing_state(self, state_descriptor: Any) -> NoReturn:
        self._refuse(state_descriptor)

    def get_aggregating_state(self, state_descriptor: Any) -> NoReturn:
        self._refuse(state_descriptor)

    def _refuse(self, state_descriptor: Any) -> NoReturn:
        raise StateError(
            f"a sink function has no keyed state, so it cannot use {state_descriptor.name!r}; keep "
            "the state in a KeyedProcessFunction before the sink"
        )
