"""Decodes the buffers of one channel of an epoch, in their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millrace.common.types.batch import Batch, RowBatch
from millrace.runtime.buffer import Buffer, BufferKind
from millrace.state.serialization.payload import decode

if TYPE_CHECKING:
    from millrace.runtime.column_stream import ColumnStreamReader


class ChannelReader:
    """Turns buffers back into batches; remembers the schema of columns."""

    def __init__(self) -> None:
        self._columns: ColumnStreamReader | None = None

    def read(self, buffer: Buffer) -> Batch:
        """The batch in a buffer."""
        if buffer.kind == BufferKind.RECORDS:
            return RowBatch(*decode(buffer.payload))
        if buffer.kind == BufferKind.COLUMNS_BEGIN:
            # jobs without columns do without pyarrow, which takes time to import
            from millrace.runtime.column_stream import ColumnStreamReader

            self._columns = ColumnStreamReader()
        assert self._columns is not None
        return self._columns.read(buffer.payload)
