"""`change_rows`: deletes or replaces rows of an Iceberg table by key, in one transaction."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from millrace.common.errors import JobExecutionError
from millrace.connectors.iceberg.table import IcebergOptions

if TYPE_CHECKING:
    import pyarrow
    from pyiceberg.table import Table

__all__ = ["any_of", "change_rows"]


_ATTEMPTS = 5
"""Attempts of a commit; Iceberg's ``commit.retry.num-retries`` allows as many."""


def change_rows(
    options: IcebergOptions,
    keys: Sequence[str],
    rows: pyarrow.RecordBatch | None,
    deletes: bool,
    read: int | None = None,
) -> None:
    """Change the rows with the given keys. Keys that the table does not have are not added, and
    columns that are not given keep their values.

    Args:
        rows: rows to delete, by their keys, or to replace the rows of their keys; None to delete
            every row.
        read: id of the snapshot from which the rows were made, or of an earlier one.

    Raises:
        ConfigurationError: there is no such table.
        JobExecutionError: somebody else has changed these rows after that snapshot, or does not
            cease to change the table.
    """
    from pyiceberg.exceptions import CommitFailedException

    if rows is not None and not rows.num_rows:
        return
    for _ in range(_ATTEMPTS):
        try:
            return _change_rows(options, keys, rows, deletes, read)
        except CommitFailedException:
            continue  # somebody else was faster: look at the table again
    raise JobExecutionError(
        f"other programs added snapshots to table {options.table} while its rows were being "
        f"rewritten, {_ATTEMPTS} times; nothing was changed, so run the statement again"
    )


def _change_rows(
    options: IcebergOptions,
    keys: Sequence[str],
    rows: pyarrow.RecordBatch | None,
    deletes: bool,
    read: int | None,
) -> None:
    import pyarrow as pa
    from pyiceberg.expressions import AlwaysTrue
    from pyiceberg.table import TableProperties

    table = options.open()
    # a commit is refused unless it replaces the snapshot that is looked at here
    table.metadata.properties[TableProperties.COMMIT_NUM_RETRIES] = "0"
    wanted: Any = AlwaysTrue()
    if rows is not None:
        wanted = any_of(pa.Table.from_batches([rows]).select(list(keys)))
        if read is not None:
            _require_unchanged(table, wanted, read, options.table)
    replaced = None
    if rows is not None and not deletes:
        replaced = _replaced(table.scan(row_filter=wanted).to_arrow(), keys, rows)
        if not replaced.num_rows:
            return
    with warnings.catch_warnings(), table.transaction() as transaction:
        warnings.simplefilter("ignore")  # it warns of keys that no row has
        transaction.delete(wanted)
        if replaced is not None:
            transaction.append(replaced)


def _require_unchanged(table: Table, wanted: Any, read: int, name: str) -> None:
    """Fail if the rows with these keys differ from those in the snapshot that was read."""
    current = table.current_snapshot()
    if current is not None and current.snapshot_id == read:
        return

    def rows_at(snapshot: int | None) -> list[str]:
        rows = table.scan(row_filter=wanted, snapshot_id=snapshot).to_arrow().to_pylist()
        return sorted(map(repr, rows))

    if table.snapshot_by_id(read) is None or rows_at(read) != rows_at(None):
        raise JobExecutionError(
            f"another program has changed rows of table {name} that this statement changes, "
            "after the statement had looked for them; nothing was changed, so run the statement "
            "again"
        )


def _replaced(
    matching: pyarrow.Table, keys: Sequence[str], rows: pyarrow.RecordBatch
) -> pyarrow.Table:
    """Matching rows with the new values of their key."""
    import pyarrow as pa

    def keys_of(columns: Any) -> list[tuple[Any, ...]]:
        return list(zip(*(columns.column(key).to_pylist() for key in keys), strict=True))

    places = {key: place for place, key in enumerate(keys_of(rows))}
    at = pa.array([places[key] for key in keys_of(matching)], pa.int64())
    for number, field in enumerate(matching.schema):
        if field.name in rows.schema.names and field.name not in keys:
            values = rows.column(field.name).take(at).cast(field.type)
            matching = matching.set_column(number, field, values)
    return matching


def any_of(keys: pyarrow.Table) -> Any:
    """Condition on a row: its key is one of the given keys."""
    from pyiceberg.expressions import AlwaysFalse, AlwaysTrue, And, EqualTo, In, Or

    names = keys.schema.names
    if len(names) == 1:
        return In(names[0], keys.column(0).to_pylist())  # type: ignore[call-arg]
    conditions: list[Any] = []
    for row in keys.to_pylist():
        same: Any = AlwaysTrue()
        for name, value in row.items():
            same = And(same, EqualTo(name, value))  # type: ignore[call-arg]
        conditions.append(same)
    while len(conditions) > 1:  # as a tree: a chain would be too deep for Python
        pairs = [conditions[place : place + 2] for place in range(0, len(conditions), 2)]
        conditions = [Or(*pair, AlwaysFalse()) for pair in pairs]
    return conditions[0]
