"""Records as rows of a table: values in column order, and markers of deletes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from millrace.common.types.batch import Batch, ColumnBatch
from millrace.common.types.row import Row, RowKind, shared_names
from millrace.connectors.jdbc.client import JdbcError

__all__ = ["JdbcRows", "table_rows"]

_GONE = frozenset({RowKind.UPDATE_BEFORE.value, RowKind.DELETE.value})


class JdbcRows(NamedTuple):
    """Values of each row, and flags of the rows that are deletes; None if no row is."""

    rows: list[tuple[Any, ...]]
    deleted: list[bool] | None


def table_rows(batch: Batch, columns: Sequence[str], keyed: bool) -> JdbcRows:
    """The rows of a batch.

    Args:
        columns: names of fields; of records without names, the number of fields counts.
        keyed: whether changes can be told from new rows.

    Raises:
        JdbcError: a record has other fields, or is a change though there is no key.
    """
    if isinstance(batch, ColumnBatch):
        found = _of_columns(batch, columns)
    else:
        found = _of_rows(batch.values, columns)
    if found.deleted is not None and not keyed:
        raise JdbcError(
            "the stream has rows of the kind UPDATE_BEFORE or DELETE, and the sink has no "
            "key by which it finds the rows to delete: set with_key(...)"
        )
    return found


def _of_columns(batch: ColumnBatch, columns: Sequence[str]) -> JdbcRows:
    data = batch.data
    if set(columns) <= set(data.schema.names):
        data = data.select(list(columns))
    elif data.num_columns != len(columns):
        raise _misfit(data.schema.names, columns)
    rows = list(zip(*(column.to_pylist() for column in data.columns), strict=True))
    kinds = batch.row_kinds
    if kinds is None:
        return JdbcRows(rows, None)
    deleted = [kind in _GONE for kind in kinds.to_pylist()]
    return JdbcRows(rows, deleted if any(deleted) else None)


def _of_rows(records: Sequence[Any], columns: Sequence[str]) -> JdbcRows:
    own = (None, shared_names(tuple(columns)))
    if all(type(record) is Row and record._fields in own for record in records):
        rows = [tuple(record._values) for record in records]
    else:
        rows = [_values(record, columns) for record in records]
    for values, record in zip(rows, records, strict=True):
        if len(values) != len(columns):
            raise _misfit(record, columns)
    deleted = [isinstance(r, Row) and r._row_kind.value in _GONE for r in records]
    return JdbcRows(rows, deleted if any(deleted) else None)


def _values(record: Any, columns: Sequence[str]) -> tuple[Any, ...]:
    if isinstance(record, dict):
        return tuple(map(record.get, columns))
    if isinstance(record, Row) and set(columns) <= set(record._fields or ()):
        return tuple(record.get_fields_by_names(columns))
    if isinstance(record, (Row, tuple, list)):
        return tuple(record)
    if len(columns) == 1:
        return (record,)
    raise _misfit(record, columns)


def _misfit(record: Any, columns: Sequence[str]) -> JdbcError:
    return JdbcError(
        f"a record does not fit the columns {', '.join(columns)}: {record!r}; make the type "
        "of the sink and the stream's records agree"
    )
