"""`MatchAggregate`: an aggregate over the rows of a match."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import gt, lt
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.logical_type import RowField, RowType
from millrace.expressions import built_in
from millrace.expressions.evaluation import compiled
from millrace.expressions.function_definition import FunctionDefinition
from millrace.expressions.pattern_expressions import PatternAggregate
from millrace.expressions.resolved import AggregateCall, FieldReference, fields_of, rewritten
from millrace.state.columns.columnar_table import ColumnsOf
from millrace.state.columns.slot_table import SlotTable
from millrace.table_runtime.group_accumulators import GroupAccumulators
from millrace.table_runtime.match_rows import MatchedRow, RowColumns, column_of, plain_values

__all__ = ["MatchAggregate", "RunningAggregate"]

_ORDERED = (
    logical.IntegralType,
    logical.DecimalType,
    logical.VarCharType,
    logical.CharType,
    logical.DateType,
    logical.TimeType,
    logical.TimestampType,
    logical.LocalZonedTimestampType,
)
"""Types whose plain values Python compares as SQL does."""


class MatchAggregate:
    """Computes an aggregate, for one group of rows or for many groups.

    Args:
        columns: values of the rows. Missing ones are added.
    """

    def __init__(self, call: PatternAggregate, columns: RowColumns) -> None:
        self._call = call
        self._columns = columns
        session, input_type = columns.session, columns.input_type
        given = [compiled(argument, input_type, session) for argument in call.arguments]
        self._late = any(evaluator.may_fail for evaluator in given)
        arguments = call.arguments
        fields = sorted({index for argument in call.arguments for index in fields_of(argument)})
        if self._late:  # only of rows that are part of a match
            moved = {index: place for place, index in enumerate(fields)}
            of_fields = RowType(tuple(input_type.fields[index] for index in fields))
            self._evaluators = [
                compiled(rewritten(argument, _moved(moved)), of_fields, session)
                for argument in arguments
            ]
            arguments = tuple(
                FieldReference(index, input_type.fields[index].type) for index in fields
            )
        self._places = [columns.place(argument) for argument in arguments]
        types = [argument.output_type for argument in call.arguments]
        names = [RowField(f"f{number}", kind) for number, kind in enumerate(types)]
        self._schema = pa.schema(
            [*((field.name, arrow_type(field.type)) for field in names), ("group", pa.int64())]
        )
        self._aggregate = AggregateCall(
            call.function, tuple(range(len(types))), call.type, options=call.options, name="result"
        )
        self._input = RowType((*names, RowField("group", logical.BigIntType())))
        self.running = self._running()
        """The same aggregate for rows that come one by one. None if it needs columns."""

    def values(self, groups: Sequence[list[MatchedRow]]) -> pa.Array:
        """Aggregate of each group."""
        rows = [row for group in groups for row in group]
        numbers = np.arange(len(groups))
        frames, accumulators = SlotTable(), GroupAccumulators([self._aggregate], self._input, False)
        frames.bind(ColumnsOf((pa.int64(),), values=tuple(accumulators.value_columns)))
        slots = frames.slots_of([pa.array(numbers)], create=True)
        if rows:
            owners = np.repeat(slots, [len(group) for group in groups])
            columns = [*self._arguments(rows), pa.array(owners)]
            batch = pa.RecordBatch.from_arrays(columns, schema=self._schema)
            accumulators.accumulate(frames, owners, batch, None)
        (aggregates,) = accumulators.values(slots, frames.space.values)
        return aggregates.cast(arrow_type(self._call.type))

    def _arguments(self, rows: list[MatchedRow]) -> list[pa.Array]:
        types = self._columns.types
        columns = [column_of([row[place] for row in rows], types[place]) for place in self._places]
        if not self._late:
            return columns
        batch = pa.record_batch(columns, [f"f{number}" for number in range(len(columns))])
        return [evaluate(batch, self._columns.instant) for evaluate in self._evaluators]

    def of_rows(self, rows: list[MatchedRow]) -> Any:
        """Aggregate of one group, as a plain value."""
        return plain_values(self.values([rows]))[0]

    def _running(self) -> RunningAggregate | None:
        function, places = self._call.function, self._places
        if function is built_in.COUNT and not places:
            return RunningAggregate(None, 0, _counted, _itself)
        made = _RUNNING.get(function)
        if self._late or made is None or len(places) != 1:
            return None
        return made(places[0], self._call.arguments[0].output_type, self._call.type)


@dataclass(frozen=True, slots=True)
class RunningAggregate:
    """An aggregate of plain values that is updated row by row, without columns.

    Attributes:
        place: position of the values in a row. None if every row counts.
        initial: state before any value.
        step: function that adds a value, which is not null, to the state.
        result: function from the state to the result.
    """

    place: int | None
    initial: Any
    step: Callable[[Any, Any], Any]
    result: Callable[[Any], Any]

    def added(self, state: Any, row: MatchedRow) -> Any:
        """State after one more row."""
        if self.place is None:
            return self.step(state, None)
        value = row[self.place]
        return state if value is None else self.step(state, value)


_Make = Callable[[int, logical.LogicalType, logical.LogicalType], RunningAggregate | None]


def _moved(places: dict[int, int]) -> Callable[[Any], Any]:
    def change(expression: Any) -> Any:
        if isinstance(expression, FieldReference):
            return FieldReference(places[expression.index], expression.type, expression.name)
        return expression

    return change


def _itself(state: Any) -> Any:
    return state


def _counted(state: int, value: Any) -> int:
    return state + 1


def _wrapped(number: int, bits: int) -> int:
    """An integer that overflows at a number of bits, as in Java."""
    half = 1 << (bits - 1)
    return (number + half) % (half + half) - half


def _added(state: Any, value: Any) -> Any:
    return value if state is None else state + value


def _sum(
    place: int, kind: logical.LogicalType, result: logical.LogicalType
) -> RunningAggregate | None:
    if isinstance(kind, logical.IntegralType):
        bits = arrow_type(result).bit_width
        return RunningAggregate(
            place, None, _added, lambda total: None if total is None else _wrapped(total, bits)
        )
    if isinstance(kind, logical.DoubleType):
        return RunningAggregate(place, None, _added, _itself)
    return None


def _added_and_counted(state: tuple[Any, int], value: Any) -> tuple[Any, int]:
    total, count = state
    return total + value, count + 1


def _avg(
    place: int, kind: logical.LogicalType, result: logical.LogicalType
) -> RunningAggregate | None:
    if isinstance(kind, logical.IntegralType) and isinstance(result, logical.IntegralType):
        return RunningAggregate(place, (0, 0), _added_and_counted, _mean_towards_zero)
    if isinstance(kind, logical.DoubleType):
        return RunningAggregate(
            place,
            (0.0, 0),
            _added_and_counted,
            lambda state: state[0] / state[1] if state[1] else None,
        )
    return None


def _mean_towards_zero(state: tuple[int, int]) -> int | None:
    total, count = _wrapped(state[0], 64), state[1]
    if not count:
        return None
    return total // count if total >= 0 else -(-total // count)


def _extreme(better: Callable[[Any, Any], bool]) -> _Make:
    def step(state: Any, value: Any) -> Any:
        return value if state is None or better(value, state) else state

    def make(
        place: int, kind: logical.LogicalType, result: logical.LogicalType
    ) -> RunningAggregate | None:
        if not isinstance(kind, _ORDERED):
            return None
        return RunningAggregate(place, None, step, _itself)

    return make


_RUNNING: dict[FunctionDefinition, _Make] = {
    built_in.COUNT: lambda place, kind, result: RunningAggregate(place, 0, _counted, _itself),
    built_in.SUM: _sum,
    built_in.AVG: _avg,
    built_in.MIN: _extreme(lt),
    built_in.MAX: _extreme(gt),
}
