"""Base class of windows (Flink docs, "Windows")."""

from __future__ import annotations

from abc import ABC, abstractmethod

__all__ = ["Window"]


class Window(ABC):
    """A finite group of records. Subclasses must be hashable, comparable by value and picklable."""

    __slots__ = ()

    @abstractmethod
    def max_timestamp(self) -> int:
        """The last timestamp (ms since the epoch) that can belong to the window."""
