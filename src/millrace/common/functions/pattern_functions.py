"""Functions that are called with the matches of a pattern.

Semantics: Flink docs, "FlinkCEP", section Detecting Patterns. A match is a dict from the names of
patterns to the events taken for them, oldest first; patterns that took none are not in it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, NoReturn, TypeVar

from millrace.common.errors import JobExecutionError
from millrace.common.functions.base import Function
from millrace.common.functions.output_tag import OutputTag

__all__ = [
    "Match",
    "PatternFlatSelectFunction",
    "PatternFlatTimeoutFunction",
    "PatternProcessFunction",
    "PatternSelectFunction",
    "PatternTimeoutFunction",
    "TimedOutPartialMatchHandler",
]

IN = TypeVar("IN")
IN_contra = TypeVar("IN_contra", contravariant=True)
OUT_co = TypeVar("OUT_co", covariant=True)
Match = dict[str, list[IN]]
"""Events by the name of the pattern they were taken for."""


class PatternProcessFunction(Function, Generic[IN, OUT_co]):
    """Function from a match to records. Flink: class ``PatternProcessFunction``.

    Example:
        >>> class Alert(PatternProcessFunction):
        ...     def process_match(self, match, ctx):
        ...         yield f"{match['small'][0]} then {match['large'][0]} at {ctx.timestamp()}"
    """

    class Context(ABC):
        """Time and key of the current match."""

        @abstractmethod
        def timestamp(self) -> int:
            """Time at which the match became certain, in ms since the epoch: the time of its last
            event, or the time that completed or ended the partial match. With a skip strategy, it
            is the time from which no earlier match could displace this one. In processing time, it
            is the time of the clock.
            """

        @abstractmethod
        def current_processing_time(self) -> int:
            """The time of the clock, ms since the epoch."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """The key of the match; None on a stream without keys."""

        def output(self, output_tag: OutputTag[Any], value: Any) -> NoReturn:
            """Not available: use ``yield output_tag, value``. (Flink: ``output``.)"""
            raise JobExecutionError(
                f"ctx.output({output_tag!r}, ...) does not emit records to a side output "
                "here: use yield output_tag, value"
            )

    @abstractmethod
    def process_match(
        self, match: Match[IN], ctx: PatternProcessFunction.Context
    ) -> Iterable[OUT_co] | None:
        """Yield any number of records; ``yield tag, value`` goes to a side output."""


class TimedOutPartialMatchHandler(ABC, Generic[IN]):
    """Addition to `PatternProcessFunction` that takes timed-out partial matches. Flink:
    interface ``TimedOutPartialMatchHandler``."""

    @abstractmethod
    def process_timed_out_match(
        self, match: Match[IN], ctx: PatternProcessFunction.Context
    ) -> Iterable[Any] | None:
        """Yield side outputs: ``yield tag, value``; values without a tag go to the main output."""


class PatternSelectFunction(Function, Generic[IN, OUT_co]):
    """Function from a match to one record. Flink: interface ``PatternSelectFunction``."""

    @abstractmethod
    def select(self, match: Match[IN]) -> OUT_co:
        """The record for a match."""


class PatternFlatSelectFunction(Function, Generic[IN, OUT_co]):
    """Function from a match to any number of records. Flink: interface
    ``PatternFlatSelectFunction``."""

    @abstractmethod
    def flat_select(self, match: Match[IN]) -> Iterable[OUT_co] | None:
        """Yield the records."""


class PatternTimeoutFunction(Function, Generic[IN, OUT_co]):
    """Function from a timed-out partial match to one record. Flink: interface
    ``PatternTimeoutFunction``."""

    @abstractmethod
    def timeout(self, match: Match[IN], timeout_timestamp: int) -> OUT_co:
        """The record for a timed-out partial match; ``timeout_timestamp`` in ms since the epoch."""


class PatternFlatTimeoutFunction(Function, Generic[IN, OUT_co]):
    """Function from a timed-out partial match to any number of records. Flink: interface
    ``PatternFlatTimeoutFunction``."""

    @abstractmethod
    def timeout(self, match: Match[IN], timeout_timestamp: int) -> Iterable[OUT_co] | None:
        """Yield the records; ``timeout_timestamp`` in ms since the epoch."""
