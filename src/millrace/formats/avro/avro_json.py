"""Avro's JSON encoding: text of records, which can only be read with their schema (Avro
specification, "JSON Encoding")."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO, StringIO
from typing import Any

import msgspec

from millrace.common.errors import SerializationError
from millrace.common.serialization import DeserializationSchema, SerializationSchema
from millrace.common.types.batch import Batch
from millrace.common.types.row import Row
from millrace.formats.avro.avro_schema import AvroSchema
from millrace.formats.avro.library import fastavro
from millrace.formats.malformed_record import MalformedRecordError

__all__ = ["AvroJsonDeserializationSchema", "AvroJsonSerializationSchema"]


class AvroJsonDeserializationSchema(DeserializationSchema[Row]):
    """Reads JSON text through Avro's binary form.

    Args:
        schema: that messages are written with.
        binary: reads the binary form.
    """

    def __init__(self, schema: AvroSchema, binary: DeserializationSchema[Row]) -> None:
        self._schema, self._binary = schema, binary

    def deserialize(self, message: bytes) -> Row:
        """Row of a message.

        Raises:
            MalformedRecordError: the message is no such record.
        """
        try:
            return self._binary.deserialize(self._as_binary(message))
        except MalformedRecordError:
            raise
        except Exception as error:  # whatever fastavro makes of text that is no record
            raise MalformedRecordError(
                f"a message is not JSON of its Avro schema: {error}", bytes(message)
            ) from None

    def deserialize_batch(self, messages: Sequence[bytes]) -> Batch:
        return self._binary.deserialize_batch(list(map(self._as_binary, messages)))

    def _as_binary(self, message: bytes) -> bytes:
        library, physical, stream = fastavro(), self._schema.physical, BytesIO()
        (record,) = library.json_reader(StringIO(message.decode()), physical)
        library.schemaless_writer(stream, physical, record, strict=True)
        return stream.getvalue()


class AvroJsonSerializationSchema(SerializationSchema[Any]):
    """Writes JSON text through Avro's binary form.

    Args:
        schema: schema of the records.
        binary: writes the binary form.
    """

    def __init__(self, schema: AvroSchema, binary: SerializationSchema[Any]) -> None:
        self._schema, self._binary = schema, binary

    def serialize(self, value: Any) -> bytes:
        """A record as JSON text in Avro's encoding.

        Raises:
            SerializationError: the value does not conform to the schema, or has a number that JSON
                lacks.
        """
        return self._as_text(self._binary.serialize(value))

    def serialize_batch(self, values: Sequence[Any]) -> list[bytes]:
        return list(map(self._as_text, self._binary.serialize_batch(values)))

    def _as_text(self, message: bytes) -> bytes:
        library, physical, stream = fastavro(), self._schema.physical, StringIO()
        record = library.schemaless_reader(BytesIO(message), physical, None)
        library.json_writer(stream, physical, [record])
        try:
            return msgspec.json.encode(msgspec.json.decode(stream.getvalue()))
        except msgspec.DecodeError as error:
            raise SerializationError(
                f"a record of {self._schema.name} has a number that JSON has not: {error}"
            ) from None
