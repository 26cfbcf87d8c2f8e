"""Upserts: staged files of rows with their kinds, and the last row of each key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.types.row import RowKind
from millrace.filesystem.registry import file_system_of

if TYPE_CHECKING:
    import pyarrow

__all__ = [
    "DELETES",
    "KIND",
    "last_rows",
    "require_columns",
    "require_equals",
    "require_keys",
    "staged_changes",
    "with_kinds",
]

KIND = "__row_kind"
"""The column of staged files with the number of each row's kind."""
DELETES = (RowKind.UPDATE_BEFORE.value, RowKind.DELETE.value)
"""The kinds of rows that take something away."""
_NUMBER = "__number"


def require_columns(keys: Sequence[str] | None, schema: pyarrow.Schema, table: str) -> None:
    """Refuse keys that are not columns.

    Raises:
        JobDefinitionError: there is no such column, or no key at all.
    """
    if keys is not None and not keys:
        raise JobDefinitionError("upsert_keys is empty: it names the columns of a row's key")
    for key in keys or ():
        if key not in schema.names:
            raise JobDefinitionError(
                f"upsert_keys names {key!r}; table {table} has {', '.join(schema.names)}"
            )


def require_keys(data: pyarrow.RecordBatch, keys: Sequence[str], table: str) -> None:
    """Refuse rows without a key, which cannot be matched with other rows.

    Raises:
        SerializationError: a column of the key is null or NaN.
    """
    require_equals(data, keys, "in the upsert_keys", table)
    for key in keys:
        if data.column(key).null_count:
            raise SerializationError(
                f"column {key!r} is in the upsert_keys of table {table} and must not be null"
            )


def require_equals(data: pyarrow.RecordBatch, names: Sequence[str], role: str, table: str) -> None:
    """Refuse NaN in columns that identify rows, because NaN is not equal to itself.

    Args:
        role: role of these columns in the table, for the message.

    Raises:
        SerializationError: there is one.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    for name in names:
        column = data.column(name)
        if pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py():
            raise SerializationError(f"column {name!r} is {role} of table {table} and is NaN")


def with_kinds(columns: Any, row_kinds: pyarrow.Int8Array | None = None) -> Any:
    """A schema or record batch with an added column of row kinds (None means that all rows are
    inserts)."""
    import pyarrow as pa

    if isinstance(columns, pa.Schema):
        return columns.append(pa.field(KIND, pa.int8()))
    if row_kinds is None:
        row_kinds = pa.array([0] * columns.num_rows, pa.int8())
    return columns.append_column(KIND, row_kinds)


def last_rows(files: Sequence[Any], keys: Sequence[str]) -> pyarrow.Table:
    """The last row of each key in staged files, with its kind.

    A key's records come from one subtask, so files in the order of epochs have them in theirs.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables = []
    for item in files:
        location = f"{item['directory']}/{item['path']}"
        with file_system_of(location).open(location) as file:
            tables.append(pq.read_table(file))
    rows = pa.concat_tables(tables)
    numbered = rows.append_column(_NUMBER, pa.array(range(rows.num_rows), pa.int64()))
    last = numbered.group_by(list(keys)).aggregate([(_NUMBER, "max")])
    return rows.take(last.column(f"{_NUMBER}_max").combine_chunks().sort())


def staged_changes(
    files: Sequence[Any], keys: Sequence[str]
) -> tuple[pyarrow.Table, pyarrow.Table]:
    """The last rows that are not deletes, and the keys of all changed rows."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = last_rows(files, keys)
    deleted = pc.is_in(rows.column(KIND), pa.array(DELETES, pa.int8()))
    return rows.filter(pc.invert(deleted)).drop_columns([KIND]), rows.select(list(keys))
