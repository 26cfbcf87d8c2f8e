"""Vectorised functions, which take whole batches of records; Flink's DataStream API has none."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from millrace.common.functions.base import Function

__all__ = ["MapBatchFunction"]


class MapBatchFunction(Function):
    """A function for `DataStream.map_batches` with a life cycle.

    Example:
        >>> class Rest(MapBatchFunction):
        ...     def map_batch(self, batch):
        ...         return batch[1:]
        >>> Rest().map_batch([1, 2, 3])
        [2, 3]
    """

    @abstractmethod
    def map_batch(self, batch: Any) -> Any:
        """The batch that takes the place of ``batch``: one, an iterator of several, or None."""
