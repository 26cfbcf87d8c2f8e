"""Edge changes as columns, which all operators of graph streams receive and emit.

A change has an edge's source and target, its value if it has one, and the number of copies by which
it changes the graph: 1 for an addition, -1 for a removal.
"""

from __future__ import annotations

from collections.abc import Sequence, Sized
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.errors import JobExecutionError
from millrace.common.types.batch import Batch, BatchForm, ColumnBatch
from millrace.common.types.columns import from_records, kinds_of
from millrace.common.types.row import Row, RowKind, named_row
from millrace.runtime.operator import Operator

__all__ = [
    "CHANGE",
    "FLIPPED",
    "HIGH",
    "LOW",
    "SOURCE",
    "TARGET",
    "VALUE",
    "EdgeColumnsOperator",
    "EdgeFormat",
    "PairsOperator",
    "added",
    "changes_of",
    "edge_fields",
    "numbers_of",
    "removed",
]

SOURCE, TARGET, VALUE = "source", "target", "value"
CHANGE = "change"
LOW, HIGH, FLIPPED = "low", "high", "flipped"
"""Ends of an edge in the order of their ids, and whether the source is the higher one."""
_RETRACTIONS = (RowKind.UPDATE_BEFORE.value, RowKind.DELETE.value)


def added(source: Any, target: Any, value: Any = None) -> Row:
    """Record that adds an edge.

    >>> added(1, 2).get_row_kind().name
    'INSERT'
    """
    return named_row((SOURCE, TARGET, VALUE), (source, target, value), RowKind.INSERT.value)


def removed(source: Any, target: Any, value: Any = None) -> Row:
    """Record that removes an edge.

    >>> removed(1, 2).get_row_kind().name
    'DELETE'
    """
    return named_row((SOURCE, TARGET, VALUE), (source, target, value), RowKind.DELETE.value)


@dataclass(frozen=True)
class EdgeFormat:
    """Types of vertices and of edges' values.

    Attributes:
        vertex: type of the ids.
        value: type of the values. None if edges have none.
    """

    vertex: pa.DataType
    value: pa.DataType | None = None


def edge_fields(names: Sequence[str], by_position: bool = False) -> list[int]:
    """Positions of the fields that are an edge's source, target and, if there is one, value.

    Fields that are called source and target count by their names, and beside them the field called
    value, or else the first other one. Fields with other names count in their order.

    Args:
        names: names of a record's fields.
        by_position: whether fields count in their order in any case.

    >>> edge_fields(["weight", "target", "source"]), edge_fields(["payer", "payee", "cents", "at"])
    ([2, 1, 0], [0, 1, 2])
    """
    if by_position or SOURCE not in names or TARGET not in names:
        return list(range(min(len(names), 3)))
    ends = [names.index(SOURCE), names.index(TARGET)]
    others = [position for position in range(len(names)) if position not in ends]
    value = [names.index(VALUE)] if VALUE in names else others[:1]
    return ends + value


