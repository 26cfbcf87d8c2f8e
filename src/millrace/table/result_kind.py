"""What kind of result a statement has. Flink: ``ResultKind``."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["ResultKind"]


class ResultKind(IntEnum):
    """Whether there is more to a result than that the statement was carried out."""

    SUCCESS = 0
    """As of DDL, USE and SET; printed as ``OK``."""
    SUCCESS_WITH_CONTENT = 1
    """Rows, as of SELECT, SHOW and EXPLAIN."""
