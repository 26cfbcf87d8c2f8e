"""How a collection is cut into parts that are read side by side."""

from __future__ import annotations

from enum import Enum

__all__ = ["PartitionStrategy"]


class PartitionStrategy(Enum):
    """Ways to find the bounds. Flink docs: "MongoDB", Partition Strategies.

    Of Flink's, ``SAMPLE``, ``SPLIT_VECTOR`` and ``SHARDED`` are not here.
    """

    SINGLE = "single"
    """The collection is one part."""
    PAGINATION = "pagination"
    """Every n-th ``_id`` is a bound, found by one pass over the index."""
    DEFAULT = "default"
    """PAGINATION."""
