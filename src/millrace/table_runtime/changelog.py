"""`ToChangelogOperator` and `FromChangelogOperator`: changes as rows with a code, and back.

Flink: ``ToChangelogFunction``, ``FromChangelogFunction``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.errors import JobExecutionError
from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.common.types.logical.logical_type import RowType
from millrace.common.types.row import RowKind
from millrace.expressions.resolved import SqlPosition
from millrace.runtime.operator import Operator
from millrace.table_runtime.columns import schema_of

__all__ = ["FromChangelogOperator", "ToChangelogOperator"]

_DELETE = RowKind.DELETE.value


class ToChangelogOperator(Operator):
    """Turns each change into an inserted row with an operation code.

    Args:
        row_type: columns of the result.
        codes: codes by the number of the change. None if rows of such changes are left out.
        order: positions of the input's columns in the result. None for the code.
        blanked: positions in the result that are NULL in rows about deletions.
    """

    takes = BatchForm.COLUMNS

    def __init__(
        self,
        row_type: RowType,
        codes: Sequence[str | None],
        order: Sequence[int | None],
        blanked: Sequence[int] = (),
    ) -> None:
        self._type, self._order, self._blanked = row_type, order, frozenset(blanked)
        self._codes = codes

    def open(self) -> None:
        self._schema = schema_of(self._type)
        place = self._order.index(None)
        self._code_of_kind = pa.array(self._codes, self._schema.field(place).type)
        self._has_code = pa.array([code is not None for code in self._codes])

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        kinds = batch.row_kinds
        if kinds is None:
            kinds = pa.repeat(pa.scalar(0, pa.int8()), len(batch))
        if None in self._codes:
            kept = self._has_code.take(kinds)
            batch, kinds = batch.filter(kept), kinds.filter(kept)
        if not len(batch):
            return
        data = batch.data
        deleted = pc.equal(kinds, _DELETE) if self._blanked else None
        columns: list[Any] = []
        for place, index in enumerate(self._order):
            if index is None:
                columns.append(self._code_of_kind.take(kinds))
            elif place in self._blanked:
                columns.append(_blanked(data.column(index), deleted))
            else:
                columns.append(data.column(index))
        rows = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        self.output.emit(ColumnBatch(rows, batch.timestamps, None, batch.form))


def _blanked(column: Any, where: Any) -> Any:
    """The column with NULL at some places."""
    gone = where.to_numpy(zero_copy_only=False)
    return column.take(pa.array(np.arange(len(column)), mask=gone))


class FromChangelogOperator(Operator):
    """Turns each inserted row into a change of the kind that its operation code names.

    Args:
        row_type: columns of the result.
        op: position of the code in the input, and its name for errors.
        codes: numbers of the changes by their codes.
        skips: whether rows of other codes are left out.
        order: positions of the input's columns in the result.
        place: place of the call in its statement, for errors. None if there is no text.
    """

    takes = BatchForm.COLUMNS

    def __init__(
        self,
        row_type: RowType,
        op: tuple[int, str],
        codes: dict[str, int],
        skips: bool,
        order: Sequence[int],
        place: SqlPosition | None = None,
    ) -> None:
        self._type, self._op, self._codes = row_type, op, codes
        self._skips, self._order, self._place = skips, order, place

    def open(self) -> None:
        self._schema = schema_of(self._type)
        self._known = pa.array(list(self._codes), pa.string())
        self._kinds = pa.array(list(self._codes.values()), pa.int8())

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        codes = batch.data.column(self._op[0])
        indexes = pc.index_in(codes, self._known.cast(codes.type))
        if indexes.null_count:
            if not self._skips:
                raise self._unknown(codes, indexes)
            known = indexes.is_valid()
            batch, indexes = batch.filter(known), indexes.filter(known)
        if not len(batch):
            return
        kinds = self._kinds.take(indexes)
        columns = [batch.data.column(index) for index in self._order]
        rows = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        self.output.emit(ColumnBatch(rows, batch.timestamps, kinds, batch.form))

    def _unknown(self, codes: Any, kinds: Any) -> JobExecutionError:
        first = codes.filter(kinds.is_null())[0].as_py()
        column = f"the column {self._op[1]!r}"
        what = (
            f"Received NULL op code in {column}. Every changelog row must carry an operation code"
            if first is None
            else f"Received invalid op code {first!r} in {column}. Defined op codes are: "
            + ", ".join(sorted(self._codes))
        )
        reason = (
            f"FROM_CHANGELOG: {what}. Map it in op_mapping, filter such rows, or leave them out "
            "with error_handling => 'SKIP'"
        )
        return JobExecutionError(reason if self._place is None else self._place.shown(reason))
