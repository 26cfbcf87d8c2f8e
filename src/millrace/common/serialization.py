"""Conversion of values to bytes and back, for connectors (Flink docs, "Data Sources" and "File
Sink")."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, BinaryIO, Generic, TypeVar

from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.types.batch import Batch, BatchForm, ColumnBatch, RowBatch
from millrace.common.types.composite_types import RowTypeInfo
from millrace.common.types.logical.logical_type import RowType
from millrace.common.types.row import Row

__all__ = [
    "BulkWriter",
    "BulkWriterFactory",
    "ByteArraySchema",
    "DeserializationSchema",
    "Encoder",
    "JoiningBulkWriterFactory",
    "RowDataBulkWriterFactory",
    "RowFieldExtractorSchema",
    "SerializationSchema",
    "SimpleStringEncoder",
    "SimpleStringSchema",
]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
T_contra = TypeVar("T_contra", contravariant=True)


class SerializationSchema(ABC, Generic[T_contra]):
    """Serializes one record to bytes."""

    @abstractmethod
    def serialize(self, value: T_contra) -> bytes:
        """The bytes of a record."""

    def serialize_batch(self, values: Sequence[T_contra]) -> list[bytes]:
        """The bytes of each of several records."""
        return list(map(self.serialize, values))


class DeserializationSchema(ABC, Generic[T_co]):
    """Deserializes one record from bytes."""

    @abstractmethod
    def deserialize(self, message: bytes) -> T_co:
        """The record; None if connectors should leave the message out."""

    def deserialize_batch(self, messages: Sequence[bytes]) -> Batch:
        """The records of several messages, one each; as columns if that is faster."""
        return RowBatch(list(map(self.deserialize, messages)))

    def deserialize_flat(self, messages: Sequence[bytes]) -> tuple[Batch, list[int] | None]:
        """The records of several messages, and for each record the position of its message; None
        instead of the positions if each message has one record. Flink: ``deserialize`` with a
        ``Collector``.

        Override it where a message may be several records, or none.
        """
        return self.deserialize_batch(messages), None


class SimpleStringSchema(SerializationSchema[str], DeserializationSchema[str]):
    """Text in a character set.

    Example:
        >>> SimpleStringSchema().deserialize(SimpleStringSchema().serialize("é"))
        'é'
    """

    def __init__(self, charset: str = "UTF-8") -> None:
        self.charset = charset

    def serialize(self, value: str) -> bytes:
        return value.encode(self.charset)

    def serialize_batch(self, values: Sequence[str]) -> list[bytes]:
        if type(self).serialize is not SimpleStringSchema.serialize:
            return super().serialize_batch(values)
        charset = self.charset
        return [value.encode(charset) for value in values]

    def deserialize(self, message: bytes) -> str:
        return message.decode(self.charset)

    def deserialize_batch(self, messages: Sequence[bytes]) -> Batch:
        if type(self).deserialize is not SimpleStringSchema.deserialize:
            return super().deserialize_batch(messages)
        charset = self.charset
        return RowBatch([message.decode(charset) for message in messages])


class ByteArraySchema(SerializationSchema[bytes], DeserializationSchema[bytes]):
    """Bytes, unchanged."""

    def serialize(self, value: bytes) -> bytes:
        return bytes(value)

    def deserialize(self, message: bytes) -> bytes:
        return message

    def deserialize_batch(self, messages: Sequence[bytes]) -> Batch:
        if type(self).deserialize is not ByteArraySchema.deserialize:
            return super().deserialize_batch(messages)
        return RowBatch(list(messages))


class RowFieldExtractorSchema(SerializationSchema[Row]):
    """Takes bytes from one field of a row: the key or the value of a message that the program has
    serialized itself.

    Args:
        field_index: position of the field, from 0. A field or a row that is None gives no bytes.

    Raises:
        JobDefinitionError: the position is negative.

    Example:
        >>> RowFieldExtractorSchema(0).serialize(Row(b"key", 1))
        b'key'
    """

    def __init__(self, field_index: int) -> None:
        if not isinstance(field_index, int) or field_index < 0:
            raise JobDefinitionError(
                f"the position of a field is a number from 0, got {field_index!r}"
            )
        self._field_index = field_index

    def serialize(self, value: Row | None) -> bytes:
        """The bytes in the row's field.

        Raises:
            SerializationError: the row has no such field, or its value is not bytes.
        """
        if value is None:
            return b""
        if self._field_index >= len(value):
            raise SerializationError(
                f"field {self._field_index} is to be written, but the row has {len(value)} "
                f"fields: {value!r}"
            )
        field = value[self._field_index]
        if field is None:
            return b""
        if not isinstance(field, (bytes, bytearray)):
            raise SerializationError(
                f"field {self._field_index} of {value!r} is to be written as it is, so it must be "
                f"bytes; it is of type {type(field).__name__}"
            )
        return bytes(field)


class Encoder(ABC, Generic[T_contra]):
    """Writes records to a file one after the other.

    An encoder that says that it ``takes`` either form writes columns by `encode_columns`.
    """

    takes = BatchForm.ROWS

    @abstractmethod
    def encode(self, element: T_contra) -> bytes:
        """The bytes of one record, including its separator from the next record."""

    def encode_all(self, elements: Sequence[T_contra]) -> bytes:
        """The bytes of several records."""
        return b"".join(map(self.encode, elements))

    def encode_columns(self, batch: ColumnBatch) -> bytes:
        """The bytes of the records of a columnar batch."""
        return self.encode_all(batch.to_rows().values)

    @staticmethod
    def simple_string_encoder(charset_name: str = "UTF-8") -> SimpleStringEncoder:
        """Encoder that writes one line per record: its ``str``."""
        return SimpleStringEncoder(charset_name)


class SimpleStringEncoder(Encoder[Any]):
    """Writes one line per record: its ``str``."""

    def __init__(self, charset_name: str = "UTF-8") -> None:
        self.charset_name = charset_name

    def encode(self, element: Any) -> bytes:
        return f"{element}\n".encode(self.charset_name)

    def encode_all(self, elements: Sequence[Any]) -> bytes:
        return "".join([f"{element}\n" for element in elements]).encode(self.charset_name)


class BulkWriter(ABC, Generic[T_contra]):
    """Writes a file that is complete only when it is finished (Parquet, for example)."""

    @abstractmethod
    def add_elements(self, elements: Sequence[T_contra]) -> None:
        """Write records."""

    def add_columns(self, batch: ColumnBatch) -> None:
        """Write records that are in columns, if the factory accepts columns."""
        raise NotImplementedError

    @abstractmethod
    def flush(self) -> None:
        """Write the buffered data, so that the file's size is visible."""

    @abstractmethod
    def finish(self) -> None:
        """Write the end of the file, without closing it."""


