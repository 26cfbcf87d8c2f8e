"""`SinkConstraints`: checks rows against the column types of the table into which they are written.
The rows of a query's result are checked against the query's types.

Flink: ``ConstraintEnforcer``; Flink docs, "Configuration", ``table.exec.sink.*-enforcer``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.errors import JobExecutionError
from millrace.common.types.batch import ColumnBatch
from millrace.common.types.logical.logical_type import (
    ArrayType,
    CharType,
    LogicalType,
    MapType,
    MultisetType,
    RowType,
    VarBinaryType,
    VarCharType,
)
from millrace.common.types.row import RowKind

__all__ = ["SinkConstraints"]

_DELETE = RowKind.DELETE.value
_UNBOUNDED = 2**31 - 1


@dataclass(frozen=True, slots=True)
class SinkConstraints:
    """Constraints on the rows of a sink: NOT NULL and lengths.

    Attributes:
        table: name of the table, for errors; None for rows that go to the client or to a stream.
        row_type: columns of the rows.
        drops: whether rows with a forbidden NULL are left out. Else they fail the job.
        lengths: treatment of texts and bytes that do not have their column's length: IGNORE,
            TRIM_PAD or ERROR.
        nested: nested values to check: IGNORE, ROWS (fields of rows) or ROWS_AND_COLLECTIONS
            (elements of collections as well).
        keys: names of the primary key's columns. A deletion needs only these.
    """

    table: str | None
    row_type: RowType
    drops: bool = False
    lengths: str = "IGNORE"
    nested: str = "IGNORE"
    keys: frozenset[str] = frozenset()

    def enforced(self, batch: ColumnBatch) -> ColumnBatch:
        """The batch as the table's types allow it. By the settings, rows with a forbidden NULL are
        left out or an error, and texts that are too long are cut or an error.

        Raises:
            JobExecutionError: it has others, and they are not to be left out or cut.
        """
        given, columns, bad, written = batch.data.columns, list[Any](), None, _written(batch)
        for column, field in zip(given, self.row_type.fields, strict=True):
            there = None if field.name in self.keys else written
            made, missing = self._checked(column, field.type, field.name, there)
            columns.append(made)
            bad = _either(bad, missing)
        if any(one is not two for one, two in zip(columns, given, strict=True)):
            names = batch.data.schema.names
            batch = replace(batch, data=pa.RecordBatch.from_arrays(columns, names))
        return batch if bad is None else batch.filter(pc.invert(bad))

    def _checked(self, column: Any, kind: LogicalType, name: str, there: Any) -> tuple[Any, Any]:
        """The column, perhaps with trimmed or padded values, and flags of the rows with a forbidden
        NULL. The flags are None if there is no such row.

        Args:
            there: flags of the values that must not be NULL; values within a row that is NULL may
                be. None if all must not be.
        """
        missing = None
        if not kind.is_nullable and column.null_count:
            missing = self._missing(column, name, there)
        if self.lengths != "IGNORE":
            column = self._of_length(column, kind, name)
        if self.nested != "IGNORE" and isinstance(kind, RowType):
            for number, field in enumerate(kind.fields):
                given = pc.struct_field(column, number)
                whole = column.is_valid() if column.null_count else None
                made, below = self._checked(given, field.type, f"{name}.{field.name}", whole)
                missing = _either(missing, below)
                if made is not given:
                    column = _with_field(column, number, made)
        if self.nested == "ROWS_AND_COLLECTIONS":
            for values, owners, element, place in _elements(column, kind):
                below = self._checked(values, element, f"{name}{place}", None)[1]
                missing = _either(missing, _of_owners(below, owners, len(column)))
        return column, missing

    @property
    def _target(self) -> str:
        """Where the rows go, for errors."""
        return "the query" if self.table is None else f"table {self.table!r}"

    def _missing(self, column: Any, name: str, there: Any) -> Any:
        missing = column.is_null() if there is None else pc.and_(column.is_null(), there)
        if not pc.any(missing).as_py():
            return None
        if self.drops:
            return missing
        # a result can have another type, a table cannot
        wider = ", or use TRY_CAST if a CAST gives NULL" if self.table is None else ""
        raise JobExecutionError(
            f"Column {name!r} of {self._target} is NOT NULL, however, a null value is being "
            "written into it. Leave such rows out in the query, or silently by "
            f"'table.exec.sink.not-null-enforcer' = 'DROP'{wider}"
        )

    def _of_length(self, column: Any, kind: LogicalType, name: str) -> Any:
        """The column, with texts and bytes trimmed or padded to the length of its type."""
        if not isinstance(kind, CharType | VarCharType | VarBinaryType):
            return column
        if kind.length is None or kind.length >= _UNBOUNDED:
            return column
        is_text = not isinstance(kind, VarBinaryType)
        lengths = pc.utf8_length(column) if is_text else pc.binary_length(column)
        wrong = pc.greater(lengths, kind.length)
        if isinstance(kind, CharType):
            wrong = pc.not_equal(lengths, kind.length)
        if not pc.any(wrong).as_py():
            return column
        if self.lengths == "ERROR":
            shown = str(kind.with_nullable(True))
            length = lengths.filter(wrong)[0].as_py()
            raise JobExecutionError(
                f"Column {name!r} of {self._target} is {shown}, however, a string of length "
                f"{length} is being written into it. Cut it in the query, or set "
                "'table.exec.sink.type-length-enforcer' = 'TRIM_PAD'"
            )
        if not is_text:
            return pc.binary_slice(column, 0, kind.length)
        cut = pc.utf8_slice_codeunits(column, 0, kind.length)
        return pc.utf8_rpad(cut, kind.length) if isinstance(kind, CharType) else cut


def _elements(column: Any, kind: LogicalType) -> Iterator[tuple[Any, Any, LogicalType, str]]:
    """Elements of a column of collections, the row of each element, the element type, and its
    place in messages."""
    if isinstance(kind, MultisetType):
        yield *_entries(column, column.keys), kind.element_type, "[element]"
    elif isinstance(kind, ArrayType):
        owners = pc.list_parent_indices(column)
        yield pc.list_flatten(column), owners, kind.element_type, "[element]"
    elif isinstance(kind, MapType):
        yield *_entries(column, column.keys), kind.key_type, "[key]"
        yield *_entries(column, column.items), kind.value_type, "[value]"


def _entries(column: Any, values: Any) -> tuple[Any, Any]:
    """Keys or items of a column of maps, and the row of each."""
    offsets = column.offsets.to_numpy()
    owners = pa.array(np.repeat(np.arange(len(column)), np.diff(offsets)))
    return values.slice(offsets[0], offsets[-1] - offsets[0]), owners


def _of_owners(missing: Any, owners: Any, count: int) -> Any:
    """Flags of the rows with a missing element."""
    if missing is None:
        return None
    rows = np.zeros(count, np.bool_)
    rows[owners.filter(missing).to_numpy(zero_copy_only=False)] = True
    return pa.array(rows)


def _either(one: Any, other: Any) -> Any:
    if one is None or other is None:
        return other if one is None else one
    return pc.or_(one, other)


def _with_field(column: Any, number: int, values: Any) -> Any:
    """The column of rows with new values of one field."""
    fields = list(column.type)
    arrays = [pc.struct_field(column, index) for index in range(len(fields))]
    arrays[number] = values
    return pa.StructArray.from_arrays(arrays, fields=fields, mask=column.is_null())


def _written(batch: ColumnBatch) -> Any:
    """Flags of the rows that are written in full. Deletions by key have NULL in the other
    columns."""
    return None if batch.row_kinds is None else pc.not_equal(batch.row_kinds, _DELETE)
