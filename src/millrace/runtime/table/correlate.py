"""`CorrelateOperator`: rows with the rows that a table function gives for them. It has no state.

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
from millrace.expressions.evaluation import compiled
from millrace.expressions.resolved import ResolvedExpression
from millrace.expressions.session_settings import SessionSettings
from millrace.runtime.metrics import RegisteredGroup
from millrace.runtime.operator import Operator
from millrace.runtime.table.columns import schema_of

__all__ = ["CorrelateOperator", "CorrelateSpec", "TableFunction", "replicate_rows", "unnest"]

Places = npt.NDArray[np.int64]
TableFunction = Callable[[list[pa.Array], tuple[LogicalType, ...], bool], tuple[Places, list[Any]]]
"""Of arguments, their types and the payload: columns, and the row that each of their rows is of, in
order."""


@dataclass(frozen=True)
class CorrelateSpec:
    """What is joined to each row.

    Attributes:
        input_type: columns of the rows.
        function: what gives rows.
        arguments: of the function, over the row.
        payload: of the function.
        pads: whether a row for which it gives none comes with nulls (LEFT).
        output_type: columns of the row, then of the function.
    """

    input_type: RowType
    function: TableFunction
    arguments: tuple[ResolvedExpression, ...]
    payload: bool
    pads: bool
    output_type: RowType


class CorrelateOperator(Operator):
    """Joins rows with those of a function of them.

    Args:
        spec: what to join.
        session: for the arguments.
    """

    takes = BatchForm.COLUMNS

    def __init__(self, spec: CorrelateSpec, session: SessionSettings) -> None:
        self._spec, self._now = spec, 0
        self._arguments = [compiled(each, spec.input_type, session) for each in spec.arguments]
        self._types = tuple(each.output_type for each in spec.arguments)
        self._schema = schema_of(spec.output_type)

    def open(self) -> None:
        for argument in self._arguments:
            argument.open(RegisteredGroup(self.context.metrics))

    def begin_epoch(self, epoch: int, now: int) -> None:
        self._now = now

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        if not len(batch):
            return
        spec, data = self._spec, batch.data
        given = [argument(data, self._now) for argument in self._arguments]
        places, columns = spec.function(given, self._types, spec.payload)
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


def replicate_rows(
    arguments: list[pa.Array], types: tuple[LogicalType, ...], payload: bool
) -> tuple[Places, list[Any]]:
    """Rows without columns, as many as the argument says."""
    times = arguments[0].fill_null(0).to_numpy(zero_copy_only=False)
    return np.repeat(np.arange(times.size), np.maximum(times, 0)), []


def unnest(
    arguments: list[pa.Array], types: tuple[LogicalType, ...], payload: bool
) -> tuple[Places, list[Any]]:
    """A row per element of the arguments; where one has fewer than another, nulls stand for them.

    With the payload a column more, of the number of the element from 1 on.
    """
    found = [_elements(each, kind) for each, kind in zip(arguments, types, strict=True)]
    lengths = np.max([length for length, _ in found], axis=0)
    places = np.repeat(np.arange(lengths.size), lengths)
    numbers = np.arange(places.size) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    columns: list[Any] = []
    for length, elements in found:
        if len(found) > 1 and (length != lengths).any():
            missing = numbers >= length.take(places)
            starts = np.cumsum(length) - length
            at = np.where(missing, 0, starts.take(places) + numbers)
            where = pa.array(at, mask=missing)
            columns += [column.take(where) for column in elements]
        else:
            columns += elements
    if payload:
        columns.append(pa.array(numbers + 1).cast(pa.int32()))
    return places, columns


def _elements(array: pa.Array, kind: LogicalType) -> tuple[Places, list[Any]]:
    """How many elements each row has, and all of them as columns."""
    if pa.types.is_map(array.type):
        lists = array.cast(
            pa.list_(pa.struct([("k", array.type.key_type), ("v", array.type.item_type)]))
        )
    else:
        lists = array
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    lengths = lengths.astype(np.int64)
    flat = lists.flatten()
    if not pa.types.is_struct(flat.type):
        return lengths, [flat]
    columns = flat.flatten()
    if not isinstance(kind, MultisetType):
        return lengths, columns
    elements, counts = columns
    times = counts.to_numpy(zero_copy_only=False)
    rows = np.repeat(np.arange(lengths.size), lengths)
    totals = np.bincount(rows, weights=times, minlength=lengths.size).astype(np.int64)
    repeated = elements.take(pa.array(np.repeat(np.arange(times.size), times)))
    fields = repeated.flatten() if pa.types.is_struct(repeated.type) else [repeated]
    return totals, fields
