"""`CorrelateOperator`: joins each row with the rows that a table function returns for it. The
operator has no state.

Flink: ``Correlate``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.common.types.logical.logical_type import (
    LogicalType,
    MultisetType,
    RowType,
)
from millrace.expressions.evaluation import CompiledCalc, compiled
from millrace.expressions.resolved import ResolvedExpression
from millrace.expressions.session_settings import SessionSettings
from millrace.runtime.metrics import RegisteredGroup
from millrace.runtime.operator import Operator
from millrace.table_runtime.columns import schema_of

__all__ = [
    "CorrelateOperator",
    "CorrelateSpec",
    "MadeOfRows",
    "TableFunction",
    "replicate_rows",
    "unnest",
]

Places = npt.NDArray[np.int64]
TableFunction = Callable[[list[pa.Array], tuple[LogicalType, ...], bool], tuple[Places, list[Any]]]
"""Function from arguments, their types, and whether rows are numbered, to columns and the number of
the input row of each result row, in order."""


@dataclass(frozen=True)
class CorrelateSpec:
    """Settings of a correlated join with a table function.

    Attributes:
        input_type: columns of the rows.
        function: the table function.
        arguments: arguments of the function, as expressions over the row.
        ordinality: whether the last column has the number of the function's row.
        pads: whether a row without function rows is emitted, padded with NULL (LEFT).
        output_type: columns of the row, then the function's columns, projected if `made` is set.
        made: projection and filter of the function's rows before the padding. None if there is
            none.
    """

    input_type: RowType
    function: TableFunction
    arguments: tuple[ResolvedExpression, ...]
    ordinality: bool
    pads: bool
    output_type: RowType
    made: MadeOfRows | None = None


@dataclass(frozen=True)
class MadeOfRows:
    """Projection and filter that are applied to a table function's rows.

    Attributes:
        joined_type: columns of the row, then of the function.
        columns: expressions over ``joined_type``, in place of the function's columns.
        condition: filter over ``joined_type``. None if all rows pass.
    """

    joined_type: RowType
    columns: tuple[ResolvedExpression, ...]
    condition: ResolvedExpression | None


class CorrelateOperator(Operator):
    """Joins each row with the rows that a table function returns for it.

    Args:
        spec: settings of the join.
        session: session settings, for the arguments.
    """

    takes = BatchForm.COLUMNS

    def __init__(self, spec: CorrelateSpec, session: SessionSettings) -> None:
        self._spec, self._now = spec, 0
        self._arguments = [
            compiled(argument, spec.input_type, session) for argument in spec.arguments
        ]
        self._types = tuple(argument.output_type for argument in spec.arguments)
        self._schema = schema_of(spec.output_type)
        self._calc: CompiledCalc | None = None
        if spec.made is not None:
            made = spec.made
            self._calc = CompiledCalc(made.columns, made.condition, made.joined_type, session)

    def open(self) -> None:
        metrics = RegisteredGroup(self.context.metrics)
        for argument in self._arguments:
            argument.open(metrics)
        if self._calc is not None:
            self._calc.open(metrics)

    def advance_processing_time(self, now: int) -> None:
        self._now = now

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        if not len(batch):
            return
        spec, data = self._spec, batch.data
        given = [argument(data, self._now) for argument in self._arguments]
        places, columns = spec.function(given, self._types, spec.ordinality)
        if self._calc is not None:
            places, columns = self._made(self._calc, data, places, columns)
        rows = pa.array(places)
        if spec.pads:
            alone = np.setdiff1d(np.arange(len(batch)), places)
            both = np.concatenate([places, alone])
            order = np.argsort(both, kind="stable")
            rows, padded = pa.array(both[order]), order >= places.size
            taken = pa.array(np.where(padded, 0, order), mask=padded)
            columns = [column.take(taken) for column in columns]
        if not len(rows):
            return
        made = [column.take(rows) for column in data.columns] + columns
        kinds = None if batch.row_kinds is None else batch.row_kinds.take(rows)
        cast = [one.cast(field.type) for one, field in zip(made, self._schema, strict=True)]
        if cast:
            joined = pa.RecordBatch.from_arrays(cast, schema=self._schema)
        else:
            joined = pa.RecordBatch.from_struct_array(pa.array([{}] * len(rows), pa.struct([])))
        self.output.emit(ColumnBatch(joined, None, kinds, "row"))

    def _made(
        self, calc: CompiledCalc, data: pa.RecordBatch, places: Places, columns: list[Any]
    ) -> tuple[Places, list[Any]]:
        """The function's rows that satisfy the condition, as the projected columns."""
        rows = pa.array(places)
        both = [*(column.take(rows) for column in data.columns), *columns]
        joined = pa.RecordBatch.from_arrays(both, [f"f{number}" for number in range(len(both))])
        made, kept = calc(joined, self._now)
        return places if kept is None else places[kept], list(made)


