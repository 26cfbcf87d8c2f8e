"""Types of records, keys and state; what PyFlink has in ``pyflink.common.types`` is here."""

from __future__ import annotations

from millrace.common.types.row import Row, RowKind

__all__ = [
    "Row",
    "RowKind",
]
