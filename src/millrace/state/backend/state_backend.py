"""State backends: the place of keyed state while a job runs (Flink docs, "State Backends")."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from millrace.common.config.configuration import Configuration
from millrace.state.backend.keyed_state_backend import HeapKeyedStateBackend, KeyedStateBackend

__all__ = ["HashMapStateBackend", "StateBackend", "SubtaskId"]


@dataclass(frozen=True, slots=True)
class SubtaskId:
    """Identifies the subtask whose state a backend keeps."""

    job_name: str
    run_id: str
    stage: str
    """Uid of the stage."""
    index: int
    """Index of the subtask."""


class StateBackend(ABC):
    """Keeps the keyed state of a job's subtasks while the job runs.

    The user chooses one; it is pickled with the program and sent to all workers. A custom backend
    is a subclass whose constructor needs no arguments, registered under a name for
    ``state.backend.type``:

    .. code-block:: toml

        [project.entry-points."millrace.state_backends"]
        mine = "my_package.backend:MyStateBackend"

    `millrace.testing.state_backend_conformance.StateBackendConformance` tests it. A backend that
    keeps rows of bytes only needs a `KeyValueStore`; `SpillingKeyedStateBackend` does the rest.

    Example:
        >>> from millrace.state.backend.spilling_backend import NewStores, SpillingKeyedStateBackend
        >>> from millrace.testing.sorted_store import SortedStore
        >>> class SortedStateBackend(StateBackend):
        ...     name = "sorted"
        ...
        ...     def create_keyed_state_backend(self, subtask):
        ...         return SpillingKeyedStateBackend(NewStores(SortedStore))
    """

    name: str
    """Name in logs and metrics."""
    has_files: ClassVar[bool] = False
    """Whether subtasks have files on their hosts, which are deleted when the subtasks are
    closed."""

    @abstractmethod
    def create_keyed_state_backend(self, subtask: SubtaskId) -> KeyedStateBackend:
        """Create, in a worker, the backend that keeps the tables of one subtask.

        Raises:
            StateError: the backend does not work in this worker, for example because a library is
                missing.
        """

    def configured(self, configuration: Configuration) -> StateBackend:
        """This backend, with the settings of the configuration where its constructor was given
        none. The driver calls this when a job is submitted.

        Raises:
            StateError: a setting or library that it needs is missing.
        """
        return self


class HashMapStateBackend(StateBackend):
    """Keeps state in dicts in the memory of the Python workers: the fastest backend, for state that
    fits into memory (Flink docs, "State Backends", The HashMapStateBackend).

    Example:
        >>> HashMapStateBackend().name
        'hashmap'
    """

    name = "hashmap"

    def create_keyed_state_backend(self, subtask: SubtaskId) -> KeyedStateBackend:
        return HeapKeyedStateBackend()
