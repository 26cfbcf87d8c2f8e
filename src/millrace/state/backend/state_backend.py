"""The choice of where keyed state lives (Flink docs, "State Backends")."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from millrace.common.config.configuration import Configuration
from millrace.state.backend.keyed_state_backend import HeapKeyedStateBackend, KeyedStateBackend

__all__ = ["HashMapStateBackend", "StateBackend", "SubtaskPlace"]


@dataclass(frozen=True, slots=True)
class SubtaskPlace:
    """Whose state it is."""

    job_name: str
    run_id: str
    stage: str
    """Uid of the stage."""
    subtask: int


class StateBackend(ABC):
    """Where keyed state lives while a job runs: a choice of the user's, sent to all workers.

    Instances are pickled with the program. A backend of your own is a subclass with a constructor
    that needs no arguments, registered under a name for ``state.backend.type``:

    .. code-block:: toml

        [project.entry-points."millrace.state_backends"]
        mine = "my_package.backend:MyStateBackend"

    `millrace.testing.state_backend_conformance.StateBackendConformance` tests it. One that keeps
    rows of bytes only has to bring a `KeyValueStore`, for which `SpillingKeyedStateBackend` does
    the rest.

    Example:
        >>> from millrace.state.backend.spilling_backend import NewStores, SpillingKeyedStateBackend
        >>> from millrace.testing.sorted_store import SortedStore
        >>> class SortedStateBackend(StateBackend):
        ...     name = "sorted"
        ...
        ...     def create_keyed_state_backend(self, place):
        ...         return SpillingKeyedStateBackend(NewStores(SortedStore))
    """

    name: str
    """What logs and metrics call it."""

    @abstractmethod
    def create_keyed_state_backend(self, place: SubtaskPlace) -> KeyedStateBackend:
        """What keeps the tables of one subtask; called in a worker.

        Raises:
            StateError: it cannot be had there.
        """

    def configured(self, configuration: Configuration) -> StateBackend:
        """This backend with what its constructor was not given taken from the configuration;
        called on the driver when a job is made.

        Raises:
            StateError: something that it needs is missing.
        """
        return self


class HashMapStateBackend(StateBackend):
    """Keeps state in dicts in the memory of the Python workers (Flink docs, "State Backends", The
    HashMapStateBackend): the fastest one, for state that fits.

    Example:
        >>> HashMapStateBackend().name
        'hashmap'
    """

    name = "hashmap"

    def create_keyed_state_backend(self, place: SubtaskPlace) -> KeyedStateBackend:
        return HeapKeyedStateBackend()
