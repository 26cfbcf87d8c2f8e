"""`TimeIntervalJoinOperator`: joins rows whose times are within an interval of each other.

A row is kept until time has passed all rows that it may match. An unmatched row of an outer or anti
join is emitted then. Late rows still find the kept rows. The watermark is delayed by as much as
results may be behind it. Flink: ``TimeIntervalJoin``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.expressions.session_settings import SessionSettings
from millrace.runtime.buffer import MAX_WATERMARK, MIN_WATERMARK
from millrace.runtime.declared_state import DeclaredValue
from millrace.runtime.expiry_queue import ExpiryQueue
from millrace.runtime.metrics import RegisteredGroup
from millrace.runtime.operator import Operator
from millrace.runtime.operator_state_declaration import OperatorStateDeclaration
from millrace.state.columns.hash_index import Positions
from millrace.state.internal_tables import PASSED
from millrace.state.redistribution_mode import RedistributionMode
from millrace.table_runtime.join_pairs import (
    Flags,
    JoinPairs,
    JoinSpec,
    Times,
    milliseconds_of,
    without_null,
)

__all__ = ["TimeIntervalJoinOperator", "TimeIntervalJoinSpec"]

_TIME, _MATCHED = 0, 1
_WATERMARK = OperatorStateDeclaration(PASSED, RedistributionMode.MERGE, max)


@dataclass(frozen=True)
class TimeIntervalJoinSpec:
    """Settings of an interval join.

    Attributes:
        join: settings of the join. Its condition is without the time bounds.
        times: positions of the times, in the row of each side.
        lower, upper: rows match if ``right + lower <= left <= right + upper``, in ms.
        rowtime: whether the times are event times. Else they are the times of arrival.
    """

    join: JoinSpec
    times: tuple[int, int]
    lower: int
    upper: int
    rowtime: bool


class TimeIntervalJoinOperator(Operator):
    """Joins two streams of inserts.

    Args:
        spec: settings of the join.
        session: session settings for the condition.
    """

    takes = BatchForm.COLUMNS
    operator_states = (_WATERMARK,)

    def __init__(self, spec: TimeIntervalJoinSpec, session: SessionSettings) -> None:
        self._spec, self._session = spec, session

    def open(self) -> None:
        spec, context = self._spec, self.context
        self._passed = DeclaredValue(self, _WATERMARK)
        self._pairs = JoinPairs(
            spec.join, self._session, self.output, RegisteredGroup(self.context.metrics)
        )
        self._logs = [
            self._pairs.log(context.state, context.uid, side, "time", "matched") for side in (0, 1)
        ]
        self._reach = (-spec.lower, spec.upper)  # how long after a row its last match may come
        self._delay = max(0, *self._reach)
        self._now = 0

    def restore(self) -> None:
        self.watermark = self._passed.get(MIN_WATERMARK)
        self._queues = [ExpiryQueue(), ExpiryQueue()]
        for log, queue, reach in zip(self._logs, self._queues, self._reach, strict=True):
            rows = log.live_rows()
            queue.add(rows, log.column(_TIME).take(rows) + reach)

    # -- rows --------------------------------------------------------------------------

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        data, spec = batch.data, self._spec
        if not data.num_rows:
            return
        keys = self._pairs.keys(number, data)
        column = data.column(spec.times[number])
        able = without_null([*keys, column] if spec.rowtime else keys, data.num_rows)
        times = milliseconds_of(column) if spec.rowtime else np.full(data.num_rows, self._now)
        matched = self._match(number, data, keys, times, able)
        if number == 0 and not spec.join.pairs and spec.join.matched:
            self._pairs.emit_alone(0, data.filter(pa.array(matched)))
        log = self._logs[number]
        passed = self.watermark if spec.rowtime else self._now - 1
        kept = able & (times + self._reach[number] > passed) & (spec.lower <= spec.upper)
        stored = np.flatnonzero(kept)
        if stored.size:
            where = pa.array(stored)
            slots = log.slots_of([key.take(where) for key in keys], True, stored.size)
            rows = log.append(slots, data.take(where))
            log.column(_TIME)[rows] = times[stored]
            log.column(_MATCHED)[rows] = matched[stored]
            self._queues[number].add(rows, times[stored] + self._reach[number])
        if spec.join.shows_unmatched(number):
            self._pairs.emit_alone(number, data.filter(pa.array(~kept & ~matched)))

    def _match(
        self, side: int, data: pa.RecordBatch, keys: list[pa.Array], times: Times, able: Flags
    ) -> Flags:
        """Emit the pairs of new rows of a side, and return flags of the rows with a match."""
        spec, other = self._spec, self._logs[1 - side]
        slots = other.slots_of(keys, False, data.num_rows)
        rows, owners = other.rows_of(np.where(able, slots, -1))
        apart = times.take(owners) - other.column(_TIME).take(rows)
        apart = -apart if side else apart
        near = (apart >= spec.lower) & (apart <= spec.upper)
        rows, owners = rows[near], owners[near]
        mine, theirs = data.take(pa.array(owners)), other.take(rows)
        left, right = (theirs, mine) if side else (mine, theirs)
        chosen = self._pairs.emit_pairs(left, right, self._now)
        if chosen is not None:
            rows, owners = rows[chosen], owners[chosen]
        self._note_matches(1 - side, rows)
        matched = np.zeros(data.num_rows, np.bool_)
        matched[owners] = True
        return matched

    def _note_matches(self, side: int, rows: Positions) -> None:
        """Record that stored rows have a match."""
        join, log = self._spec.join, self._logs[side]
        gives_matched = side == 0 and not join.pairs and join.matched
        if not rows.size or not (join.shows_unmatched(side) or gives_matched):
            return
        distinct = np.unique(rows)
        first = distinct[log.column(_MATCHED).take(distinct) == 0]
        log.touch(first)
        log.column(_MATCHED)[first] = 1
        if gives_matched:
            self._pairs.emit_alone(0, log.take(first))

    # -- time --------------------------------------------------------------------------

    def advance_processing_time(self, now: int) -> None:
        self._now = now
        if not self._spec.rowtime:
            self._expire(now - 1)

    def process_watermark(self, timestamp: int) -> None:
        if not self._spec.rowtime:
            super().process_watermark(timestamp)
            return
        self._expire(timestamp)
        self.watermark = timestamp
        held = timestamp if timestamp == MAX_WATERMARK else timestamp - self._delay
        self.output.emit_watermark(max(held, MIN_WATERMARK))

    def end_epoch(self, ended: bool) -> None:
        if ended and not self._spec.rowtime:
            self._expire(MAX_WATERMARK)
        if self.watermark != MIN_WATERMARK:
            self._passed.put(self.watermark)

    def next_wakeup(self) -> int | None:
        if self._spec.rowtime:
            return None
        waiting = [
            at
            for side, queue in enumerate(self._queues)
            if self._spec.join.shows_unmatched(side) and (at := queue.earliest()) is not None
        ]
        return min(waiting) + 1 if waiting else None

    def _expire(self, until: int) -> None:
        """Free the rows that can have no match after a time. Rows without any match are emitted."""
        for side, (log, queue) in enumerate(zip(self._logs, self._queues, strict=True)):
            rows = queue.due(until)
            if not rows.size:
                continue
            if self._spec.join.shows_unmatched(side):
                alone = rows[log.column(_MATCHED).take(rows) == 0]
                self._pairs.emit_alone(side, log.take(alone))
            log.remove(rows)
