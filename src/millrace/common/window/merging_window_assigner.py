"""Assigners whose windows may merge (Flink docs, "Windows", section Session Windows)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TypeAlias, TypeVar

from millrace.common.window import merge_callback
from millrace.common.window.window_assigner import WindowAssigner

__all__ = ["MergingWindowAssigner"]

T_contra = TypeVar("T_contra", contravariant=True)
W = TypeVar("W")


class MergingWindowAssigner(WindowAssigner[T_contra, W], ABC):
    """Puts each record into a window of its own; windows that belong together are merged."""

    MergeCallback: TypeAlias = merge_callback.MergeCallback

    @abstractmethod
    def merge_windows(
        self, windows: Iterable[W], callback: MergingWindowAssigner.MergeCallback[W]
    ) -> None:
        """Determine the windows that belong together and call ``callback`` once per group. A
        window may be in one group only."""
