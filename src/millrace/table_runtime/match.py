"""`MatchOperator`: MATCH_RECOGNIZE, built on the pattern matcher of CEP.

Rows wait in columns until the watermark passes them. Then conditions on the row alone are computed
for all waiting rows at once. Only the rows of keys in which a match can begin or has begun become
Python objects. Flink: ``CepOperator`` with ``MatchCodeGenerator``'s functions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millrace.common.functions.pattern_conditions import Condition
from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.logical_type import RowType
from millrace.expressions.resolved import ResolvedExpression, SortKey
from millrace.expressions.session_settings import SessionSettings
from millrace.runtime.buffer import MAX_WATERMARK, MIN_WATERMARK
from millrace.runtime.cep.after_match_skip_strategy import AfterMatchSkipStrategy
from millrace.runtime.cep.automaton import Automaton
from millrace.runtime.cep.deadlines import Deadlines
from millrace.runtime.cep.matcher import Matcher
from millrace.runtime.cep.partial_match import FoundMatch, KeyMatches
from millrace.runtime.cep.pattern_model import Contiguity, Event, EventPattern, Quantifier
from millrace.runtime.cep.shared_buffer import SharedBuffer
from millrace.runtime.declared_state import DeclaredValue
from millrace.runtime.metrics import RegisteredGroup
from millrace.runtime.operator import Operator
from millrace.runtime.operator_state_declaration import OperatorStateDeclaration
from millrace.state.columns.columnar_table import ColumnsOf
from millrace.state.columns.row_log import RowLog
from millrace.state.columns.slot_table import SlotTable
from millrace.state.internal_tables import PASSED
from millrace.state.redistribution_mode import RedistributionMode
from millrace.state.table_id import TableId
from millrace.state.table_kinds import ROW_LOG
from millrace.table_runtime.columns import schema_of
from millrace.table_runtime.match_condition import ConditionCompiler
from millrace.table_runtime.match_measures import CompleteMatch, Measures
from millrace.table_runtime.match_rows import MatchedRow, RowColumns
from millrace.table_runtime.ranking import Numbers, sorted_positions
from millrace.table_runtime.state_columns import logged_rows

__all__ = ["MatchOperator", "MatchSpec", "MatchVariable"]

_ONLY = ""
"""Name of the only pattern."""
_WATERMARK = OperatorStateDeclaration(PASSED, RedistributionMode.MERGE, max)


@dataclass(frozen=True)
class MatchVariable:
    """A variable of the pattern.

    Attributes:
        quantifier: number of rows that the variable takes.
        alone: part of its condition that reads only the row itself and cannot fail, or None.
        others: the other parts of its condition, which must all be TRUE.
    """

    name: str
    quantifier: Quantifier
    alone: ResolvedExpression | None = None
    others: tuple[ResolvedExpression, ...] = ()


@dataclass(frozen=True)
class MatchSpec:
    """Settings of a MATCH_RECOGNIZE.

    Attributes:
        input_type: columns of the input rows, which are insert-only.
        partition: positions of the columns of PARTITION BY.
        order: columns to order by. Processing time is not among them.
        rowtime: position of the event time, the first key of the order. None for processing time.
        output_type: the partition's columns, then the measures.
        within: ms that a match must stay below. None if there is no limit.
    """

    input_type: RowType
    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    rowtime: int | None
    variables: tuple[MatchVariable, ...]
    measures: tuple[ResolvedExpression, ...]
    output_type: RowType
    skip: AfterMatchSkipStrategy
    within: int | None = None
    session: SessionSettings = field(default_factory=SessionSettings)


class MatchOperator(Operator):
    """Emits one row per match.

    Args:
        spec: settings of the MATCH_RECOGNIZE.
    """

    takes = BatchForm.COLUMNS
    operator_states = (_WATERMARK,)

    def __init__(self, spec: MatchSpec) -> None:
        self._spec = spec

    def open(self) -> None:
        spec, context = self._spec, self.context
        metrics = RegisteredGroup(context.metrics)
        self._dropped = metrics.counter("numLateRecordsDropped")
        metrics.gauge("numPartialMatches", lambda: self._buffer.partial_matches)
        self._passed = DeclaredValue(self, _WATERMARK)
        types = [arrow_type(column.type) for column in spec.input_type.fields]
        self._key_types = tuple(types[index] for index in spec.partition)
        self._log: RowLog = context.state.table(TableId(context.uid, "@rows"), ROW_LOG)
        self._log.bind(logged_rows(spec.input_type, spec.partition))
        self._input_schema, self._schema = schema_of(spec.input_type), schema_of(spec.output_type)
        self._compile()
        self._buffer = SharedBuffer(context, lambda rule, version: self._automaton)
        self._deadlines = Deadlines()
        self._arrived: list[pa.RecordBatch] = []
        """Rows of this epoch that still wait."""

    def _compile(self) -> None:
        spec = self._spec
        self._columns = RowColumns(spec.input_type, spec.session)
        first = spec.variables[0]
        once = (first.quantifier.least, first.quantifier.most) == (1, 1)
        is_first = once and not first.quantifier.optional
        compiler = ConditionCompiler(self._columns, first.name if is_first else "")
        self._starting = 0
        """Bits of which a row needs at least one to begin a match. -1 if any row may begin one."""
        parts, may_begin = [], True
        for variable in spec.variables:
            condition = compiler.condition(variable.alone, variable.others)
            if may_begin:
                bit = 0 if variable.alone is None else self._columns.condition(variable.alone)
                self._starting = -1 if not bit or self._starting < 0 else self._starting | bit
            may_begin = may_begin and variable.quantifier.optional
            parts.append(_event(variable, condition))
        self._measures = Measures(spec.measures, self._columns)
        self._automaton = Automaton(EventPattern(tuple(parts), spec.within, spec.skip))
        self._matcher = Matcher(self._automaton, self.context.clock)

    def restore(self) -> None:
        self.watermark = self._passed.get(MIN_WATERMARK)
        self._buffer.forget()
        times: dict[Any, int] = {}
        for key, live in self._buffer.stored():
            deadline = self._matcher.next_deadline(live.of(_ONLY))
            if deadline is not None:
                times[key] = deadline
        self._deadlines.fill(times)
        rows = self._log.live_rows()
        self._due = MAX_WATERMARK
        if self._spec.rowtime is not None and rows.size:
            self._due = int(self._times(self._log.take(rows)).min())

    # -- epochs ----------------------------------------------------------------------------------

    def advance_processing_time(self, now: int) -> None:
        self._now = self._columns.instant = now
        if self._spec.rowtime is None:
            self._emit(self._advanced(now))

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        data = batch.data
        if self._spec.rowtime is not None:
            times = self._times(data)
            late = times <= self.watermark
            if late.any():
                self._dropped.inc(int(np.count_nonzero(late)))
                data, times = data.filter(pa.array(~late)), times[~late]
            self._due = min(self._due, int(times.min(initial=MAX_WATERMARK)))
        if data.num_rows:
            self._arrived.append(data)

    def process_watermark(self, timestamp: int) -> None:
        if self._spec.rowtime is not None:
            matches = self._matched(self._take_due(timestamp)) if timestamp >= self._due else []
            self._emit(matches + self._advanced(timestamp))
        elif timestamp == MAX_WATERMARK:
            self._match_arrived()
        super().process_watermark(timestamp)

    def next_wakeup(self) -> int | None:
        if self._spec.rowtime is not None or self.watermark == MAX_WATERMARK:
            return None
        return self._deadlines.earliest()

    def flush(self) -> None:
        if self._spec.rowtime is None:
            self._match_arrived()

    def end_epoch(self, ended: bool) -> None:
        if self._spec.rowtime is None:
            self._match_arrived()
        else:
            self._keep_arrived()
            if self.watermark != MIN_WATERMARK:
                self._passed.put(self.watermark)
        self._buffer.flush()

    def _match_arrived(self) -> None:
        """Match the rows that wait, in the order of arrival. For processing time."""
        if self._arrived:
            data, self._arrived = self._whole(self._arrived), []
            self._emit(self._matched(data))

    def _keep_arrived(self) -> None:
        """Keep rows in the state until the watermark passes them."""
        if self._arrived:
            data, self._arrived = self._whole(self._arrived), []
            keys = [data.column(index) for index in self._spec.partition]
            slots = self._log.slots_of(keys, create=True, count=data.num_rows)
            self._log.append(slots, data)

    # -- rows that wait --------------------------------------------------------------------------

    def _take_due(self, timestamp: int) -> pa.RecordBatch:
        """Remove the rows up to a time from the state, and return them."""
        parts, rows = [], self._log.live_rows()
        self._due = MAX_WATERMARK
        if rows.size:
            rows = rows[np.argsort(self._log.sequence_at(rows))]
            data = self._log.take(rows)
            due = self._is_due(data, timestamp)
            parts.append(data.filter(pa.array(due)))
            self._log.remove(rows[due])
        arrived, self._arrived = self._arrived, []
        for data in arrived:
            due = self._is_due(data, timestamp)
            if due.all():
                parts.append(data)
                continue
            parts.append(data.filter(pa.array(due)))
            self._arrived.append(data.filter(pa.array(~due)))
        return self._whole(parts)

    def _is_due(self, data: pa.RecordBatch, timestamp: int) -> npt.NDArray[np.bool_]:
        times = self._times(data)
        due: npt.NDArray[np.bool_] = times <= timestamp
        self._due = min(self._due, int(times[~due].min(initial=MAX_WATERMARK)))
        return due

    def _whole(self, parts: list[pa.RecordBatch]) -> pa.RecordBatch:
        """Several batches as one."""
        schema = self._input_schema
        columns = [
            pa.concat_arrays([part.column(number) for part in parts])
            if parts
            else pa.array([], field.type)
            for number, field in enumerate(schema)
        ]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def _times(self, data: pa.RecordBatch) -> Numbers:
        column = data.column(self._spec.rowtime)
        times = column.cast(pa.timestamp("ms", column.type.tz), safe=False).view(pa.int64())
        # a row without time is before all others, as null is in an order
        milliseconds: Numbers = times.fill_null(MIN_WATERMARK).to_numpy(zero_copy_only=False)
        return milliseconds

    # -- matching --------------------------------------------------------------------------------

    def _matched(self, data: pa.RecordBatch) -> list[CompleteMatch]:
        """Matches that rows complete."""
        results: list[CompleteMatch] = []
        if not data.num_rows:
            return results
        data = self._in_order(data)
        bits = self._columns.bits(data)
        starts = np.full(bits.size, True) if self._starting < 0 else bits & self._starting != 0
        codes, keys = self._keys(data)
        self._buffer.prefetch(keys)
        hot = np.zeros(len(keys), np.bool_)
        hot[codes[starts]] = True
        active = self._buffer.active(set(keys))
        if active:
            hot[[number for number, key in enumerate(keys) if key in active]] = True
        rows = np.flatnonzero(hot[codes])
        rows = rows[np.argsort(codes[rows], kind="stable")]
        owners = codes[rows]
        taken = data.take(pa.array(rows))
        tuples = self._columns.tuples(taken, bits[rows])
        times = self._event_times(taken)
        begins = starts[rows].tolist()
        ends = np.flatnonzero(np.diff(owners, append=-1)) + 1
        start = 0
        for end, code in zip(ends.tolist(), owners[ends - 1].tolist(), strict=True):
            events = zip(times[start:end], tuples[start:end], begins[start:end], strict=True)
            self._match_key(keys[code], list(events), results)
            start = end
        return results

    def _in_order(self, data: pa.RecordBatch) -> pa.RecordBatch:
        """Rows ordered by time and the other sort columns. Equal rows stay in the order of
        arrival."""
        order = self._spec.order
        if self._spec.rowtime is not None and len(order) == 1:
            times = self._times(data)
            if bool(np.all(times[1:] >= times[:-1])):
                return data
            return data.take(pa.array(np.argsort(times, kind="stable")))
        if not order:
            return data
        numbers = np.arange(data.num_rows)
        return data.take(pa.array(sorted_positions(data, order, np.zeros_like(numbers), numbers)))

    def _event_times(self, data: pa.RecordBatch) -> list[int]:
        if self._spec.rowtime is None:
            return [self._now] * data.num_rows
        times: list[int] = self._times(data).tolist()
        return times

    def _keys(self, data: pa.RecordBatch) -> tuple[Numbers, list[Any]]:
        """Number of each row's key, and the keys by number."""
        if not self._key_types:
            return np.zeros(data.num_rows, np.int64), [()]
        table = SlotTable()
        table.bind(ColumnsOf(self._key_types))
        columns = [data.column(index) for index in self._spec.partition]
        codes = table.slots_of(columns, create=True)
        values = [column.to_pylist() for column in table.keys_at(np.arange(int(codes.max()) + 1))]
        return codes, values[0] if len(values) == 1 else list(zip(*values, strict=True))

    def _match_key(
        self, key: Any, events: list[tuple[int, MatchedRow, bool]], results: list[CompleteMatch]
    ) -> None:
        live = self._buffer.of(key)
        matches, matcher = live.of(_ONLY), self._matcher
        timed = self._automaton.within is not None
        for time, row, begins in events:
            time = max(time, live.time)  # the clock may have been set back
            if timed and matches.partial:
                released, _ = matcher.advance_time(matches, time)
                self._add(key, released, results)
            if begins or matches.partial:
                new_matches = matcher.process(matches, live.next_event(time, row), begins)
                if new_matches:
                    self._add(key, new_matches, results)
        self._leave(key, live)

    def _advanced(self, time: int) -> list[CompleteMatch]:
        """Matches that the passing of time completes. They were held back until a deadline."""
        results: list[CompleteMatch] = []
        due = self._deadlines.take_due(time)
        self._buffer.prefetch(due)
        for key in due:
            live = self._buffer.of(key)
            released, _ = self._matcher.advance_time(live.of(_ONLY), time)
            self._add(key, released, results)
            self._leave(key, live)
        return results

    def _leave(self, key: Any, live: KeyMatches) -> None:
        """Set the next deadline of a key, and drop the key from the buffer if it has no partial
        matches."""
        deadline = self._matcher.next_deadline(live.of(_ONLY))
        if deadline is not None:
            self._deadlines.set(key, deadline)
        self._buffer.drop_if_empty(key, live)

    # -- results ---------------------------------------------------------------------------------

    def _add(self, key: Any, new_matches: list[FoundMatch], results: list[CompleteMatch]) -> None:
        results += [CompleteMatch(match.time, key, match.entries()) for match in new_matches]

    def _emit(self, matches: list[CompleteMatch]) -> None:
        if not matches:
            return
        matches.sort(key=_time)
        keys = [match.key for match in matches]
        if len(self._key_types) == 1:
            columns = [pa.array(keys, self._key_types[0])]
        else:
            columns = [
                pa.array([key[number] for key in keys], kind)
                for number, kind in enumerate(self._key_types)
            ]
        columns += self._measures(matches)
        result = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        self.output.emit(ColumnBatch(result, None, None, "row"))


def _time(match: CompleteMatch) -> int:
    return match.time


def _event(variable: MatchVariable, condition: Condition | None) -> Event:
    return Event(variable.name, condition, Contiguity.STRICT, False, variable.quantifier)
