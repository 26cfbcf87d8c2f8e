"""Partitioning of a collection into parts that are read in parallel."""

from __future__ import annotations

from enum import Enum

__all__ = ["PartitionStrategy"]


class PartitionStrategy(Enum):
    """Strategies to find the bounds of partitions. Flink docs: "MongoDB", Partition Strategies.

    Of Flink's, ``SAMPLE``, ``SPLIT_VECTOR`` and ``SHARDED`` are not here.
    """

    SINGLE = "single"
    """The collection is one part."""
    PAGINATION = "pagination"
    """Every n-th ``_id`` is a bound, found by one pass over the index."""
    DEFAULT = "default"
    """PAGINATION."""
