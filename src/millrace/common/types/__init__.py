"""Types of records, keys and state, including PyFlink's ``pyflink.common.types``."""

from __future__ import annotations

from millrace.common.types.row import Row, RowKind

__all__ = [
    "Row",
    "RowKind",
]
