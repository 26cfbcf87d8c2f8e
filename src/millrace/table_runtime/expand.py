"""`ExpandOperator`: emits each row once per grouping set. Flink: ``Expand``."""

from __future__ import annotations

import pyarrow as pa

from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.common.types.logical.logical_type import BigIntType, RowField, RowType
from millrace.runtime.operator import Operator
from millrace.table_runtime.columns import schema_of

__all__ = ["ExpandOperator", "expanded_type"]


def expanded_type(
    input_type: RowType, groups: tuple[int, ...], flags: tuple[tuple[int, ...], ...] = ()
) -> RowType:
    """The input's columns, a second copy of the grouping columns, the number of the grouping
    set, and a column for each GROUPING call."""
    copies = [input_type.fields[index] for index in groups]
    nullable = [RowField(f"{field.name}$", field.type.with_nullable(True)) for field in copies]
    number = RowField("expand_id$", BigIntType(nullable=False))
    calls = (RowField(f"grouping{n}$", BigIntType(nullable=False)) for n in range(len(flags)))
    return RowType((*input_type.fields, *nullable, number, *calls))


class ExpandOperator(Operator):
    """Copies rows, with NULL in the columns that a grouping set lacks. Each copy also has the
    original columns, for aggregates over them.

    Args:
        input_type: columns of the rows.
        groups: positions of the columns to group by.
        sets: columns among ``groups`` that each set has.
        flags: arguments of each GROUPING call. A bit is 1 if the set lacks the column.
    """

    takes = BatchForm.COLUMNS

    def __init__(
        self,
        input_type: RowType,
        groups: tuple[int, ...],
        sets: tuple[tuple[int, ...], ...],
        flags: tuple[tuple[int, ...], ...] = (),
    ) -> None:
        self._groups, self._sets, self._flags = groups, sets, flags
        self._type = expanded_type(input_type, groups, flags)

    def open(self) -> None:
        self._schema = schema_of(self._type)

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        data, count = batch.data, len(batch)
        for position, members in enumerate(self._sets):
            copies = [
                data.column(index) if index in members else pa.nulls(count, data.column(index).type)
                for index in self._groups
            ]
            numbers = [position, *(_bits(flag, members) for flag in self._flags)]
            constants = [pa.repeat(pa.scalar(value, pa.int64()), count) for value in numbers]
            columns = [*data.columns, *copies, *constants]
            expanded = pa.RecordBatch.from_arrays(columns, schema=self._schema)
            self.output.emit(ColumnBatch(expanded, None, batch.row_kinds, "row"))


def _bits(arguments: tuple[int, ...], members: tuple[int, ...]) -> int:
    """Value of GROUPING. The first argument is the highest bit."""
    return sum((index not in members) << n for n, index in enumerate(reversed(arguments)))