def replicate_rows(
    arguments: list[pa.Array], types: tuple[LogicalType, ...], ordinality: bool
) -> tuple[Places, list[Any]]:
    """Rows without columns, as many as the argument says."""
    times = arguments[0].fill_null(0).to_numpy(zero_copy_only=False)
    return np.repeat(np.arange(times.size), np.maximum(times, 0)), []


def unnest(
    arguments: list[pa.Array], types: tuple[LogicalType, ...], ordinality: bool
) -> tuple[Places, list[Any]]:
    """One row per element of the arrays, maps or multisets. Shorter arguments are padded with NULL.
    If there is only one argument, and its elements are rows, NULL elements are left out.

    With ordinality a column more, of the number of the element from 1 on.
    """
    elements = [_elements(argument, kind) for argument, kind in zip(arguments, types, strict=True)]
    unnested = [(length, _columns(flat)) for length, flat in elements]
    lengths = np.max([length for length, _ in unnested], axis=0)
    places = np.repeat(np.arange(lengths.size), lengths)
    numbers = np.arange(places.size) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    columns: list[Any] = []
    for length, of_one in unnested:
        if len(unnested) > 1 and (length != lengths).any():
            missing = numbers >= length.take(places)
            starts = np.cumsum(length) - length
            at = np.where(missing, 0, starts.take(places) + numbers)
            where = pa.array(at, mask=missing)
            columns += [column.take(where) for column in of_one]
        else:
            columns += of_one
    if ordinality:
        columns.append(pa.array(numbers + 1).cast(pa.int32()))
    flat = elements[0][1]
    if len(unnested) == 1 and pa.types.is_struct(flat.type) and flat.null_count:
        there = flat.is_valid()
        places = places[there.to_numpy(zero_copy_only=False)]
        columns = [column.filter(there) for column in columns]
    return places, columns


def _columns(elements: pa.Array) -> list[pa.Array]:
    """Elements as columns. If the elements are rows, the columns are the fields of the rows."""
    made: list[pa.Array] = elements.flatten() if pa.types.is_struct(elements.type) else [elements]
    return made


def _elements(array: pa.Array, kind: LogicalType) -> tuple[Places, pa.Array]:
    """Number of elements of each row, and all elements."""
    if pa.types.is_map(array.type):
        lists = array.cast(
            pa.list_(pa.struct([("k", array.type.key_type), ("v", array.type.item_type)]))
        )
    else:
        lists = array
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    lengths = lengths.astype(np.int64)
    flat = lists.flatten()
    if not isinstance(kind, MultisetType):
        return lengths, flat
    elements, counts = flat.flatten()
    times = counts.to_numpy(zero_copy_only=False)
    rows = np.repeat(np.arange(lengths.size), lengths)
    totals = np.bincount(rows, weights=times, minlength=lengths.size).astype(np.int64)
    return totals, elements.take(pa.array(np.repeat(np.arange(times.size), times)))
