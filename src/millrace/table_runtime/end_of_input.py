"""`EndOfInput`: base of operators that emit results at the end of their input.

A bounded job may take any number of epochs, so the results of one epoch are not final. The last
watermark follows the last row and comes once. Results emitted before it is passed on are complete,
and an operator that waits for that watermark has them by then. Flink: ``BoundedMultiInput``.
"""

from __future__ import annotations

from millrace.runtime.buffer import MAX_WATERMARK
from millrace.runtime.operator import Operator

__all__ = ["AT_ONCE", "EndOfInput"]

AT_ONCE = 65_536
"""Number of rows that are emitted together at the end of the input."""


class EndOfInput(Operator):
    """Base class of operators that are notified of the end of their input. It must be the first
    base class.
    """

    def end_input(self) -> None:
        """Emit the results that waited for the end of the input. It is called once, before the last
        watermark is passed on.
        """
        raise NotImplementedError

    def process_watermark(self, timestamp: int) -> None:
        if timestamp == MAX_WATERMARK:
            self.end_input()
        super().process_watermark(timestamp)