class EdgeColumnsOperator(Operator):
    """Makes columns of edge changes from records of any form.

    Args:
        format: types of the columns.
        by_position: whether the order of the fields counts, whatever their names are.
    """

    takes = BatchForm.EITHER

    def __init__(self, format: EdgeFormat, by_position: bool = False) -> None:
        self._format, self._by_position = format, by_position

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        for start, end in _alike(values):
            some = values[start:end]
            times = None if timestamps is None else pa.array(timestamps[start:end], pa.int64())
            self._emit(from_records(some), kinds_of(some), times)

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        if len(batch):
            self._emit(batch.data, batch.row_kinds, batch.timestamps)

    def _emit(self, data: pa.RecordBatch, kinds: Any, times: Any) -> None:
        fields = edge_fields(data.schema.names, self._by_position)
        if len(fields) < 2:
            raise JobExecutionError(
                f"operator '{self.context.name}' makes edges of records with the fields "
                f"{', '.join(data.schema.names)}: an edge has at least a source and a target"
            )
        value = self._format.value
        columns = [
            self._vertices(data.column(field), name)
            for field, name in zip(fields, (SOURCE, TARGET), strict=False)
        ]
        names = [SOURCE, TARGET]
        if value is not None:
            has_value = len(fields) > 2
            given = data.column(fields[2]) if has_value else pa.nulls(data.num_rows, value)
            columns.append(self._cast(given, VALUE, value))
            names.append(VALUE)
        change = np.ones(data.num_rows, np.int64)
        if kinds is not None:
            change[np.isin(kinds.to_numpy(zero_copy_only=False), _RETRACTIONS)] = -1
        made = pa.RecordBatch.from_arrays([*columns, pa.array(change)], [*names, CHANGE])
        self.output.emit(ColumnBatch(made, times, None, "dict"))

    def _vertices(self, column: pa.Array, name: str) -> pa.Array:
        vertices = self._cast(column, name, self._format.vertex)
        if vertices.null_count:
            raise JobExecutionError(
                f"operator '{self.context.name}' got an edge whose {name} is null; remove "
                "such records before the operator"
            )
        return vertices

    def _cast(self, column: pa.Array, name: str, kind: pa.DataType) -> pa.Array:
        try:
            return column.cast(kind)
        except pa.ArrowException as error:
            raise JobExecutionError(
                f"operator '{self.context.name}' takes {name}s of the type {kind} "
                f"({error}); pass the right vertex_type or value_type to GraphStream"
            ) from error


def _alike(values: list[Any]) -> list[tuple[int, int]]:
    """Ranges of records with the same form: tuples that add edges may come between rows that remove
    some."""
    forms = [(type(value), len(value) if isinstance(value, Sized) else 0) for value in values]
    bounds = [n for n in range(1, len(forms)) if forms[n] != forms[n - 1]]
    return list(pairwise([0, *bounds, len(forms)])) if forms else []


class PairsOperator(Operator):
    """Adds columns with the two ends of each edge in the order of their ids. Edges are distributed
    by these columns, so the edges in both directions between two vertices go to the same subtask.

    Args:
        value_type: type to which values are cast. None to leave values out.
        default: value of edges without one.
    """

    takes = BatchForm.COLUMNS

    def __init__(self, value_type: pa.DataType | None = None, default: Any = None) -> None:
        self._value_type, self._default = value_type, default

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        data = batch.data
        source, target = data.column(SOURCE), data.column(TARGET)
        flipped = pc.greater(source, target)
        columns = [
            pc.if_else(flipped, target, source),
            pc.if_else(flipped, source, target),
            flipped,
            data.column(CHANGE),
        ]
        names = [LOW, HIGH, FLIPPED, CHANGE]
        if self._value_type is not None:
            columns.append(self._value(data))
            names.append(VALUE)
        made = pa.RecordBatch.from_arrays(columns, names)
        self.output.emit(ColumnBatch(made, batch.timestamps, None, "dict"))

    def _value(self, data: pa.RecordBatch) -> pa.Array:
        if VALUE not in data.schema.names:
            return pa.repeat(pa.scalar(self._default, self._value_type), data.num_rows)
        try:
            values = data.column(VALUE).cast(self._value_type)
        except pa.ArrowException as error:
            raise JobExecutionError(
                f"operator '{self.context.name}' takes edge values that are "
                f"{self._value_type} ({error}); convert the values with map_edges()"
            ) from error
        return values.fill_null(self._default)


def numbers_of(data: pa.RecordBatch, name: str) -> npt.NDArray[Any]:
    """The numbers in a column, as a NumPy array."""
    numbers: npt.NDArray[Any] = data.column(name).to_numpy(zero_copy_only=False)
    return numbers


def changes_of(batch: Batch) -> npt.NDArray[np.int64]:
    """The change that each row of a batch of edge changes makes."""
    assert isinstance(batch, ColumnBatch)
    return numbers_of(batch.data, CHANGE)
