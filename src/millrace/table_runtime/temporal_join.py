"""`TemporalJoinOperator`: joins each left row with the version of the right row that was valid at
its time.

In event time left rows wait until the watermark passes them. Versions are stored by key and time; a
version that was replaced before the watermark is freed. A deletion is a version, too: without it, a
late older version would become valid again. In processing time left rows are joined on arrival with
the last version so far. Flink: ``TemporalRowTimeJoinOperator``,
``TemporalProcessTimeJoinOperator``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.common.types.logical.logical_type import RowType
from millrace.expressions.evaluation import CompiledCalc
from millrace.expressions.resolved import ResolvedExpression
from millrace.expressions.session_settings import SessionSettings
from millrace.runtime.buffer import MIN_WATERMARK
from millrace.runtime.declared_state import DeclaredValue
from millrace.runtime.expiry_queue import ExpiryQueue
from millrace.runtime.metrics import RegisteredGroup
from millrace.runtime.operator import Operator
from millrace.runtime.operator_state_declaration import OperatorStateDeclaration
from millrace.state.columns.hash_index import Positions
from millrace.state.columns.positions import ValueColumn
from millrace.state.columns.row_log import RowLog
from millrace.state.columns.time_to_live import LAST_USED, TimeToLive
from millrace.state.internal_tables import PASSED
from millrace.state.redistribution_mode import RedistributionMode
from millrace.state.table_id import TableId
from millrace.state.table_kinds import ROW_LOG
from millrace.table_runtime.columns import schema_of
from millrace.table_runtime.join_pairs import milliseconds_of, without_null
from millrace.table_runtime.state_columns import logged_rows

__all__ = ["TemporalJoinOperator", "TemporalJoinSpec"]

_TIME, _KIND, _LAST_USED = 0, 1, 2
_UPDATE_BEFORE, _DELETE = 1, 3
_NO_TIME = 0
_WATERMARK = OperatorStateDeclaration(PASSED, RedistributionMode.MERGE, max)
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class TemporalJoinSpec:
    """Settings of a temporal join.

    Attributes:
        types: columns of both sides.
        keys: positions of the columns of each side that must be equal: the versions' primary key.
        times: positions of the times, in the row of each side. None for processing time.
        shown: number of each side's first columns that the result and the condition have.
        condition: the other join condition.
        padded: whether left rows without a version are emitted, padded with NULL.
        output_type: columns of the result.
        state_ttl: ms without a row of either side after which the versions of a key are forgotten.
            0 for never.
    """

    types: tuple[RowType, RowType]
    keys: tuple[tuple[int, ...], tuple[int, ...]]
    times: tuple[int, int] | None
    shown: tuple[int, int]
    condition: ResolvedExpression | None
    padded: bool
    output_type: RowType
    state_ttl: int = 0


class TemporalJoinOperator(Operator):
    """Joins a changelog with the versions of a table.

    Args:
        spec: settings of the join.
        session: session settings, for the condition.
    """

    takes = BatchForm.COLUMNS
    operator_states = (_WATERMARK,)

    def __init__(self, spec: TemporalJoinSpec, session: SessionSettings) -> None:
        self._spec = spec
        columns = [
            field.type
            for kind, count in zip(spec.types, spec.shown, strict=True)
            for field in kind.fields[:count]
        ]
        # of a condition on a column behind the shown ones: whether the version is there at all
        columns += [field.type for field in spec.types[1].fields[spec.shown[1] :]]
        both = RowType.of(*((f"f{index}", kind) for index, kind in enumerate(columns)))
        self._calc = CompiledCalc((), spec.condition, both, session)

    def open(self) -> None:
        self._calc.open(RegisteredGroup(self.context.metrics))
        self._passed = DeclaredValue(self, _WATERMARK)
        self._logs = [self._log(side) for side in (0, 1)]
        self._life = TimeToLive(self._logs[1], _LAST_USED, self._spec.state_ttl)
        self._schema = schema_of(self._spec.output_type)
        self._now = 0

    def _log(self, side: int) -> RowLog:
        table = TableId(self.context.uid, "@right" if side else "@left")
        log: RowLog = self.context.state.table(table, ROW_LOG)
        values = [ValueColumn(np.dtype(np.int64), name=name) for name in ("time", "kind")]
        values += [LAST_USED] if side else []
        log.bind(logged_rows(self._spec.types[side], self._spec.keys[side], values))
        return log

    def restore(self) -> None:
        self.watermark = self._passed.get(MIN_WATERMARK)
        self._queues = [ExpiryQueue(), ExpiryQueue()]
        if self._spec.times is None:
            return
        for log, queue in zip(self._logs, self._queues, strict=True):
            rows = log.live_rows()
            queue.add(rows, log.column(_TIME).take(rows))

    def advance_processing_time(self, now: int) -> None:
        self._now = now
        self._life.begin_epoch(now)

    # -- rows --------------------------------------------------------------------------

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        data, spec = batch.data, self._spec
        if not data.num_rows:
            return
        kinds: Numbers = np.zeros(data.num_rows, np.int64)
        if batch.row_kinds is not None:
            kinds = batch.row_kinds.to_numpy(zero_copy_only=False).astype(np.int64)
        keys = [data.column(index) for index in spec.keys[number]]
        if spec.times is None:
            change = self._replace if number else self._join_now
            change(data, keys, kinds)
            return
        column = data.column(spec.times[number])
        able = without_null([*keys, column], data.num_rows)
        if number == 0 and not able.all():
            without = np.flatnonzero(~able)
            none = np.full(without.size, -1)
            self._emit(data.take(pa.array(without)), none, kinds[without])
        if number == 1:  # the version before is known by its key
            able &= kinds != _UPDATE_BEFORE
        stored = np.flatnonzero(able)
        if not stored.size:
            return
        where, log = pa.array(stored), self._logs[number]
        slots = log.slots_of([key.take(where) for key in keys], True, stored.size)
        rows = log.append(slots, data.take(where))
        times = milliseconds_of(column)[stored]
        log.column(_TIME)[rows] = times
        log.column(_KIND)[rows] = kinds[stored]
        self._queues[number].add(rows, times)
        if number:
            self._life.renew(rows)
        if self._life:
            self._renew([key.take(where) for key in keys], stored.size)

    def _renew(self, keys: list[pa.Array], count: int) -> None:
        """Mark the versions of the keys as used now. Expired versions stay expired."""
        slots = self._logs[1].slots_of(keys, False, count)
        rows, _ = self._logs[1].rows_of(np.unique(slots[slots >= 0]))
        rows = rows[self._life.alive(rows)]
        self._logs[1].touch(rows)
        self._life.renew(rows)

    # -- processing time ---------------------------------------------------------------

    def _replace(self, data: pa.RecordBatch, keys: list[pa.Array], kinds: Numbers) -> None:
        """Set the version of each key to the last change of the key, or remove it if that is a
        deletion."""
        stored = np.flatnonzero(without_null(keys, data.num_rows))
        if not stored.size:
            return
        log, where = self._logs[1], pa.array(stored)
        slots = log.slots_of([key.take(where) for key in keys], True, stored.size)
        changed, from_end = np.unique(slots[::-1], return_index=True)
        log.remove(log.rows_of(changed)[0])
        last = np.sort(slots.size - 1 - from_end)
        there = last[~np.isin(kinds.take(stored.take(last)), (_UPDATE_BEFORE, _DELETE))]
        if not there.size:
            return
        rows = log.append(slots.take(there), data.take(pa.array(stored.take(there))))
        log.column(_TIME)[rows] = _NO_TIME
        log.column(_KIND)[rows] = 0
        self._life.renew(rows)

    def _join_now(self, data: pa.RecordBatch, keys: list[pa.Array], kinds: Numbers) -> None:
        """Emit left rows with the current versions of their keys. A NULL in the key matches no
        version."""
        slots = self._logs[1].slots_of(keys, False, data.num_rows)
        times: Numbers = np.full(data.num_rows, _NO_TIME)
        self._emit(data, self._versions_at(slots, times), kinds)
        if self._life:
            self._renew(keys, data.num_rows)

    # -- event time --------------------------------------------------------------------

    def process_watermark(self, timestamp: int) -> None:
        due = np.sort(self._queues[0].due(timestamp))
        if due.size:
            self._join(due)
        passed = self._queues[1].due(timestamp)
        if passed.size:
            self._forget(np.unique(self._logs[1].slots_at(passed)), timestamp)
        super().process_watermark(timestamp)

    def end_epoch(self, ended: bool) -> None:
        if self.watermark != MIN_WATERMARK:
            self._passed.put(self.watermark)
        self._logs[1].remove(self._life.swept())

    def _join(self, rows: Positions) -> None:
        """Emit left rows, in the order of arrival."""
        log, spec = self._logs[0], self._spec
        rows = rows.take(np.argsort(log.sequence_at(rows)))
        data = log.take(rows)
        keys = [data.column(index) for index in spec.keys[0]]
        slots = self._logs[1].slots_of(keys, False, rows.size)
        versions = self._versions_at(slots, log.column(_TIME).take(rows))
        self._emit(data, versions, log.column(_KIND).take(rows))
        log.remove(rows)

    def _versions_at(self, slots: Positions, times: Numbers) -> Positions:
        """Row number of each key's version at a time. -1 if there is none."""
        log = self._logs[1]
        rows, _ = log.rows_of(np.unique(slots[slots >= 0]))
        rows = rows[self._life.alive(rows)]
        count = rows.size
        # versions and left rows on one line: each row's version is the last one before it
        of = np.concatenate([log.slots_at(rows), slots])
        at = np.concatenate([log.column(_TIME).take(rows), times])
        ties = np.concatenate([log.sequence_at(rows), np.zeros(slots.size, np.int64)])
        asks = np.arange(of.size) >= count
        order = np.lexsort((ties, asks, at, of))
        places = np.where(order < count, np.arange(order.size), -1)
        last = np.maximum.accumulate(places)
        version_rows = np.full(of.size, -1)
        known = np.flatnonzero(last >= 0)
        version = order.take(last.take(known))
        same = of.take(version) == of.take(order.take(known))
        version_rows[order.take(known[same])] = rows.take(version[same])
        wanted: Positions = version_rows[count:]
        there = np.flatnonzero(wanted >= 0)
        deleted = log.column(_KIND).take(wanted.take(there)) == _DELETE
        wanted[there[deleted]] = -1
        return wanted

    def _forget(self, slots: Positions, until: int) -> None:
        """Free the versions that were replaced by a newer version up to a time."""
        log = self._logs[1]
        rows, owners = log.rows_of(slots)
        passed = log.column(_TIME).take(rows) <= until
        rows, owners = rows[passed], owners[passed]
        order = np.lexsort((log.sequence_at(rows), log.column(_TIME).take(rows), owners))
        rows, owners = rows.take(order), owners.take(order)
        current = np.ones(rows.size, np.bool_)
        current[:-1] = owners[1:] != owners[:-1]
        log.remove(rows[~current])

    # -- results -----------------------------------------------------------------------

    def _emit(self, data: pa.RecordBatch, versions: Positions, kinds: Numbers) -> None:
        """Emit left rows with their versions. -1 stands for no version."""
        spec = self._spec
        left, right = spec.shown
        mine = data.columns[:left]
        there = np.flatnonzero(versions >= 0)
        version_rows = self._logs[1].take(versions.take(there))
        places: Numbers = np.full(versions.size, -1)
        places[there] = np.arange(there.size)
        if spec.condition is not None and there.size:
            where = pa.array(there)
            pairs = [*(column.take(where) for column in mine), *version_rows.columns]
            joined = pa.RecordBatch.from_arrays(pairs, [f"f{n}" for n in range(len(pairs))])
            kept = self._calc(joined, self._now)[1]
            if kept is not None:
                places[:] = -1
                places[there.take(kept)] = kept
        if not spec.padded:
            shown = np.flatnonzero(places >= 0)
            mine = [column.take(pa.array(shown)) for column in mine]
            places, kinds = places[shown], kinds[shown]
        if not places.size:
            return
        partners = pa.array(places, mask=places < 0)
        columns = [*mine, *(column.take(partners) for column in version_rows.columns[:right])]
        result = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        row_kinds = pa.array(kinds.astype(np.int8)) if kinds.any() else None
        self.output.emit(ColumnBatch(result, None, row_kinds, "row"))
