"""Avro files as a source. Flink docs: "Avro format"."""

from __future__ import annotations

import os
from collections.abc import Sequence
from io import BytesIO
from itertools import pairwise
from typing import Any, BinaryIO

from millrace.common.errors import SerializationError
from millrace.common.types.batch import Batch, ColumnBatch, RowBatch
from millrace.common.types.result_type_queryable import ResultTypeQueryable
from millrace.common.types.type_information import TypeInformation
from millrace.common.types.typeinfo import Types
from millrace.filesystem.registry import file_system_of
from millrace.formats.avro.avro_decoder import AvroDecoder
from millrace.formats.avro.avro_schema import AvroSchema, require_avro_schema
from millrace.formats.avro.avro_type import takes_no_bytes
from millrace.formats.avro.codecs import decompressed
from millrace.formats.avro.container import SYNC_BYTES, FileHeader, find_marker, read_block
from millrace.formats.avro.container import read_header as header_of
from millrace.formats.avro.record_type_info import GenericRecordAvroTypeInfo
from millrace.formats.file_format import BulkFormat, FileRange, FormatReader
from millrace.formats.malformed_record import MalformedRecordError
from millrace.formats.records import require_record_type

__all__ = ["AvroInputFormat"]

_WHOLE = 1 << 62
_MAX_EMPTY = 1 << 20


class AvroInputFormat(BulkFormat[Any], ResultTypeQueryable):
    """Reads each record of an Avro container file as a dict or `Row`; files are split at blocks.

    Args:
        path: file or directory for `StreamExecutionEnvironment.create_input`; a `FileSource` has
            paths of its own.
        schema: schema of the records; None for the schema of each file. Records of files with
            another schema are resolved to it, as the Avro specification says.
        record_type: ``dict`` or ``Row``.
        columnar: keep records in columns for `DataStream.map_batches`, where no field is a map, a
            record or a union of several types.

    Raises:
        JobDefinitionError: the schema is not that of a record, or the record type is neither.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        schema: AvroSchema | None = None,
        record_type: type[Any] = dict,
        columnar: bool = False,
    ) -> None:
        self.path = path
        self._schema = None if schema is None else require_avro_schema(schema, "AvroInputFormat")
        self._record_type = require_record_type(record_type)
        self._columnar = columnar

    def get_produced_type(self) -> TypeInformation[Any]:
        """The type of the records; a generic type if each file has a schema of its own."""
        if self._schema is None:
            return Types.PICKLED_BYTE_ARRAY()
        return GenericRecordAvroTypeInfo(self._schema)

    def ranges(self, path: str, size: int, split_size: int) -> Sequence[FileRange]:
        pieces = max(1, round(size / split_size))
        bounds = [size * i // pieces for i in range(pieces)] + [_WHOLE]
        return [FileRange(a, b) for a, b in pairwise(bounds)]

    def open(self, path: str, file_range: FileRange, position: Any) -> FormatReader[Any]:
        stream = file_system_of(path).open(path)
        try:
            header = header_of(stream)
            decoder = AvroDecoder(
                header.schema, self._schema or header.schema, self._record_type, self._columnar
            )
        except BaseException:
            stream.close()
            raise
        return AvroFileReader(stream, header, decoder, file_range, position)


class AvroFileReader(FormatReader[Any]):
    """Reads the blocks that follow the markers in a range of the file. Its position is the start of
    a block, and the number of records read from this block.
    """

    def __init__(
        self,
        stream: BinaryIO,
        header: FileHeader,
        decoder: AvroDecoder,
        file_range: FileRange,
        position: tuple[int, int] | None,
    ) -> None:
        self._stream = stream
        self._header = header
        self._decoder = decoder
        self._end = file_range.end
        self._records: BytesIO | None = None
        """Records of the open block."""
        self._left = 0
        self._block_end = 0
        self._finished = False
        self._pending: MalformedRecordError | None = None
        if position is None:
            self._at, self._read = 0, 0
            self._go_to_marker(max(file_range.start, header.end - SYNC_BYTES))
        else:
            self._at, self._read = position
            self._finished = self._is_behind(self._at)

    def read(self, max_records: int) -> RowBatch[Any] | ColumnBatch:
        self.skipped = 0
        batch: Batch = RowBatch([])
        while not len(batch) and not self.skipped and not self._finished and max_records > 0:
            if self._records is None and not self._open_block():
                continue
            batch = self._some(min(self._left, max_records))
            if self._left == 0:
                self._go_behind(self._block_end)
        return batch

    def position(self) -> tuple[int, int]:
        return self._at, self._read

    def finished(self) -> bool:
        return self._finished

    def close(self) -> None:
        self._stream.close()

    def _open_block(self) -> bool:
        """Unpack the next block, and skip its records that are read already; False if there is
        no block here."""
        self._stream.seek(self._at)
        try:
            block = read_block(self._stream, self._header.marker)
            data = decompressed(self._header.codec, block.data)
            if block.count > max(len(data), _MAX_EMPTY if self._is_empty() else 0):
                raise SerializationError(f"{block.count} records in a block of {len(data)} bytes")
        except SerializationError as error:
            self._lose(error, self._at + 1)
            return False
        self._records, self._left, self._block_end = BytesIO(data), block.count, block.end
        if self._read:
            passed = min(self._read, self._left)
            self._decoder.read_many(self._records, passed)
            self._left -= passed
        return True

    def _is_empty(self) -> bool:
        return takes_no_bytes(self._header.schema.type)

    def _some(self, count: int) -> Batch:
        """Next records of the block; one by one if some cannot be read."""
        assert self._records is not None
        start = self._records.tell()
        try:
            batch = self._decoder.batch_of(self._decoder.read_many(self._records, count))
        except Exception as error:  # whatever fastavro makes of damaged bytes
            self._records.seek(start)
            if count > 1:
                return self._some(max(1, count // 2))
            self._lose_one(error, start)
            return RowBatch([])
        self._read += count
        self._left -= count
        return batch

    def _lose_one(self, error: Exception, start: int) -> None:
        """Skip an unreadable record. If only its value is invalid, the next record can be read;
        if its bytes are damaged, the rest of the block is lost."""
        assert self._records is not None
        self._records.seek(start)
        reason = f"{type(error).__name__}: {error}"
        try:
            self._decoder.read_many(self._records, 1)
        except Exception:
            reason = f"damaged Avro, {self._left} records of a block are lost: {reason}"
            self._lose(SerializationError(reason), self._block_end)
        else:
            data = self._records.getvalue()[start : self._records.tell()]
            reason = f"record {self._read + 1} of the block: {reason}"
            self.malformed(MalformedRecordError(reason, data, self._at))
            self._read += 1
            self._left -= 1

    def _lose(self, error: SerializationError, marker_from: int) -> None:
        at = self._at
        self.malformed(MalformedRecordError(f"damaged Avro: {error}", None, at))
        self._go_to_marker(marker_from)

    def _go_to_marker(self, start: int) -> None:
        position = find_marker(self._stream, self._header.marker, start)
        self._records, self._read, self._left = None, 0, 0
        if position is None or position >= self._end:
            self._finished = True
        else:
            self._go_behind(position)

    def _go_behind(self, marker: int) -> None:
        """Move to the block after a marker."""
        self._records, self._read, self._left = None, 0, 0
        self._at = marker + SYNC_BYTES
        self._finished = marker >= self._end or self._is_behind(self._at)

    def _is_behind(self, at: int) -> bool:
        """Whether the file ends at or before this position."""
        self._stream.seek(at)
        return not self._stream.read(1)
