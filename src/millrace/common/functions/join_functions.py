"""Functions of joins (Flink docs, "Joining")."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from millrace.common.functions.base import Function

__all__ = ["CoGroupFunction", "FlatJoinFunction", "JoinFunction", "ProcessJoinFunction"]

IN1_contra = TypeVar("IN1_contra", contravariant=True)
IN2_contra = TypeVar("IN2_contra", contravariant=True)
OUT_co = TypeVar("OUT_co", covariant=True)


class JoinFunction(Function, Generic[IN1_contra, IN2_contra, OUT_co]):
    """Function from a pair of records with the same key and window to one result."""

    @abstractmethod
    def join(self, first: IN1_contra, second: IN2_contra) -> OUT_co:
        """The result for a pair."""


class FlatJoinFunction(Function, Generic[IN1_contra, IN2_contra, OUT_co]):
    """Function from a pair of records with the same key and window to any number of results."""

    @abstractmethod
    def join(self, first: IN1_contra, second: IN2_contra) -> Iterable[OUT_co] | None:
        """The results for a pair; None means none."""


class CoGroupFunction(Function, Generic[IN1_contra, IN2_contra, OUT_co]):
    """Function over all records of a key and window, of both streams; one side may be empty.

    Example:
        >>> class Unmatched(CoGroupFunction):
        ...     def co_group(self, first, second):
        ...         return [] if second else first
        >>> Unmatched().co_group([1, 2], [])
        [1, 2]
    """

    @abstractmethod
    def co_group(
        self, first: list[IN1_contra], second: list[IN2_contra]
    ) -> Iterable[OUT_co] | None:
        """Join the records of both sides; returns the records to emit, or None."""


class ProcessJoinFunction(Function, Generic[IN1_contra, IN2_contra, OUT_co]):
    """Function over each pair that an interval join finds.

    Emit with ``yield value``, to a side output with ``yield output_tag, value``.
    """

    class Context(ABC):
        """Event times of the pair, ms since the epoch."""

        @abstractmethod
        def get_left_timestamp(self) -> int:
            """Event time of the left record."""

        @abstractmethod
        def get_right_timestamp(self) -> int:
            """Event time of the right record."""

        @abstractmethod
        def get_timestamp(self) -> int:
            """Event time of the result: the later of both."""

    @abstractmethod
    def process_element(
        self, left: IN1_contra, right: IN2_contra, ctx: ProcessJoinFunction.Context
    ) -> Iterable[OUT_co | tuple[Any, Any]] | None:
        """Handle a pair; usually a generator."""