class BulkWriterFactory(ABC, Generic[T]):
    """Creates the writer of a file. Must be picklable."""

    takes = BatchForm.ROWS
    """The form in which its writers get batches."""

    @abstractmethod
    def create(self, stream: BinaryIO) -> BulkWriter[T]:
        """A writer to an open file."""


class JoiningBulkWriterFactory(BulkWriterFactory[T]):
    """Creates writers of files that can be joined, for the compaction of a file sink.

    A factory of yours need not be one, if its files are not to be compacted.
    """

    def require_joinable(self) -> None:
        """Hook that refuses compaction of files that cannot be joined. By default all files can be
        joined.

        Raises:
            JobDefinitionError: the files may not fit each other.
        """

    @abstractmethod
    def join(self, files: Iterable[BinaryIO], target: BinaryIO) -> None:
        """Write one complete file with the records of several, in their order.

        Args:
            files: complete, of writers of this factory, open for reading; each is closed when the
                next is asked for.
            target: the new file.

        Raises:
            SerializationError: the columns of one do not fit those of the first.
        """


class RowDataBulkWriterFactory(BulkWriterFactory[T]):
    """Creates writers of files whose columns are those of a row type."""

    @abstractmethod
    def get_row_type(self) -> RowTypeInfo | RowType | None:
        """Names and types of the columns; None if they are taken from the records."""
