"""Records as changes: the effect of row kinds in sinks that write by key."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from millrace.common.types.row import Row, RowKind

__all__ = ["ReplacedRows", "additions"]


class ReplacedRows:
    """Rows of the kind ``UPDATE_BEFORE`` in an epoch for which no later row with the same key has
    come yet.

    Such a row is left out if one with its key follows, because that replaces it. Otherwise it is
    deleted, as by Flink's sinks: the update has changed its key, or a filter has left out the row
    after the update.
    """

    def __init__(self) -> None:
        self._rows: dict[Any, Any] = {}

    def changes(
        self, values: Sequence[Any], key_of: Callable[[Any], Any]
    ) -> Iterator[tuple[bool, Any]]:
        """Pairs of a flag and a record: True to write the record, False to delete it. A record
        without a row kind is written.

        Args:
            key_of: function that returns the key of a record, which can be hashed.
        """
        rows = self._rows
        for value in values:
            kind = value.get_row_kind() if isinstance(value, Row) else RowKind.INSERT
            if kind is RowKind.UPDATE_BEFORE:
                rows[key_of(value)] = value
                continue
            if rows:
                rows.pop(key_of(value), None)
            yield kind is not RowKind.DELETE, value

    def take(self) -> list[Any]:
        """The ``UPDATE_BEFORE`` records that, at the end of an epoch, no record with the same key
        has followed. They must be deleted.
        """
        rows, self._rows = self._rows, {}
        return list(rows.values())


def additions(values: Sequence[Any]) -> Iterator[tuple[bool, Any]]:
    """Pairs of a flag and a record: True to add the record, False to retract it. It is for sums,
    from which ``UPDATE_BEFORE`` records must be retracted as well.
    """
    back = (RowKind.UPDATE_BEFORE, RowKind.DELETE)
    for value in values:
        yield not (isinstance(value, Row) and value.get_row_kind() in back), value
