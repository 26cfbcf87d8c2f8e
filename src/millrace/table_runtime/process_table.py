"""`ProcessTableOperator`: runs a process table function of the user, with keyed state and timers.

Flink: ``ProcessTableOperator`` and its ``ProcessTableRunner``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from types import GeneratorType
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.common.errors import JobExecutionError, StateMigrationError
from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.logical_type import (
    LocalZonedTimestampType,
    LogicalType,
    RowType,
)
from millrace.common.types.logical.python_values import arrow_column, python_values
from millrace.common.types.row import Row, RowKind, named_row
from millrace.expressions.evaluation import compiled
from millrace.expressions.evaluation_error import EvaluationError
from millrace.expressions.misfit import CONVERSION_ERRORS, misfit_of
from millrace.expressions.process_table_functions import ProcessSignature
from millrace.expressions.resolved import ResolvedExpression, SortKey
from millrace.expressions.session_settings import SessionSettings
from millrace.expressions.table_functions import row_values
from millrace.runtime.buffer import MIN_WATERMARK
from millrace.runtime.current_key import CurrentKey
from millrace.runtime.declared_state import DeclaredValue
from millrace.runtime.detached import detached
from millrace.runtime.keyed_state import KeyedStates
from millrace.runtime.operator import Operator
from millrace.runtime.operator_state_declaration import OperatorStateDeclaration
from millrace.state.frozen import IMMUTABLE
from millrace.state.internal_tables import PASSED
from millrace.state.redistribution_mode import RedistributionMode
from millrace.table_runtime.columns import schema_of
from millrace.table_runtime.function_contexts import function_context
from millrace.table_runtime.process_contexts import (
    ProcessedEvent,
    ProcessTableContext,
    ProcessTimerContext,
    TableSemantics,
)
from millrace.table_runtime.process_order import OrderedRows
from millrace.table_runtime.process_state import ProcessState, process_state
from millrace.table_runtime.process_timers import PartitionTimers

__all__ = ["ProcessTableOperator", "ProcessTableSpec", "ProcessedTable"]

_SHOWN = 200
_WATERMARK = OperatorStateDeclaration(PASSED, RedistributionMode.MERGE, max)
_PARTITION = OperatorStateDeclaration("@partition", RedistributionMode.MERGE, max)
"""The columns by which the state is partitioned, which its uid does not tell."""


@dataclass(frozen=True)
class ProcessedTable:
    """A table argument of the function.

    Attributes:
        argument: position among the arguments. None if the function has no table argument and is
            called once.
        name: name of the argument.
        passes: whether all columns of the table are passed through.
    """

    argument: int | None
    name: str
    row_type: RowType
    partition: tuple[int, ...] = ()
    order: tuple[SortKey, ...] = ()
    time: int | None = None
    made: Callable[..., Any] | None = None
    passes: bool = False

    @property
    def prefix(self) -> tuple[int, ...]:
        """Positions of the table's columns that come before the function's columns in the
        result."""
        return tuple(range(len(self.row_type))) if self.passes else self.partition


@dataclass(frozen=True)
class ProcessTableSpec:
    """Settings of a call of a process table function.

    Attributes:
        name: name of the function, for errors.
        tables: the table arguments, by number of the input.
        values: values of the scalar arguments, at their positions among all arguments.
        output_type: passed columns, the function's columns, and ``rowtime`` if there is on_time.
        state_ttl: time to live of the session's state, in ms.
    """

    name: str
    signature: ProcessSignature
    tables: tuple[ProcessedTable, ...]
    values: tuple[ResolvedExpression | None, ...]
    output_type: RowType
    state_ttl: int = 0
    session: SessionSettings = field(default_factory=SessionSettings)

    @property
    def is_keyed(self) -> bool:
        return any(argument.is_set for argument in self.signature.arguments)

    @property
    def is_timed(self) -> bool:
        return any(table.time is not None for table in self.tables)

    @property
    def partition(self) -> str:
        """The columns by which the tables are partitioned, and their types."""
        tables = []
        for table in self.tables:
            fields = [table.row_type.fields[index] for index in table.partition]
            columns = ", ".join(f"{one.name} {one.type.with_nullable(True)}" for one in fields)
            tables.append(f"{table.name} by {columns}" if columns else f"{table.name} as a whole")
        return "; ".join(tables)


class ProcessTableOperator(Operator):
    """Calls the function for each row and each timer.

    Args:
        spec: settings of the call.
    """

    takes = BatchForm.COLUMNS
    operator_states = (_WATERMARK, _PARTITION)

    def __init__(self, spec: ProcessTableSpec) -> None:
        self._spec = spec

    def open(self) -> None:
        spec, context = self._spec, self.context
        self._schema = schema_of(spec.output_type)
        self._current, self._event = CurrentKey(), ProcessedEvent()
        self._states = KeyedStates(context.state, context.uid, self._current, clock=context.clock)
        self._entries: dict[str, ProcessState] = {
            entry.name: process_state(entry, self._states, spec.state_ttl)
            for entry in spec.signature.states
        }
        self._loaded = tuple(self._entries.values())
        self._timers: PartitionTimers | None = None
        if spec.is_timed and spec.signature.has_timers:
            self._timers = PartitionTimers(context.state, context.uid, self._current)
        self._waiting = [
            OrderedRows(context, number, table.row_type, table.partition, table.order)
            if table.order
            else None
            for number, table in enumerate(spec.tables)
        ]
        self._passed = DeclaredValue(self, _WATERMARK)
        self._partitioned = DeclaredValue(self, _PARTITION)
        self._open_function()
        self._results: list[tuple[Any, ...]] = []
        """Results that wait for the end of the batch: key or row, fields, kind, time."""

    def _open_function(self) -> None:
        spec = self._spec
        function = spec.signature.function
        if hasattr(function, "open"):
            function.open(function_context(self.context))
        semantics = {
            table.name: TableSemantics(
                table.row_type, table.partition, tuple(key.index for key in table.order), table.time
            )
            for table in spec.tables
        }
        zoned = any(
            isinstance(table.row_type.fields[table.time].type, LocalZonedTimestampType)
            for table in spec.tables
            if table.time is not None
        )
        shared = (semantics, self._entries, self._timers, zoned, self._event)
        contexts = ProcessTableContext(*shared), ProcessTimerContext(*shared)
        asked = spec.signature.takes_context
        self._eval_context: tuple[Any, ...] = (contexts[0],) if asked[0] else ()
        self._timer_context: tuple[Any, ...] = (contexts[1],) if asked[1] else ()
        self._body = getattr(function, "eval", function)
        self._on_timer = getattr(function, "on_timer", None)
        pairs = zip(spec.values, spec.signature.arguments, strict=True)
        self._values = [
            one.default if value is None else self._value(value) for value, one in pairs
        ]

    def _value(self, expression: ResolvedExpression) -> Any:
        """Value of a constant argument."""
        one = pa.RecordBatch.from_struct_array(pa.array([{}], pa.struct([])))
        made = compiled(expression, RowType(()), self._spec.session)(one, self.context.clock())
        return python_values(made, expression.output_type)[0]

    def restore(self) -> None:
        self._check_partition()
        self.watermark = self._passed.get(MIN_WATERMARK)
        if self._timers is not None:
            self._timers.refresh()
        for waiting in self._waiting:
            if waiting is not None:
                waiting.restore()

    def _check_partition(self) -> None:
        """Refuse state of other partitions: the sum of one column's 7 is not that of another's.

        Raises:
            StateMigrationError: the tables of the savepoint were partitioned in another way.
        """
        now = self._spec.partition
        before = self._partitioned.get(now)
        if before != now:
            raise StateMigrationError(
                f"the state of the function {self._spec.name} is that of {before}, but the query "
                f"partitions {now}: give the call another uid, and it begins without state"
            )

    def close(self) -> None:
        function = self._spec.signature.function
        if hasattr(function, "close"):
            with suppress(Exception):
                function.close()

    # -- epochs ----------------------------------------------------------------------------------

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        waiting = self._waiting[number]
        if waiting is not None:
            waiting.add(batch.data, self.watermark)
            return
        if not len(batch):
            return
        self._states.records += len(batch)
        self._process(number, batch.data, batch.row_kinds, None)
        self._emit(self._spec.tables[number], batch.data)

    def process_watermark(self, timestamp: int) -> None:
        for number, due in self._ordered(timestamp):
            self._states.records += due.num_rows
            self._process(number, due, None, timestamp)
            self._emit(self._spec.tables[number], due)
        if self._timers is not None:
            self._event.watermark = timestamp
            self._timers.fire(timestamp, self._fire)
            self._emit(self._spec.tables[0], None)
        super().process_watermark(timestamp)

    def end_epoch(self, ended: bool) -> None:
        self._states.end_epoch()
        for waiting in self._waiting:
            if waiting is not None:
                waiting.end_epoch()
        if self._spec.is_timed and self.watermark != MIN_WATERMARK:
            self._passed.put(self.watermark)
        if self._spec.is_keyed:
            self._partitioned.put(self._spec.partition)

    def _ordered(self, timestamp: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Rows that waited for the watermark, in the order of time: number of the table, and a
        run of its rows."""
        due_rows = [
            (number, due)
            for number, waiting in enumerate(self._waiting)
            if waiting is not None and (due := waiting.take(timestamp)) is not None and due.num_rows
        ]
        if len(due_rows) < 2:
            yield from due_rows
            return
        times = [self._waiting[number].times(due) for number, due in due_rows]  # type: ignore[union-attr]
        order = np.argsort(np.concatenate(times), kind="stable")
        starts = np.cumsum([0, *(table_times.size for table_times in times)])
        owners = np.searchsorted(starts, order, side="right") - 1
        ends = np.flatnonzero(np.diff(owners, append=-1)) + 1
        start = 0
        for end in ends.tolist():
            number, due = due_rows[int(owners[start])]
            first = int(order[start] - starts[owners[start]])
            yield number, due.slice(first, end - start)
            start = end

    # -- calls -----------------------------------------------------------------------------------

    def _process(self, number: int, data: pa.RecordBatch, kinds: Any, until: int | None) -> None:
        """Call the function for each row of a batch. If ``until`` is set, the rows are in the
        order of time, and none is later than ``until``."""
        table, event = self._spec.tables[number], self._event
        columns = [
            python_values(column, part.type)
            for column, part in zip(data.columns, table.row_type, strict=True)
        ]
        keys = self._keys(table, columns, data.num_rows)
        self._states.prefetch(keys)
        times = self._times(table, data)
        numbers = [0] * data.num_rows if kinds is None else kinds.to_pylist()
        event.watermark = self.watermark if until is None else until
        arguments = list(self._values)
        names, make, timers = table.row_type.names, table.made, self._timers
        rows: Iterable[tuple[Any, ...]] = zip(*columns, strict=True)
        rows = rows if columns else [()] * data.num_rows
        place = table.argument
        for index, values in enumerate(rows):
            self._current.key, event.time = keys[index], times[index]
            if until is not None and timers is not None:
                self._fire_before(times[index], keys[index])
            if place is not None:
                row = named_row(names, values, numbers[index])
                arguments[place] = row if make is None else make(*values)
            self._call(self._body, self._eval_context, arguments, values, index)

    def _fire_before(self, time: int | None, key: Any) -> None:
        """Fire the timers that are due before an ordered row."""
        assert self._timers is not None
        earliest = self._timers.earliest()
        if time is not None and earliest is not None and earliest < time:
            self._timers.fire(time - 1, self._fire)
            self._current.key, self._event.time, self._event.timer = key, time, None

    def _fire(self, time: int, name: str | None) -> None:
        assert self._on_timer is not None
        self._event.time, self._event.timer = time, name
        self._call(self._on_timer, self._timer_context, [], (), None)

    def _call(
        self,
        body: Callable[..., Any],
        context: tuple[Any, ...],
        arguments: list[Any],
        values: tuple[Any, ...],
        index: int | None,
    ) -> None:
        event, entries = self._event, self._entries
        try:
            if not entries:
                self._take(body(*context, *arguments), index)
                return
            event.cleared.clear()
            states = [entry.load() for entry in self._loaded]
            self._take(body(*context, *states, *arguments), index)
        except Exception as error:
            where = f"for the row {repr(values)[:_SHOWN]}" if index is not None else "in on_timer()"
            key = self._current.key
            partition = "" if key == () else f"; the partition is {key!r}"
            error.add_note(
                f"in the function {self._spec.name}, called in a statement, {where}{partition}"
            )
            raise
        cleared = event.cleared
        for (name, entry), value in zip(entries.items(), states, strict=True):
            if name not in cleared:
                entry.store(value)

    def _take(self, made: Any, index: int | None) -> None:
        """Keep the result rows of a call until the end of the batch. Values that the function
        may change later, such as its state, are copied."""
        if made is None:
            return
        kind = type(made)
        several = kind is GeneratorType or kind is list or hasattr(made, "__next__")
        rows = made if several or kind is range else (made,)
        key, time, add = self._current.key, self._event.time, self._results.append
        origin = key if index is None else index
        for row in rows:
            change = 0
            if type(row) is tuple:
                fields = row
            else:
                fields = row_values(row)
                change = row.get_row_kind().value if isinstance(row, Row) else 0
            if not IMMUTABLE.issuperset(map(type, fields)):
                fields = tuple(map(detached, fields))
            add((origin, key, fields, change, time))

    def _keys(self, table: ProcessedTable, columns: list[list[Any]], count: int) -> list[Any]:
        parts = [columns[index] for index in table.partition]
        if len(parts) == 1:
            return parts[0]
        return list(zip(*parts, strict=True)) if parts else [()] * count

    def _times(self, table: ProcessedTable, data: pa.RecordBatch) -> list[int | None]:
        if table.time is None:
            return [None] * data.num_rows
        column = data.column(table.time)
        times = column.cast(pa.timestamp("ms", column.type.tz), safe=False).view(pa.int64())
        milliseconds: list[int | None] = times.to_pylist()
        return milliseconds

    # -- results ---------------------------------------------------------------------------------

    def _emit(self, table: ProcessedTable, data: pa.RecordBatch | None) -> None:
        """Emit the result rows of a batch, or of timers."""
        results, self._results = self._results, []
        if not results:
            return
        spec = self._spec
        fields = spec.signature.row_type.fields
        made = [result[2] for result in results]
        wrong = next((row for row in made if len(row) != len(fields)), None)
        if wrong is not None:
            raise EvaluationError(
                f"{spec.name} gave {repr(wrong)[:_SHOWN]}, a row of the length {len(wrong)}; its "
                f"result_types are {spec.signature.row_type}"
            )
        columns = self._prefix(table, data, results)
        for place, part in enumerate(fields):
            columns.append(self._column([row[place] for row in made], part.type, part.name))
        if spec.is_timed:
            last = spec.output_type.fields[-1].type
            times = pa.array([result[4] for result in results], pa.int64())
            kind = arrow_type(last)
            columns.append(times.cast(pa.timestamp("ms", kind.tz)).cast(kind))
        batch = pa.RecordBatch.from_arrays(
            [one.cast(part.type) for one, part in zip(columns, self._schema, strict=True)],
            schema=self._schema,
        )
        self.output.emit(ColumnBatch(batch, None, self._row_kinds(results), "row"))

    def _prefix(
        self, table: ProcessedTable, data: pa.RecordBatch | None, results: list[tuple[Any, ...]]
    ) -> list[Any]:
        if data is not None and len(self._spec.tables) == 1 and self._of_rows(results):
            places = pa.array(np.array([result[0] for result in results], np.int64))
            return [data.column(index).take(places) for index in table.prefix]
        keys = [result[1] for result in results]
        columns = []
        for processed in self._spec.tables:
            single = len(processed.partition) == 1
            for number, index in enumerate(processed.partition):
                values = keys if single else [key[number] for key in keys]
                part = processed.row_type.fields[index]
                columns.append(self._column(values, part.type, part.name))
        return columns

    def _of_rows(self, results: list[tuple[Any, ...]]) -> bool:
        """Whether rows of the batch made all results, with no timer between them."""
        return self._timers is None or not any(self._waiting)

    def _column(self, values: list[Any], kind: LogicalType, name: str) -> Any:
        try:
            made = arrow_column(values, kind)
        except CONVERSION_ERRORS as error:
            raise EvaluationError(
                f"{self._spec.name} gave {misfit_of(values, kind, error)}, in the column {name}, "
                f"which is {kind}"
            ) from None
        if made.null_count and not kind.is_nullable:
            raise EvaluationError(f"{self._spec.name} gave None in the column {name}, {kind}")
        return made

    def _row_kinds(self, results: list[tuple[Any, ...]]) -> Any:
        kinds = [result[3] for result in results]
        if not any(kinds):
            return None
        given = set(map(RowKind, set(kinds))) - self._spec.signature.changes
        if given:
            said = ", ".join(sorted(map(str, self._spec.signature.changes)))
            raise JobExecutionError(
                f"{self._spec.name} gave a row of kind {min(map(str, given))}, but its "
                f"get_changelog_mode() says {said}"
            )
        return pa.array(kinds, pa.int8())
