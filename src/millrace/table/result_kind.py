"""Kind of a statement's result. Flink: ``ResultKind``."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["ResultKind"]


class ResultKind(IntEnum):
    """Whether a result has more content than the statement's success."""

    SUCCESS = 0
    """The result of DDL, USE and SET; printed as ``OK``."""
    SUCCESS_WITH_CONTENT = 1
    """Rows, as of SELECT, SHOW and EXPLAIN."""
