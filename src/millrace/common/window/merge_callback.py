"""The callback for merged windows (Flink docs, "Windows", section Session Windows)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Generic, TypeVar

__all__ = ["MergeCallback"]

W = TypeVar("W")


class MergeCallback(ABC, Generic[W]):
    """Receiver of merged windows (Flink: ``MergingWindowAssigner.MergeCallback``)."""

    @abstractmethod
    def merge(self, to_be_merged: Iterable[W], merge_result: W) -> None:
        """Merge the windows ``to_be_merged`` into ``merge_result``."""
