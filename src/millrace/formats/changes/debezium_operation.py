"""Rows of Debezium's messages, by their ``op``. Flink docs: "Debezium format"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.formats.changes.change_schema import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE

__all__ = ["debezium_changes"]

_NO_ROWS = frozenset({"t", "m"})
"""Operations without rows: truncated tables, and log messages."""


def debezium_changes(op: str, before: Any, after: Any) -> Sequence[tuple[int, Any]]:
    """Rows of a message, each with the number of its `RowKind`.

    Args:
        op: ``c`` or ``r`` for a row that is there now, ``u``, ``d``; ``t`` and ``m`` are no rows.
        before: row before the change; None if the message has none.
        after: row after the change; None if the message has none.

    Raises:
        ValueError: the operation is unknown, or a row is missing.

    >>> debezium_changes("u", "old", "new")
    ((1, 'old'), (2, 'new'))
    """
    if op in ("c", "r"):
        return ((INSERT, _present(after, "after", op)),)
    if op == "u":
        old = _present(before, "before", op)
        return (UPDATE_BEFORE, old), (UPDATE_AFTER, _present(after, "after", op))
    if op == "d":
        return ((DELETE, _present(before, "before", op)),)
    if op in _NO_ROWS:
        return ()
    raise ValueError(f"its op {op!r} is not one of c, r, u and d")


def _present(row: Any, name: str, op: str) -> Any:
    if row is None:
        hint = ""
        if name == "before":
            hint = "; a PostgreSQL table needs REPLICA IDENTITY FULL to tell of it"
        raise ValueError(f"its {name!r} is null, although its op is {op!r}{hint}")
    return row
