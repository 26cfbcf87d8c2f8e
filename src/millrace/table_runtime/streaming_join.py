"""`StreamingJoinOperator`: the regular join, which keeps all rows of both sides as state.

A batch of one side is probed against the rows of the other. In outer, semi and anti joins, rows of
a side whose unmatched rows are part of the result store their number of matches, and emit a change
when it becomes 0 or stops being 0. In batch mode, where results are not updated, unmatched rows are
emitted at the end of the input. Flink: ``StreamingJoinOperator``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.logical_type import RowType
from millrace.expressions.evaluation import CompiledCalc
from millrace.expressions.resolved import fields_of
from millrace.expressions.session_settings import SessionSettings
from millrace.runtime.metrics import RegisteredGroup
from millrace.state.columns.hash_index import Positions, distinct
from millrace.state.columns.positions import ValueColumn
from millrace.state.columns.row_log import RowLog
from millrace.state.columns.time_to_live import LAST_USED, TimeToLive
from millrace.state.table_id import TableId
from millrace.state.table_kinds import ROW_LOG
from millrace.table_runtime.columns import schema_of
from millrace.table_runtime.end_of_input import AT_ONCE, EndOfInput
from millrace.table_runtime.group_accumulators import signs_of
from millrace.table_runtime.join_pairs import JoinSpec
from millrace.table_runtime.ranking import equal_pairs, without_row
from millrace.table_runtime.state_columns import logged_rows

__all__ = ["StreamingJoinOperator", "StreamingJoinSpec"]

Flags = npt.NDArray[np.bool_]
_INSERT, _DELETE = 0, 3
_MATCHES, _LAST_USED = 0, 1
"""Numbers per row: number of its matches, and time of its last write."""


@dataclass(frozen=True)
class StreamingJoinSpec(JoinSpec):
    """Settings of a regular join.

    Attributes:
        batch: whether only final rows are emitted.
        state_ttl: per side, ms without a write after which a row is forgotten, without a change in
            the result. 0 for never.
    """

    batch: bool = False
    state_ttl: tuple[int, int] = (0, 0)


class StreamingJoinOperator(EndOfInput):
    """Joins two changelogs.

    Args:
        spec: settings of the join.
        session: session settings, for the condition.
    """

    takes = BatchForm.COLUMNS

    def __init__(self, spec: StreamingJoinSpec, session: SessionSettings) -> None:
        self._spec = spec
        columns = [field.type for row_type in spec.types for field in row_type.fields]
        both = RowType.of(*((f"f{index}", kind) for index, kind in enumerate(columns)))
        self._calc = CompiledCalc((), spec.condition, both, session)
        self._read = () if spec.condition is None else tuple(sorted(set(fields_of(spec.condition))))
        """Columns of pairs that the condition reads."""

    def open(self) -> None:
        self._calc.open(RegisteredGroup(self.context.metrics))
        spec = self._spec
        self._now = 0
        self._schema = schema_of(spec.output_type)
        self._logs = [self._log(side) for side in (0, 1)]
        self._lives = [
            TimeToLive(log, _LAST_USED, millis)
            for log, millis in zip(self._logs, spec.state_ttl, strict=True)
        ]
        self._counted = [spec.padded[0] or not spec.pairs, spec.padded[1]]
        semi = not spec.pairs and spec.matched
        self._at_end = [spec.batch and counted and not semi for counted in self._counted]

    def _log(self, side: int) -> RowLog:
        log: RowLog = self.context.state.table(
            TableId(self.context.uid, "@right" if side else "@left"), ROW_LOG
        )
        log.bind(
            logged_rows(
                self._spec.types[side],
                self._spec.keys[side],
                [ValueColumn(np.dtype(np.int64), name="matches"), LAST_USED],
            )
        )
        return log

    def advance_processing_time(self, now: int) -> None:
        self._now = now
        for life in self._lives:
            life.begin_epoch(now)

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        if not len(batch):
            return
        signs = signs_of(batch.row_kinds)
        if signs is None:
            signs = np.ones(len(batch), np.int8)
        keys = [batch.data.column(index) for index in self._spec.keys[number]]
        added, removed = np.flatnonzero(signs > 0), np.flatnonzero(signs < 0)
        log, unknown = self._logs[number], None
        if removed.size and self._lives[number]:
            unknown = self._expired(number, batch.data, keys, signs)
            removed = np.flatnonzero((signs < 0) & ~unknown)
        if added.size:
            where = pa.array(added)
            slots = log.slots_of([key.take(where) for key in keys], True, added.size)
            rows = log.append(slots, batch.data.take(where))
            self._lives[number].renew(rows)
        if removed.size:
            self._remove(number, batch.data, keys, removed)
        matches = self._probe(number, batch.data, keys, signs, unknown)
        if added.size:
            log.column(_MATCHES)[rows] = matches[added]

    def end_epoch(self, ended: bool) -> None:
        for side in (0, 1):
            self._logs[side].remove(self._lives[side].swept())

    def end_input(self) -> None:
        for side in (0, 1):
            if self._at_end[side]:
                self._show_unmatched(side)

    def _show_unmatched(self, side: int) -> None:
        log = self._logs[side]
        rows = log.live_rows()
        rows = rows[log.column(_MATCHES)[rows] == 0]
        for start in range(0, rows.size, AT_ONCE):
            self._show(side, log.take(rows[start : start + AT_ONCE]), 1)

    # -- matches -----------------------------------------------------------------------

    def _probe(
        self,
        side: int,
        data: pa.RecordBatch,
        keys: list[pa.Array],
        signs: npt.NDArray[np.int8],
        unknown: Flags | None,
    ) -> Positions:
        """Emit the changes that a batch causes, and return the number of matches of each row."""
        spec, other = self._spec, self._logs[1 - side]
        slots = other.slots_of(keys, False, data.num_rows)
        for key in keys:
            if key.null_count:
                slots[key.is_null().to_numpy(zero_copy_only=False)] = -1
        rows, owners = self._rows_of(1 - side, slots)
        if spec.condition is not None and rows.size:
            kept = self._met(side, data, owners, rows)
            if kept is not None:
                rows, owners = rows[kept], owners[kept]
        if unknown is not None and self._counted[1 - side] and rows.size:
            rows, owners = self._given(1 - side, rows, owners, unknown)
        matches = np.bincount(owners, minlength=data.num_rows)
        lost, got = self._changed(
            1 - side, rows, signs[owners], None if unknown is None else unknown[owners]
        )
        shown = [
            self._counted[input_number] and not self._at_end[input_number]
            for input_number in (0, 1)
        ]
        if shown[1 - side]:
            hidden = got if spec.pairs or not spec.matched else lost
            self._show(1 - side, other.take(hidden), -1)
        if spec.pairs and rows.size:
            mine, theirs = data.take(pa.array(owners)).columns, other.take(rows).columns
            self._emit([*theirs, *mine] if side else [*mine, *theirs], signs[owners])
        if shown[side]:
            wanted = matches > 0 if not spec.pairs and spec.matched else matches == 0
            own = np.flatnonzero(wanted)
            self._show(side, data.take(pa.array(own)), signs[own])
        if shown[1 - side]:
            seen = lost if spec.pairs or not spec.matched else got
            self._show(1 - side, other.take(seen), 1)
        return matches

    def _met(
        self, side: int, data: pa.RecordBatch, owners: Positions, rows: Positions
    ) -> Positions | None:
        """The pairs of a batch's rows and the other side's rows that satisfy the condition. None if
        all do. Only the columns that the condition reads are paired."""
        width, where = len(self._spec.types[0].fields), pa.array(owners)
        columns = [pa.nulls(rows.size)] * (width + len(self._spec.types[1].fields))
        for index in self._read:
            of_side, number = (0, index) if index < width else (1, index - width)
            if of_side == side:
                columns[index] = data.column(number).take(where)
            else:
                columns[index] = self._logs[of_side].take_column(number, rows)
        joined = pa.RecordBatch.from_arrays(columns, [f"f{n}" for n in range(len(columns))])
        return self._calc(joined, self._now)[1]

    def _given(
        self, side: int, rows: Positions, owners: Positions, unknown: Flags
    ) -> tuple[Positions, Positions]:
        """The pairs that are part of the result: an expired row's retraction is not paired with
        stored rows that have no matches."""
        never = unknown[owners] & (self._logs[side].column(_MATCHES)[rows] == 0)
        return rows[~never], owners[~never]

    def _changed(
        self, side: int, rows: Positions, signs: npt.NDArray[np.int8], unknown: Flags | None
    ) -> tuple[Positions, Positions]:
        """The rows that lost their last match, and the rows that got their first match.

        Args:
            unknown: flags of retractions of expired rows. These may be missing in the number of
                matches of a row, and a count below 0 would hide the next first match.
        """
        none = np.zeros(0, np.int64)
        if not self._counted[side] or not rows.size:
            return none, none
        log = self._logs[side]
        matched = distinct(rows)
        log.touch(matched)
        self._lives[side].renew(matched)
        counts = log.column(_MATCHES)
        before = counts[matched]
        if unknown is not None:
            np.subtract.at(counts, rows[unknown], 1)
            counts[matched] = np.maximum(counts[matched], 0)
            rows, signs = rows[~unknown], signs[~unknown]
        np.add.at(counts, rows, signs)
        after = counts[matched]
        return matched[(before > 0) & (after == 0)], matched[(before == 0) & (after > 0)]

    # -- rows --------------------------------------------------------------------------

    def _rows_of(self, side: int, slots: Positions) -> tuple[Positions, Positions]:
        """Unexpired rows of slots, and the slot position of each row."""
        rows, owners = self._logs[side].rows_of(slots)
        if self._lives[side]:
            alive = self._lives[side].alive(rows)
            rows, owners = rows[alive], owners[alive]
        return rows, owners

    def _remove(
        self, side: int, data: pa.RecordBatch, keys: list[pa.Array], removed: Positions
    ) -> None:
        """Remove one stored row for each retraction."""
        log = self._logs[side]
        gone = data.take(pa.array(removed))
        slots = log.slots_of([key.take(pa.array(removed)) for key in keys], False, removed.size)
        known = distinct(slots[slots >= 0])
        rows, owners = self._rows_of(side, known)
        held = log.take(rows).columns
        log.remove(rows.take(equal_pairs(held, known.take(owners), gone.columns, slots)))

    def _expired(
        self, side: int, data: pa.RecordBatch, keys: list[pa.Array], signs: npt.NDArray[np.int8]
    ) -> Flags:
        """Flags of the retractions of rows that have expired."""
        slots = self._logs[side].slots_of(keys, False, data.num_rows)
        rows, _ = self._rows_of(side, distinct(slots[slots >= 0]))
        return without_row(self._logs[side].take(rows).columns, data.columns, signs)

    # -- results -----------------------------------------------------------------------

    def _show(self, side: int, data: pa.RecordBatch, signs: npt.NDArray[np.int8] | int) -> None:
        """Emit rows of one side alone."""
        columns = list(data.columns)
        if self._spec.pairs:
            fields = self._spec.types[1 - side].fields
            nulls = [pa.nulls(data.num_rows, arrow_type(field.type)) for field in fields]
            columns = [*nulls, *columns] if side else [*columns, *nulls]
        self._emit(columns, np.broadcast_to(np.asarray(signs), data.num_rows))

    def _emit(self, columns: Sequence[pa.Array], signs: npt.NDArray[np.int8]) -> None:
        if not signs.size:
            return
        data = pa.RecordBatch.from_arrays(list(columns), schema=self._schema)
        kinds = None
        if (signs < 0).any():
            kinds = pa.array(np.where(signs < 0, _DELETE, _INSERT).astype(np.int8))
        self.output.emit(ColumnBatch(data, None, kinds, "row"))
