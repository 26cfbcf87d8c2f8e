"""`change_rows`: deletes or replaces rows of an Iceberg table by key, in one transaction."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from millrace.connectors.iceberg.table import IcebergOptions

if TYPE_CHECKING:
    import pyarrow

__all__ = ["any_of", "change_rows"]


def change_rows(
    options: IcebergOptions, keys: Sequence[str], rows: pyarrow.RecordBatch | None, deletes: bool
) -> None:
    """Change the rows with these keys; what the table does not have is not added, and columns that
    are not given stay as they are.

    Args:
        rows: to be deleted, of which the keys are looked at, or to be written over those of their
            keys; None: delete every row.

    Raises:
        ConfigurationError: there is no such table.
        pyiceberg.exceptions.CommitFailedException: somebody else has changed it meanwhile.
    """
    import pyarrow as pa
    from pyiceberg.expressions import AlwaysTrue
    from pyiceberg.table import TableProperties

    if rows is not None and not rows.num_rows:
        return
    table = options.open()
    # what is read here must be what is replaced; a change since the query itself is not seen
    table.metadata.properties[TableProperties.COMMIT_NUM_RETRIES] = "0"
    wanted: Any = AlwaysTrue()
    if rows is not None:
        wanted = any_of(pa.Table.from_batches([rows]).select(list(keys)))
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


def _replaced(
    found: pyarrow.Table, keys: Sequence[str], rows: pyarrow.RecordBatch
) -> pyarrow.Table:
    """Rows that were found with the new values of their key."""
    import pyarrow as pa

    def keys_of(columns: Any) -> list[tuple[Any, ...]]:
        return list(zip(*(columns.column(key).to_pylist() for key in keys), strict=True))

    places = {key: place for place, key in enumerate(keys_of(rows))}
    at = pa.array([places[key] for key in keys_of(found)], pa.int64())
    for number, field in enumerate(found.schema):
        if field.name in rows.schema.names and field.name not in keys:
            values = rows.column(field.name).take(at).cast(field.type)
            found = found.set_column(number, field, values)
    return found


def any_of(keys: pyarrow.Table) -> Any:
    """The condition that a row has one of the keys."""
    from pyiceberg.expressions import AlwaysFalse, AlwaysTrue, And, EqualTo, In, Or

    names = keys.schema.names
    if len(names) == 1:
        return In(names[0], keys.column(0).to_pylist())  # type: ignore[call-arg]
    each: list[Any] = []
    for row in keys.to_pylist():
        same: Any = AlwaysTrue()
        for name, value in row.items():
            same = And(same, EqualTo(name, value))  # type: ignore[call-arg]
        each.append(same)
    while len(each) > 1:  # as a tree: a chain would be too deep for Python
        pairs = [each[place : place + 2] for place in range(0, len(each), 2)]
        each = [Or(*pair, AlwaysFalse()) for pair in pairs]
    return each[0]
