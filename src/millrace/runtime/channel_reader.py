"""Decoder of the buffers of one channel of an epoch, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millrace.common.types.batch import Batch, ImmutableRows, RowBatch
from millrace.runtime.buffer import Buffer, BufferKind
from millrace.state.serialization.payload import COLUMNS, decode

if TYPE_CHECKING:
    from millrace.runtime.column_stream import ColumnStreamReader


class ChannelReader:
    """Decodes buffers to batches, and remembers the schema of columns."""

    def __init__(self) -> None:
        self._columns: ColumnStreamReader | None = None

    def read(self, buffer: Buffer) -> Batch:
        """Batch of a buffer."""
        if buffer.kind == BufferKind.RECORDS:
            # a column has plain values, or tuples of such
            kind = ImmutableRows if buffer.payload[:1] == COLUMNS else RowBatch
            return kind(*decode(buffer.payload))
        if buffer.batch is not None:
            return buffer.batch
        if buffer.kind == BufferKind.COLUMNS_BEGIN:
            # jobs without columns do without pyarrow, which takes time to import
            from millrace.runtime.column_stream import ColumnStreamReader

            self._columns = ColumnStreamReader()
        assert self._columns is not None
        return self._columns.read(buffer.payload)
