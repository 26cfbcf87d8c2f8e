"""Records as changes: what a sink that writes by key makes of the kinds of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from millrace.common.types.row import Row, RowKind

__all__ = ["additions", "changes"]


def changes(values: Sequence[Any]) -> Iterator[tuple[bool, Any]]:
    """Pairs of whether a record is written (or else deleted), and the record.

    What has no row kind is written. ``UPDATE_BEFORE`` is left out, as by Flink's upsert sinks: the
    ``UPDATE_AFTER`` behind it writes to the same key.
    """
    for value in values:
        kind = value.get_row_kind() if isinstance(value, Row) else RowKind.INSERT
        if kind is not RowKind.UPDATE_BEFORE:
            yield kind is not RowKind.DELETE, value


def additions(values: Sequence[Any]) -> Iterator[tuple[bool, Any]]:
    """Pairs of whether a record is added (or else taken back), and the record: for sums, which
    need ``UPDATE_BEFORE``, too."""
    back = (RowKind.UPDATE_BEFORE, RowKind.DELETE)
    for value in values:
        yield not (isinstance(value, Row) and value.get_row_kind() in back), value
