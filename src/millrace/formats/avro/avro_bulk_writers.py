"""Avro files as a sink's parts. Flink docs: "Avro format"."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from io import SEEK_END
from typing import Any, BinaryIO

from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.serialization import (
    BulkWriter,
    JoiningBulkWriterFactory,
    RowDataBulkWriterFactory,
)
from millrace.common.types.composite_types import RowTypeInfo
from millrace.formats.avro.avro_row import RowEncoder
from millrace.formats.avro.avro_schema import AvroSchema, require_avro_schema
from millrace.formats.avro.codecs import CODECS
from millrace.formats.avro.container import (
    SYNC_BYTES,
    block_bytes,
    header_bytes,
    read_block,
    read_header,
    varint,
)
from millrace.formats.avro.row_types import avro_definition, row_type_of

__all__ = ["AvroBulkWriters"]

_BLOCK_BYTES = 1 << 16


class AvroBulkWriters:
    """Makes factories of Avro writers for `FileSink.for_bulk_format`.

    Records are dicts, Rows, tuples, named tuples or dataclass instances.
    """

    @staticmethod
    def for_generic_record(schema: AvroSchema, codec: str = "deflate") -> AvroWriterFactory:
        """Factory for files with the given schema.

        Args:
            schema: schema of the records.
            codec: compression of blocks: null, deflate, snappy, zstandard, bzip2 or xz.

        Raises:
            JobDefinitionError: the schema is not that of a record, or the codec is unknown.
        """
        checked = require_avro_schema(schema, "AvroBulkWriters.for_generic_record")
        if codec not in CODECS:
            raise JobDefinitionError(f"codec must be one of {', '.join(CODECS)}, not {codec!r}")
        return AvroWriterFactory(checked, codec)

    @staticmethod
    def for_row_type(row_type: RowTypeInfo, codec: str = "deflate") -> AvroWriterFactory:
        """Factory for files of rows with the given type; each field may be null.

        Raises:
            JobDefinitionError: a type has no counterpart in Avro.
        """
        if not isinstance(row_type, RowTypeInfo):
            raise JobDefinitionError(
                f"for_row_type takes Types.ROW_NAMED([names], [types]), not {row_type!r}"
            )
        return AvroBulkWriters.for_generic_record(AvroSchema(avro_definition(row_type)), codec)


class AvroWriterFactory(RowDataBulkWriterFactory[Any], JoiningBulkWriterFactory[Any]):
    """Makes the writer of each part file; see `AvroBulkWriters`."""

    def __init__(self, schema: AvroSchema, codec: str) -> None:
        self._schema = schema
        self._codec = codec

    def get_row_type(self) -> RowTypeInfo | None:
        return row_type_of(self._schema.type)

    def create(self, stream: BinaryIO) -> BulkWriter[Any]:
        return AvroBulkWriter(stream, self._schema, self._codec)

    def join(self, files: Iterable[BinaryIO], target: BinaryIO) -> None:
        # blocks stay packed: only what stands behind each is the new file's
        header = header_bytes(self._schema, self._codec)
        target.write(header)
        for file in files:
            file_header = read_header(file)
            if (
                file_header.schema.to_json() != self._schema.to_json()
                or file_header.codec != self._codec
            ):
                raise SerializationError("a file to be joined has another schema or codec")
            end = file.seek(0, SEEK_END)
            file.seek(file_header.end)
            while file.tell() < end:
                block = read_block(file, file_header.marker)
                sizes = varint(block.count) + varint(len(block.data))
                target.write(sizes + block.data + header[-SYNC_BYTES:])


class AvroBulkWriter(BulkWriter[Any]):
    """Collects records into blocks."""

    def __init__(self, stream: BinaryIO, schema: AvroSchema, codec: str) -> None:
        self._stream = stream
        self._codec = codec
        self._encoder = RowEncoder(schema)
        self._records: list[bytes] = []
        self._size = 0
        header = header_bytes(schema, codec)
        self._marker = header[-SYNC_BYTES:]
        stream.write(header)

    def add_elements(self, elements: Sequence[Any]) -> None:
        for record in self._encoder.write(elements):
            self._records.append(record)
            self._size += len(record)
            if self._size >= _BLOCK_BYTES:
                self.flush()

    def flush(self) -> None:
        records, self._records, self._size = self._records, [], 0
        if records:
            data = b"".join(records)
            self._stream.write(block_bytes(len(records), data, self._codec, self._marker))

    def finish(self) -> None:
        self.flush()
