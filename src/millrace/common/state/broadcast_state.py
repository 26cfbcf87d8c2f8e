"""Broadcast state: a map with a copy in every subtask (Flink docs, "The Broadcast State
Pattern")."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from millrace.common.state.descriptors import MapState, State

__all__ = ["BroadcastState", "ReadOnlyBroadcastState"]

K = TypeVar("K")
V = TypeVar("V")


class ReadOnlyBroadcastState(State, Generic[K, V]):
    """Broadcast state for the side that is not broadcast. Its values must not be changed in
    place."""

    @abstractmethod
    def get(self, key: K) -> V | None:
        """The value under ``key``, or None."""

    @abstractmethod
    def contains(self, key: K) -> bool:
        """Whether there is a value under ``key``."""

    @abstractmethod
    def items(self) -> Iterable[tuple[K, V]]:
        """All (key, value) pairs."""

    @abstractmethod
    def keys(self) -> Iterable[K]:
        """All keys."""

    @abstractmethod
    def values(self) -> Iterable[V]:
        """All values."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Whether the map is empty."""

    def __getitem__(self, key: K) -> V | None:
        return self.get(key)

    def __contains__(self, key: K) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())


class BroadcastState(ReadOnlyBroadcastState[K, V], MapState[K, V]):
    """Broadcast state for the broadcast side."""
