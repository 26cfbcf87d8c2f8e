"""Conversion of rows to Avro messages and back, without a header. Flink docs: "Avro format"."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from itertools import pairwise
from typing import Any

from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.serialization import DeserializationSchema, SerializationSchema
from millrace.common.types.batch import Batch
from millrace.common.types.result_type_queryable import ResultTypeQueryable
from millrace.common.types.row import Row
from millrace.common.types.type_information import TypeInformation
from millrace.formats.avro.avro_decoder import AvroDecoder
from millrace.formats.avro.avro_schema import AvroSchema, require_avro_schema
from millrace.formats.avro.avro_values import write_conversion
from millrace.formats.avro.library import fastavro
from millrace.formats.avro.row_types import row_type_of

__all__ = ["AvroRowDeserializationSchema", "AvroRowSerializationSchema", "RowEncoder"]


class RowEncoder:
    """Writes records of a schema one by one in Avro's binary form."""

    def __init__(self, schema: AvroSchema) -> None:
        self._schema = schema
        self._convert = write_conversion(schema.type)

    def write(self, records: Sequence[Any], prefix: bytes = b"") -> list[bytes]:
        """The encoded bytes of each record, each after the given prefix.

        Raises:
            SerializationError: a record is not of the schema.
        """
        write, physical = fastavro().schemaless_writer, self._schema.physical
        convert, stream, ends = self._convert, BytesIO(), [0]
        for value in records:
            stream.write(prefix)
            try:
                write(stream, physical, convert(value))
            except Exception as error:  # what fastavro raises depends on the type
                raise SerializationError(
                    f"{repr(value)[:300]} is not a record of the Avro schema "
                    f"{self._schema.name}: {error}"
                ) from None
            ends.append(stream.tell())
        data = stream.getvalue()
        return [data[start:end] for start, end in pairwise(ends)]


class AvroRowSerializationSchema(SerializationSchema[Any]):
    """Writes rows (or tuples, dicts, dataclass instances) as records of an Avro schema.

    Args:
        record_class: a class of the JVM, which has no meaning here; leave it out.
        avro_schema_string: the schema, as JSON.

    Raises:
        JobDefinitionError: the schema is not that of a record.

    Example:
        >>> text = '{"type": "record", "name": "W", "fields": [{"name": "n", "type": "int"}]}'
        >>> AvroRowSerializationSchema(avro_schema_string=text).serialize(Row(n=3))
        b'\\x06'
    """

    def __init__(
        self, record_class: str | None = None, avro_schema_string: str | None = None
    ) -> None:
        self._schema = _schema(record_class, avro_schema_string, type(self).__name__)
        self._encoder = RowEncoder(self._schema)

    def serialize(self, value: Any) -> bytes:
        """A record as bytes in Avro's binary encoding.

        Raises:
            SerializationError: the value does not conform to the schema.
        """
        return self._encoder.write([value])[0]

    def serialize_batch(self, values: Sequence[Any]) -> list[bytes]:
        return self._encoder.write(values)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (None, self._schema.to_json())


class AvroRowDeserializationSchema(DeserializationSchema[Row], ResultTypeQueryable):
    """Reads records of an Avro schema as rows. Batches of records are read as columns if no field
    is a map, a record or a union of several types.

    Args:
        record_class: a class of the JVM, which has no meaning here; leave it out.
        avro_schema_string: the schema that messages are written with, as JSON.
        reader_schema_string: the schema that they are wanted in, if that is another one.

    Raises:
        JobDefinitionError: a schema is not that of a record.

    Example:
        >>> text = '{"type": "record", "name": "W", "fields": [{"name": "n", "type": "int"}]}'
        >>> AvroRowDeserializationSchema(avro_schema_string=text).deserialize(b"\\x06")
        Row(n=3)
    """

    def __init__(
        self,
        record_class: str | None = None,
        avro_schema_string: str | None = None,
        reader_schema_string: str | None = None,
    ) -> None:
        name = type(self).__name__
        self._writer = _schema(record_class, avro_schema_string, name)
        self._reader = self._writer
        if reader_schema_string is not None:
            self._reader = _schema(None, reader_schema_string, name)
        self._decoder = AvroDecoder(self._writer, self._reader)

    def deserialize(self, message: bytes) -> Row:
        """Row of a message.

        Raises:
            MalformedRecordError: the message is no such record.
        """
        row: Row = self._decoder.read_one(message)
        return row

    def deserialize_batch(self, messages: Sequence[bytes]) -> Batch:
        return self._decoder.read(messages)

    def get_produced_type(self) -> TypeInformation[Any]:
        """The type of the rows."""
        return row_type_of(self._reader.type)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (None, self._writer.to_json(), self._reader.to_json())


def _schema(record_class: Any, text: Any, name: str) -> AvroSchema:
    if record_class is not None:
        raise JobDefinitionError(
            f"{name}(record_class=...) names a class of the JVM, which has no meaning here: give "
            "the schema's text as avro_schema_string"
        )
    return require_avro_schema(text, f"{name}(avro_schema_string=...)")
