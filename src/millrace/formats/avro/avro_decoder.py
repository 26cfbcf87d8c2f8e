"""Decoder of Avro messages to rows or columns, with the writer's schema."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from io import BytesIO
from typing import Any

from millrace.common.types.batch import Batch, RowBatch
from millrace.common.types.row import Row
from millrace.formats.avro.avro_columns import AvroColumns
from millrace.formats.avro.avro_schema import AvroSchema
from millrace.formats.avro.avro_values import read_conversion
from millrace.formats.avro.library import fastavro
from millrace.formats.avro.record_names import with_names_of
from millrace.formats.malformed_record import MalformedRecordError

__all__ = ["AvroDecoder"]

_REGISTRY_HEADER = 5
"""Bytes before a record: a zero and the id of the schema."""


class AvroDecoder:
    """Reads records that were written with one schema as records of another.

    Args:
        writer: the schema they were written with.
        reader: the schema they are wanted in: fields that are missing take its defaults, those it
            does not name are left out (Avro specification, "Schema Resolution").
        record_type: ``Row`` or ``dict``.
        columnar: whether batches are columns, where the fields allow it.

    Raises:
        SerializationError: records of the writer's schema cannot be read with the reader's.
    """

    def __init__(
        self,
        writer: AvroSchema,
        reader: AvroSchema,
        record_type: type[Any] = Row,
        columnar: bool = True,
    ) -> None:
        self._physical = writer.physical
        self._reader = None if writer == reader else with_names_of(reader, writer).physical
        self._convert = read_conversion(reader.type, record_type)
        self._columns = AvroColumns(reader.type, "dict" if record_type is dict else "row")
        self._columnar = columnar and reader.type.kind == "record" and self._columns.possible

    def read(self, messages: Sequence[bytes]) -> Batch:
        """Decode messages: one record per message.

        Raises:
            Exception: a message is no such record; `read_one` says what is wrong.
        """
        return self.batch_of(self.records_of(messages))

    def records_of(self, messages: Sequence[bytes]) -> list[Any]:
        """One record per message, in the form in which fastavro returns them; `batch_of` takes this
        form.

        Raises:
            Exception: a message is no such record, or more than that.
        """
        read, physical, reader = fastavro().schemaless_reader, self._physical, self._reader
        streams = list(map(BytesIO, messages))
        records = [read(stream, physical, reader) for stream in streams]
        if any(map(BytesIO.read, streams)):
            raise ValueError("bytes follow the record: it was written with another schema")
        return records

    def read_one(self, message: bytes) -> Any:
        """Record of one message.

        Raises:
            MalformedRecordError: the message is not a record of the schema.
        """
        try:
            return self.read([message]).to_rows().values[0]
        except Exception as error:  # whatever fastavro makes of bytes that are no Avro
            field = self._failed_field(message)
            place = "" if field is None else f"at field {field!r}: "
            raise MalformedRecordError(
                f"a message is not Avro data of its schema: {place}{type(error).__name__}: "
                f"{error}{_other_kind(message)}",
                bytes(message),
                column=field,
            ) from None

    def _failed_field(self, message: bytes) -> str | None:
        """Name of the first field that cannot be read; None if all can, or there are no fields."""
        read, physical = fastavro().schemaless_reader, self._physical
        fields = physical.get("fields", ()) if isinstance(physical, dict) else ()

        def fails(number: int) -> bool:
            """Whether the fields up to this one cannot be read."""
            try:
                read(BytesIO(message), {**physical, "fields": fields[: number + 1]}, None)
            except Exception:  # as above
                return True
            return False

        first = bisect_left(range(len(fields)), True, key=fails)
        return str(fields[first]["name"]) if first < len(fields) else None

    def read_many(self, stream: BytesIO, count: int) -> list[Any]:
        """Consecutive records of a stream, in the form in which fastavro returns them; `batch_of`
        takes this form.
        """
        read, physical, reader = fastavro().schemaless_reader, self._physical, self._reader
        return [read(stream, physical, reader) for _ in range(count)]

    def batch_of(self, records: list[Any]) -> Batch:
        """Batch of the program's records, converted from fastavro's records.

        Raises:
            Exception: a value is none of its logical type.
        """
        if self._columnar and records:
            return self._columns.of(records)
        if self._convert is None:
            return RowBatch(records)
        return RowBatch(list(map(self._convert, records)))


def _other_kind(message: bytes) -> str:
    """Hint for a message that looks as if it was written in another way."""
    if message[:1] == b"\0" and len(message) > _REGISTRY_HEADER:
        return "; it begins as messages of a schema registry do, which 'avro-confluent' reads"
    if message.startswith(b"Obj\x01"):
        return "; it is an Avro file, with a schema of its own, and not one record"
    if message.startswith((b"{", b"[")):
        return "; it looks like JSON text"
    return "; it must be read with the schema with which it was written"
