"""Operator state, which belongs to a subtask instead of a key (Flink docs, "Working with State").

A function that implements `CheckpointedFunction` keeps what it likes in its own fields and hands it
over when an epoch ends.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, TypeVar

from millrace.common.functions.runtime_context import KeyedStateStore
from millrace.common.state.broadcast_state import BroadcastState
from millrace.common.state.descriptors import ListState, ListStateDescriptor, MapStateDescriptor

__all__ = [
    "CheckpointedFunction",
    "FunctionInitializationContext",
    "FunctionSnapshotContext",
    "OperatorStateStore",
]

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


class OperatorStateStore(ABC):
    """Gives access to operator state."""

    @abstractmethod
    def get_broadcast_state(
        self, state_descriptor: MapStateDescriptor[K, V]
    ) -> BroadcastState[K, V]:
        """A map that is the same in every subtask: all subtasks must put the same entries."""

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor[T]) -> ListState[T]:
        """A list whose elements are redistributed when the parallelism changes."""

    @abstractmethod
    def get_union_list_state(self, state_descriptor: ListStateDescriptor[T]) -> ListState[T]:
        """A list whose elements all go to every subtask when the parallelism changes."""


class FunctionSnapshotContext(ABC):
    """Context of `CheckpointedFunction.snapshot_state`."""

    @abstractmethod
    def get_checkpoint_id(self) -> int:
        """Number of the epoch that ends. It serves as a checkpoint id, because the end of every
        epoch is a consistent cut."""


class FunctionInitializationContext(ABC):
    """Context of `CheckpointedFunction.initialize_state`: state stores, before the first record."""

    @abstractmethod
    def is_restored(self) -> bool:
        """Whether there is state of an earlier run."""

    @abstractmethod
    def get_operator_state_store(self) -> OperatorStateStore:
        """State of this subtask."""

    @abstractmethod
    def get_keyed_state_store(self) -> KeyedStateStore:
        """State of keys; raises StateError on a stream without keys."""


class CheckpointedFunction(ABC):
    """Mixin that gives a function operator state.

    Example:
        >>> from millrace.common.functions import MapFunction
        >>> from millrace.common.types.typeinfo import Types
        >>> class Numbered(MapFunction, CheckpointedFunction):
        ...     def initialize_state(self, context):
        ...         descriptor = ListStateDescriptor("count", Types.LONG())
        ...         self.kept = context.get_operator_state_store().get_list_state(descriptor)
        ...         self.count = sum(self.kept.get())
        ...     def snapshot_state(self, context):
        ...         self.kept.update([self.count])
        ...     def map(self, value):
        ...         self.count += 1
        ...         return self.count, value
    """

    @abstractmethod
    def initialize_state(self, context: FunctionInitializationContext) -> Any:
        """Get the state; called before ``open``, on a new instance whenever the state of this
        subtask is loaded instead of kept."""

    @abstractmethod
    def snapshot_state(self, context: FunctionSnapshotContext) -> Any:
        """Write everything that must survive into the state; called at the end of every epoch."""
