"""`RankOperator`: Top-N, the first rows of each partition in an order. It emits the net changes of
each epoch.

Rows of a partition are in a `RowLog`. The former ranks are computed again from the rows that the
log keeps for an abort, so no result is stored beside the input. If the input has no retractions,
rows beyond the last rank are not kept. In batch mode rows are emitted at the end of the input.
Flink: ``AppendOnlyTopNFunction``, ``RetractableTopNFunction``, ``WindowRankOperator``.
Deduplication is a rank that ends at 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.common.types.logical.logical_type import RowType
from millrace.expressions.resolved import SortKey
from millrace.runtime.buffer import MAX_WATERMARK
from millrace.runtime.epoch import EpochContext
from millrace.runtime.metrics import RegisteredGroup
from millrace.state.columns.hash_index import Positions
from millrace.state.columns.row_log import RowLog
from millrace.state.columns.time_to_live import LAST_USED
from millrace.state.table_id import TableId
from millrace.state.table_kinds import ROW_LOG
from millrace.table_runtime.columns import schema_of
from millrace.table_runtime.end_of_input import AT_ONCE, EndOfInput
from millrace.table_runtime.group_accumulators import signs_of
from millrace.table_runtime.partition_rows import PartitionRows
from millrace.table_runtime.ranking import Numbers, ranks_of, sorted_positions
from millrace.table_runtime.state_columns import logged_rows
from millrace.table_runtime.window_time import EVENT_TIME, WindowTime
from millrace.table_runtime.windowing_operator import WindowingOperator

__all__ = ["RankOperator", "RankSpec"]

_INSERT, _UPDATE_BEFORE, _UPDATE_AFTER, _DELETE = range(4)
_LAST_USED = 0


@dataclass(frozen=True)
class RankSpec:
    """Settings of a ranking.

    Attributes:
        input_type: columns of the input rows.
        partition: positions of the columns of PARTITION BY. Empty if all rows are one partition.
        order: columns to order by. Empty if rows keep the order of arrival.
        start: first rank of the result, from 1.
        end: last rank of the result.
        output_type: the input's columns, and the rank if the query selects it.
        kind: ROW_NUMBER, RANK or DENSE_RANK.
        latest_first: whether the latest of rows with equal order comes first.
        updates: whether a row that takes another row's rank is emitted as an update (-U and +U).
        retracts: whether the input may have retractions.
        emits_update_before: whether the consumer needs -U rows.
        window_end: position of the window's end, if rows are emitted when their window is complete.
        state_ttl: ms without a write after which a row is forgotten, without a change in the
            result. 0 for never. Rows of windows are freed with them.
        clock: clock by which windows are complete.
        batch: whether rows are emitted only at the end of the input.
        repeatable: whether each touched partition emits its row even if it is the one of the last
            flush, or a deletion of its key if it has none: a lost epoch, which may have flushed at
            other places, may have written another row. For one row per partition that goes to a
            sink that writes by key.
    """

    input_type: RowType
    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    start: int
    end: int
    output_type: RowType
    kind: str = "ROW_NUMBER"
    latest_first: bool = False
    updates: bool = False
    retracts: bool = True
    emits_update_before: bool = True
    window_end: int | None = None
    state_ttl: int = 0
    clock: WindowTime = EVENT_TIME
    batch: bool = False
    repeatable: bool = False

    @property
    def numbered(self) -> bool:
        """Whether the result has the rank as a column."""
        return len(self.output_type.fields) > len(self.input_type.fields)


@dataclass(frozen=True)
class _Ranked:
    """Rows of the log whose rank is in the range of the result."""

    rows: Positions
    slots: Positions
    ranks: Numbers = field(default_factory=lambda: np.empty(0, np.int64))
    beyond: Positions = field(default_factory=lambda: np.empty(0, np.int64))
    """Rows beyond the last rank."""


class RankOperator(EndOfInput, WindowingOperator):
    """Ranks rows by partition.

    Args:
        spec: settings of the ranking.
    """

    takes = BatchForm.COLUMNS

    def __init__(self, spec: RankSpec) -> None:
        super().__init__(spec.clock)
        self._spec = spec

    def open(self) -> None:
        super().open()
        context = self.context
        self._dropped = RegisteredGroup(context.metrics).counter("numLateRecordsDropped")
        self._log: RowLog = context.state.table(TableId(context.uid, "@rows"), ROW_LOG)
        self._log.bind(logged_rows(self._spec.input_type, self._spec.partition, [LAST_USED]))
        spec = self._spec
        self._rows = PartitionRows(self._log, spec.partition, _LAST_USED, spec.state_ttl)
        self._schema = schema_of(self._spec.output_type)

    def restore(self) -> None:
        super().restore()
        self._due = MAX_WATERMARK
        rows = self._log.live_rows()
        if self._spec.window_end is not None and rows.size:
            self._due = int(self._ends(self._log.take(rows)).min())

    def begin_epoch(self, epoch: EpochContext) -> None:
        super().begin_epoch(epoch)
        self._rows.begin_epoch(epoch.now)

    # -- rows --------------------------------------------------------------------------

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        data, signs = batch.data, signs_of(batch.row_kinds)
        if self._spec.window_end is not None:
            ends = self._ends(data)
            late = ends - 1 <= self.closed
            if late.any():
                self._dropped.inc(int(np.count_nonzero(late)))
                data = data.filter(pa.array(~late))
                signs, ends = None if signs is None else signs[~late], ends[~late]
            self._due = min(self._due, int(ends.min(initial=MAX_WATERMARK)))
        if not data.num_rows:
            return
        self._rows.change(data, signs)

    def _ends(self, data: pa.RecordBatch) -> Numbers:
        column = data.column(self._spec.window_end)
        times = column.cast(pa.timestamp("ms", column.type.tz), safe=False).view(pa.int64())
        ends: Numbers = times.to_numpy(zero_copy_only=False)
        return ends

    # -- ranks -------------------------------------------------------------------------

    def flush(self) -> None:
        if self._spec.window_end is not None or self._spec.batch:
            return  # results come with windows, or at the end
        slots = self._rows.touched()
        if slots.size:
            self._end_partitions(slots)
            self._rows.flushed()

    def end_epoch(self, ended: bool) -> None:
        super().end_epoch(ended)
        slots = self._rows.touched()
        if slots.size:
            self._end_partitions(slots)
        self._rows.end_epoch()

    def _end_partitions(self, slots: Positions) -> None:
        if self._spec.window_end is None and not self._spec.batch:
            # before rows are evicted: the log has both
            before = self._ranked(*self._rows.former_rows_of(slots), slots)
            after = self._evicted(slots)
            self._emit_changes(before, after)
            if self._spec.repeatable:
                self._delete_absent(np.setdiff1d(slots, np.union1d(before.slots, after.slots)))
        elif not self._spec.retracts:
            self._evicted(slots)

    def end_input(self) -> None:
        if self._spec.batch and self._spec.window_end is None:
            self._give(self._log.live_rows())

    def _give(self, rows: Positions) -> None:
        """Emit the ranked rows of partitions, given all their rows, and forget these rows."""
        slots, owners = np.unique(self._log.slots_at(rows), return_inverse=True)
        ranked = self._ranked(rows, owners, slots)
        for start in range(0, ranked.rows.size, AT_ONCE):
            end = start + AT_ONCE
            self._emit(ranked.rows[start:end], ranked.ranks[start:end], None)
        self._log.remove(rows)

    def _evicted(self, slots: Positions) -> _Ranked:
        """The ranked rows. If the input has no retractions, rows whose rank is too high for ever
        are removed."""
        rows, owners = self._rows.rows_of(slots)
        if self._spec.retracts:
            return self._ranked(rows, owners, slots)
        all_ = self._ranked(rows, owners, slots, 1)
        if all_.beyond.size:
            self._log.remove(all_.beyond)
        given = all_.ranks >= self._spec.start
        return _Ranked(all_.rows[given], all_.slots[given], all_.ranks[given])

    def _ranked(
        self, rows: Positions, owners: Positions, slots: Positions, start: int | None = None
    ) -> _Ranked:
        """The rows with ranks from ``start`` on and within the result's range, sorted by
        partition and rank."""
        if not rows.size:
            return _Ranked(rows, owners)
        spec, data = self._spec, self._log.take(rows)
        sequence = self._log.sequence_at(rows)
        order = sorted_positions(
            data, spec.order, owners, -sequence if spec.latest_first else sequence
        )
        rows, owners = rows.take(order), owners.take(order)
        ranks = ranks_of(spec.kind, owners, [data.column(key.index) for key in spec.order], order)
        beyond = ranks > spec.end
        kept = (ranks >= (spec.start if start is None else start)) & ~beyond
        return _Ranked(rows[kept], slots.take(owners[kept]), ranks[kept], rows[beyond])

    # -- changes -----------------------------------------------------------------------

    def _emit_changes(self, old: _Ranked, new: _Ranked) -> None:
        identity = [old.rows, old.ranks] if self._spec.numbered else [old.rows]
        others = [new.rows, new.ranks] if self._spec.numbered else [new.rows]
        gone = ~_among(identity, others)
        came = ~_among(others, identity)
        if self._spec.repeatable:
            came[:] = True
        if self._spec.updates:
            replaced = _among([old.slots, old.ranks], [new.slots, new.ranks])
            replacing = _among([new.slots, new.ranks], [old.slots, old.ranks])
        else:
            replaced, replacing = np.zeros(gone.size, np.bool_), np.zeros(came.size, np.bool_)
        if not self._spec.emits_update_before:
            gone &= ~replaced
        rows = np.concatenate([old.rows[gone], new.rows[came]])
        ranks = np.concatenate([old.ranks[gone], new.ranks[came]])
        kinds = np.concatenate(
            [
                np.where(replaced[gone], _UPDATE_BEFORE, _DELETE),
                np.where(replacing[came], _UPDATE_AFTER, _INSERT),
            ]
        )
        self._emit(rows, ranks, kinds.astype(np.int8))

    def _delete_absent(self, slots: Positions) -> None:
        """Emit deletions by key; the other columns are NULL."""
        if not slots.size:
            return
        keys = dict(zip(self._spec.partition, self._log.keys.keys_at(slots), strict=True))
        columns = [
            keys[index].cast(field.type) if index in keys else pa.nulls(slots.size, field.type)
            for index, field in enumerate(self._schema)
        ]
        data = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        kinds = pa.array(np.full(slots.size, _DELETE, np.int8))
        self.output.emit(ColumnBatch(data, None, kinds, "row"))

    def _emit(self, rows: Positions, ranks: Numbers, kinds: npt.NDArray[np.int8] | None) -> None:
        if not rows.size:
            return
        columns = self._log.take(rows).columns
        if self._spec.numbered:
            columns.append(pa.array(ranks))
        data = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        row_kinds = None if kinds is None or not kinds.any() else pa.array(kinds)
        self.output.emit(ColumnBatch(data, None, row_kinds, "row"))

    # -- windows -----------------------------------------------------------------------

    def earliest_end(self) -> int:
        return MAX_WATERMARK if self._spec.window_end is None else self._due - 1

    def fire(self, reached: int) -> None:
        if self._spec.window_end is None:
            return
        rows = self._log.live_rows()
        ends = self._ends(self._log.take(rows))
        due = ends - 1 <= reached
        self._due = int(ends[~due].min(initial=MAX_WATERMARK))
        self._give(rows[due])


def _among(ones: list[Positions], others: list[Positions]) -> npt.NDArray[np.bool_]:
    """Flags of the tuples of numbers that also occur in a second list; the tuples of each list
    are distinct."""
    if not ones[0].size or not others[0].size:
        return np.zeros(ones[0].size, np.bool_)
    if len(ones) == 1:
        return np.isin(ones[0], others[0], assume_unique=True)
    width = int(max(ones[1].max(), others[1].max())) + 1
    pairs = ones[0] * width + ones[1], others[0] * width + others[1]
    return np.isin(*pairs, assume_unique=True)
