"""`WindowJoinOperator`: joins the rows of a window when the window is complete.

Rows of both sides wait until the watermark passes the end of their window. Then the window's
results are emitted and its rows are freed. Late rows are dropped and counted. Flink:
``WindowJoin``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.expressions.session_settings import SessionSettings
from millrace.runtime.buffer import MAX_WATERMARK
from millrace.runtime.expiry_queue import ExpiryQueue
from millrace.runtime.metrics import RegisteredGroup
from millrace.state.columns.hash_index import Positions
from millrace.state.columns.row_log import RowLog
from millrace.table_runtime.join_pairs import (
    JoinPairs,
    JoinSpec,
    Times,
    milliseconds_of,
    without_null,
)
from millrace.table_runtime.window_time import EVENT_TIME, WindowTime
from millrace.table_runtime.windowing_operator import WindowingOperator

__all__ = ["WindowJoinOperator", "WindowJoinSpec"]

_MATCHED = 0
_PAIRS = 1 << 20
"""So many pairs are made at a time."""


@dataclass(frozen=True)
class WindowJoinSpec:
    """Settings of a window join.

    Attributes:
        join: settings of the join. Its keys include the starts and ends of windows.
        ends: positions of window_end, in the row of each side.
        clock: clock by which windows are complete.
    """

    join: JoinSpec
    ends: tuple[int, int]
    clock: WindowTime = EVENT_TIME


class WindowJoinOperator(WindowingOperator):
    """Joins two streams of inserts whose rows have windows.

    Args:
        spec: settings of the join.
        session: session settings for the condition.
    """

    takes = BatchForm.COLUMNS

    def __init__(self, spec: WindowJoinSpec, session: SessionSettings) -> None:
        super().__init__(spec.clock)
        self._spec, self._session = spec, session

    def open(self) -> None:
        super().open()
        context = self.context
        metrics = RegisteredGroup(context.metrics)
        self._dropped = [
            metrics.counter(f"{side}NumLateRecordsDropped") for side in ("left", "right")
        ]
        self._pairs = JoinPairs(
            self._spec.join, self._session, self.output, RegisteredGroup(self.context.metrics)
        )
        self._logs = [
            self._pairs.log(context.state, context.uid, side, "matched") for side in (0, 1)
        ]
        self._now = 0

    def restore(self) -> None:
        super().restore()
        self._queues = [ExpiryQueue(), ExpiryQueue()]
        for side, (log, queue) in enumerate(zip(self._logs, self._queues, strict=True)):
            rows = log.live_rows()
            if rows.size:
                queue.add(rows, self._last_times(side, log.take(rows)))

    def advance_processing_time(self, now: int) -> None:
        super().advance_processing_time(now)
        self._now = now

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        data = batch.data
        if not data.num_rows:
            return
        times = self._last_times(number, data)
        late = times <= self.closed
        if late.any():
            self._dropped[number].inc(int(np.count_nonzero(late)))
            data, times = data.filter(pa.array(~late)), times[~late]
        if data.num_rows:
            log = self._logs[number]
            slots = log.slots_of(self._pairs.keys(number, data), True, data.num_rows)
            self._queues[number].add(log.append(slots, data), times)

    def _last_times(self, side: int, data: pa.RecordBatch) -> Times:
        """Greatest time in the window of each row."""
        return milliseconds_of(data.column(self._spec.ends[side])) - 1

    # -- windows -----------------------------------------------------------------------

    def earliest_end(self) -> int:
        ends = [queue.earliest() for queue in self._queues]
        return min((end for end in ends if end is not None), default=MAX_WATERMARK)

    def fire(self, reached: int) -> None:
        left, right = (queue.due(reached) for queue in self._queues)
        if left.size or right.size:
            self._give(left, right)

    def _give(self, left: Positions, right: Positions) -> None:
        """Emit the results of complete windows, given the rows of these windows."""
        join, (lefts, rights) = self._spec.join, self._logs
        data = lefts.take(left)
        keys = self._pairs.keys(0, data)
        slots = rights.slots_of(keys, False, left.size)
        slots = np.where(without_null(keys, left.size), slots, -1)
        cuts = np.cumsum(rights.counts(slots)) // _PAIRS
        for cut in np.unique(cuts):
            self._match(left[cuts == cut], slots[cuts == cut])
        if not join.pairs:
            shown = lefts.column(_MATCHED).take(left) == join.matched
            self._pairs.emit_alone(0, lefts.take(left[shown]))
        for side, rows in enumerate((left, right)):
            if join.padded[side]:
                alone = rows[self._logs[side].column(_MATCHED).take(rows) == 0]
                self._pairs.emit_alone(side, self._logs[side].take(alone))
            self._logs[side].remove(rows)

    def _match(self, left: Positions, slots: Positions) -> None:
        """Emit the pairs of left rows and the rows of slots, and record which rows have a match."""
        lefts, rights = self._logs
        rows, owners = rights.rows_of(slots)
        mine = left.take(owners)
        chosen = self._pairs.emit_pairs(lefts.take(mine), rights.take(rows), self._now)
        if chosen is not None:
            rows, mine = rows[chosen], mine[chosen]
        _note(lefts, mine)
        _note(rights, rows)


def _note(log: RowLog, rows: Positions) -> None:
    matched = np.unique(rows)
    log.touch(matched)
    log.column(_MATCHED)[matched] = 1
