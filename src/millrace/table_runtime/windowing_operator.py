"""`WindowingOperator`: base of operators that emit a window when it is complete."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from millrace.runtime.buffer import MAX_WATERMARK, MIN_WATERMARK
from millrace.runtime.declared_state import DeclaredValue
from millrace.runtime.operator import Operator
from millrace.runtime.operator_state_declaration import OperatorStateDeclaration
from millrace.state.internal_tables import PASSED
from millrace.state.redistribution_mode import RedistributionMode
from millrace.table_runtime.window_time import Times, WindowTime
from millrace.table_runtime.window_times import required_times

__all__ = ["WindowingOperator"]

_WATERMARK = OperatorStateDeclaration(PASSED, RedistributionMode.MERGE, max)
"""All subtasks have the same time when an epoch ends."""


class WindowingOperator(Operator):
    """Calls `fire` as time passes: by the watermark, or by processing time at the beginning of
    epochs. At the end of the input all windows are complete.

    Args:
        time: clock of the windows.
    """

    operator_states = (_WATERMARK,)
    reached: int
    """The wall clock time up to which windows have fired."""

    def __init__(self, time: WindowTime) -> None:
        self.window_time = time

    def open(self) -> None:
        self._passed = DeclaredValue(self, _WATERMARK)

    def restore(self) -> None:
        self._instant = self._passed.get(MIN_WATERMARK)
        if not self.window_time.processing:
            self.watermark = self._instant
        self.reached = self.window_time.reached(self._instant)

    @property
    def closed(self) -> int:
        """Wall clock time up to which windows are closed and take no more rows."""
        # by processing time rows are never late; windows made before this one may come as it fires
        return MIN_WATERMARK if self.window_time.processing else self.reached

    def row_times(self, column: pa.Array) -> Times:
        """Wall clock times of rows."""
        time = self.window_time
        if time.processing:
            return time.wall(np.full(len(column), self._instant + 1))
        return time.wall(required_times(column, self.context.name))

    def fire(self, reached: int) -> None:
        """Emit the windows that have ended since the last call: their last wall clock time is after
        the former `reached`, but not after the new one.
        """
        raise NotImplementedError

    def earliest_end(self) -> int:
        """A lower bound for the last wall clock time of the first waiting window; MAX_WATERMARK
        if no window waits."""
        raise NotImplementedError

    def advance_processing_time(self, now: int) -> None:
        if self.window_time.processing:
            # as in Flink a timer fires when its millisecond is over
            self._advance(max(self._instant, now - 1))

    def process_watermark(self, timestamp: int) -> None:
        if not self.window_time.processing or timestamp == MAX_WATERMARK:
            self._advance(timestamp)
        super().process_watermark(timestamp)

    def end_epoch(self, ended: bool) -> None:
        if self.window_time.processing:
            self._advance(self._instant)
        if self._instant != MIN_WATERMARK:
            self._passed.put(self._instant)

    def next_wakeup(self) -> int | None:
        if self.watermark == MAX_WATERMARK:
            return None
        return self.window_time.wakeup(self.earliest_end())

    def _advance(self, instant: int) -> None:
        reached = self.window_time.reached(instant)
        if self.earliest_end() <= reached:
            self.fire(reached)
        self._instant, self.reached = instant, reached
