"""`EndOfInput`: what operators do that give their results once their input has ended.

A batch may take any number of epochs: results of an epoch are not final. The last watermark is
behind the last row and comes once, so what is given before it is passed on is complete, and whoever
waits for that watermark gets the results before it. Flink: ``BoundedMultiInput``.
"""

from __future__ import annotations

from millrace.runtime.buffer import MAX_WATERMARK
from millrace.runtime.operator import Operator

__all__ = ["AT_ONCE", "EndOfInput"]

AT_ONCE = 65_536
"""Rows that are emitted together at the end of a batch."""


class EndOfInput(Operator):
    """An operator that is told of the end of its input. It comes first among the bases."""

    def end_input(self) -> None:
        """All rows have come: give what waited for that. Called once, before the last watermark
        is passed on."""
        raise NotImplementedError

    def process_watermark(self, timestamp: int) -> None:
        if timestamp == MAX_WATERMARK:
            self.end_input()
        super().process_watermark(timestamp)
