"""The format of a savepoint (Flink: enum ``SavepointFormatType``)."""

from __future__ import annotations

from enum import Enum

__all__ = ["SavepointFormatType"]


class SavepointFormatType(Enum):
    """Format of a savepoint (Flink docs, "Savepoints").

    Example:
        >>> SavepointFormatType("NATIVE")
        <SavepointFormatType.NATIVE: 'NATIVE'>
    """

    CANONICAL = "CANONICAL"
    """Parquet and JSON: outlives versions, is read by other tools, and safe to open."""
    NATIVE = "NATIVE"
    """The format of checkpoints: quick to write, but only for readers who trust the job."""
