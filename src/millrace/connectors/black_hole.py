"""`BlackHoleSink`: drops all rows of a table."""

from __future__ import annotations

from typing import Any

from millrace.common.sink import Sink, SinkWriter, WriterContext
from millrace.common.types.batch import BatchForm, ColumnBatch

__all__ = ["BlackHoleSink"]


class BlackHoleSink(Sink[Any]):
    """Drops all rows."""

    takes = BatchForm.COLUMNS

    def create_writer(self, context: WriterContext, state: Any) -> SinkWriter[Any]:
        return _Writer()


class _Writer(SinkWriter[Any]):
    def write_columns(self, batch: ColumnBatch) -> None:
        """Drop the batch."""
