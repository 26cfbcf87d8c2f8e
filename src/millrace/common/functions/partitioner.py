"""Custom partitioning (Flink docs, "Physical Partitioning")."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from millrace.common.functions.base import Function

__all__ = ["Partitioner"]


class Partitioner(Function):
    """Chooses the subtask for a key.

    Example:
        >>> class Even(Partitioner):
        ...     def partition(self, key, num_partitions):
        ...         return key % num_partitions
        >>> Even().partition(5, 2)
        1
    """

    @abstractmethod
    def partition(self, key: Any, num_partitions: int) -> int:
        """The subtask, from 0 to ``num_partitions`` - 1."""
