"""Records as changes: the effect of row kinds in sinks that write by key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from millrace.common.types.row import Row, RowKind

__all__ = ["additions", "changes"]


def changes(values: Sequence[Any]) -> Iterator[tuple[bool, Any]]:
    """Pairs of a flag and a record: True to write the record, False to delete it.

    What has no row kind is written. ``UPDATE_BEFORE`` is left out, as by Flink's upsert sinks: the
    ``UPDATE_AFTER`` behind it writes to the same key.
    """
    for value in values:
        kind = value.get_row_kind() if isinstance(value, Row) else RowKind.INSERT
        if kind is not RowKind.UPDATE_BEFORE:
            yield kind is not RowKind.DELETE, value


def additions(values: Sequence[Any]) -> Iterator[tuple[bool, Any]]:
    """Pairs of a flag and a record: True to add the record, False to retract it. For sums, which
    must also retract ``UPDATE_BEFORE``."""
    back = (RowKind.UPDATE_BEFORE, RowKind.DELETE)
    for value in values:
        yield not (isinstance(value, Row) and value.get_row_kind() in back), value
