"""Bulk writer for files of an encoder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, BinaryIO

from millrace.common.serialization import BulkWriter, Encoder
from millrace.common.types.batch import ColumnBatch

__all__ = ["EncoderBulkWriter"]


class EncoderBulkWriter(BulkWriter[Any]):
    """A bulk writer of an encoder's output, which has no footer."""

    def __init__(self, stream: BinaryIO, encoder: Encoder[Any]) -> None:
        self._stream = stream
        self._encoder = encoder

    def add_elements(self, elements: Sequence[Any]) -> None:
        self._stream.write(self._encoder.encode_all(elements))

    def add_columns(self, batch: ColumnBatch) -> None:
        self._stream.write(self._encoder.encode_columns(batch))

    def flush(self) -> None:
        self._stream.flush()

    def finish(self) -> None:
        self._stream.flush()
