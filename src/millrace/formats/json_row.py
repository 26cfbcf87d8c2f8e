"""Conversion of rows of a declared type to JSON objects and back, for messages. Flink docs:
"JSON format"."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.serialization import DeserializationSchema, SerializationSchema
from millrace.common.types.batch import Batch, RowBatch
from millrace.common.types.composite_types import (
    ListTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from millrace.common.types.logical.logical_type import RowType
from millrace.common.types.result_type_queryable import ResultTypeQueryable
from millrace.common.types.row import Row
from millrace.common.types.type_information import TypeInformation
from millrace.formats.json_columns import JsonColumns
from millrace.formats.json_reading import READING_ERRORS, field_reader, nullable, row_reader
from millrace.formats.json_schema import type_of_json_schema
from millrace.formats.json_tokens import parse_json
from millrace.formats.json_writing import (
    Write,
    array_writer,
    nullable_writer,
    object_text,
    quoted,
    row_writer,
)
from millrace.formats.malformed_record import MalformedRecordError
from millrace.formats.scalar_text import is_bytes, scalar_text

__all__ = ["JsonRowDeserializationSchema", "JsonRowSerializationSchema"]


class JsonRowSerializationSchema(SerializationSchema[Row]):
    """Writes rows of a type as JSON objects with its field names.

    Dates and times are ISO 8601, bytes base64, decimals numbers.

    Example:
        >>> from millrace.common import Types
        >>> row_type = Types.ROW_NAMED(["word", "n"], [Types.STRING(), Types.INT()])
        >>> schema = JsonRowSerializationSchema.builder().with_type_info(row_type).build()
        >>> schema.serialize(Row("to", 2))
        b'{"word":"to","n":2}'
    """

    def __init__(self, type_info: RowTypeInfo) -> None:
        self._type_info = type_info
        self._write = nullable_writer(_writer(type_info))

    @staticmethod
    def builder() -> JsonRowSerializationSchema.Builder:
        """A builder of a schema, without settings."""
        return JsonRowSerializationSchema.Builder()

    def serialize(self, value: Row) -> bytes:
        """A row as the text of a JSON object.

        Raises:
            SerializationError: a value is not of its field's type.
        """
        try:
            return self._write(value).encode()
        except (TypeError, ValueError, ArithmeticError, AttributeError) as error:
            raise SerializationError(
                f"{value!r} cannot be written as JSON of type {self._type_info.name}: {error}"
            ) from error

    # what writes is made of closures: it is made again where it is needed
    def __reduce__(self) -> tuple[Any, ...]:
        return JsonRowSerializationSchema, (self._type_info,)

    class Builder:
        """Builds the schema."""

        def __init__(self) -> None:
            self._type_info: TypeInformation[Any] | None = None

        def with_type_info(
            self, type_info: TypeInformation[Any]
        ) -> JsonRowSerializationSchema.Builder:
            """Set the type of the rows."""
            self._type_info = type_info
            return self

        def build(self) -> JsonRowSerializationSchema:
            """The schema with all settings made so far.

            Raises:
                JobDefinitionError: the type is missing or not that of rows.
            """
            return JsonRowSerializationSchema(_row_type(self._type_info, "with_type_info"))


_REMEDY = "skip such messages with ignore_parse_errors(), or by the source's error policy"
_REMEDY_OF_TABLES = (
    "'json.ignore-parse-errors' = 'true' in WITH of the table skips such messages, and makes "
    "fields of a wrong type NULL"
)


class JsonRowDeserializationSchema(DeserializationSchema[Row | None], ResultTypeQueryable):
    """Reads JSON objects as rows of a type: its fields by name, without other fields.

    Example:
        >>> from millrace.common import Types
        >>> row_type = Types.ROW_NAMED(["word", "n"], [Types.STRING(), Types.INT()])
        >>> schema = JsonRowDeserializationSchema.builder().type_info(row_type).build()
        >>> schema.deserialize(b'{"word": "to", "more": true}')
        Row(word='to', n=None)
    """

    def __init__(
        self,
        type_info: RowTypeInfo,
        fail_on_missing_field: bool = False,
        ignore_parse_errors: bool = False,
        null_for_wrong_fields: bool = False,
        table: RowType | None = None,
    ) -> None:
        if fail_on_missing_field and ignore_parse_errors:
            raise JobDefinitionError(
                "fail_on_missing_field and ignore_parse_errors contradict each other: choose one"
            )
        self._type_info = type_info
        self._fail_on_missing_field = fail_on_missing_field
        self._ignore_parse_errors = ignore_parse_errors
        self._null_for_wrong_fields = null_for_wrong_fields
        self._table = table
        # a message that is not an object is no row with NULL in every field
        self._read = nullable(row_reader(type_info, fail_on_missing_field, null_for_wrong_fields))
        self._columns = JsonColumns(type_info, fail_on_missing_field, table)

    @staticmethod
    def builder() -> JsonRowDeserializationSchema.Builder:
        """A builder of a schema, without settings."""
        return JsonRowDeserializationSchema.Builder()

    def deserialize(self, message: bytes) -> Row | None:
        """Row of a message; None for a malformed message if parse errors are ignored.

        Raises:
            MalformedRecordError: the message is not such a JSON object; the source's error policy
                decides whether the job skips the message.
        """
        row: Row | None = self._one(message, lambda: self._read(parse_json(message)))
        return row

    def _one(self, message: bytes, read: Callable[[], Any]) -> Any:
        """Result of reading a message; None for a malformed message if parse errors are ignored."""
        try:
            return read()
        except READING_ERRORS as error:
            if self._ignore_parse_errors:
                return None
            raise self._malformed(message, error) from error

    def _malformed(self, message: bytes, error: Exception) -> MalformedRecordError:
        """Error that names the malformed field."""
        column = None
        with contextlib.suppress(ValueError):
            column = self._wrong_field(parse_json(message))
        reason = str(error) if column is None else f"field {column!r}: {error}"
        reason = reason[:500]
        kind, remedy = self._type_info.name, _REMEDY
        if self._table is not None:
            kind, remedy = str(self._table), _REMEDY_OF_TABLES
        return MalformedRecordError(
            f"a message is not JSON of type {kind}: {reason}; {remedy}",
            bytes(message),
            column=column,
            tells_remedy=self._table is not None,
        )

    def _wrong_field(self, value: Any) -> str | None:
        if not isinstance(value, dict):
            return None
        kinds = zip(self._type_info.get_field_names(), self._type_info.types, strict=True)
        for name, kind in kinds:
            try:
                field_reader(self._type_info, kind, self._fail_on_missing_field)(value.get(name))
            except READING_ERRORS:
                return name
        return None

    def deserialize_batch(self, messages: Sequence[bytes]) -> Batch:
        """Rows of the messages, in columns unless a message or the type requires reading one by
        one."""
        columns = self._columns.read(messages)
        return super().deserialize_batch(messages) if columns is None else columns

    def deserialize_flat(self, messages: Sequence[bytes]) -> tuple[Batch, list[int] | None]:
        """Rows of a table: an array of objects is several rows, and an empty message is none."""
        if self._table is None:
            return self.deserialize_batch(messages), None
        columns = self._columns.read(messages)
        if columns is not None:
            return columns, None
        rows: list[Any] = []
        origins: list[int] = []
        for position, message in enumerate(messages):
            of_message = self._rows(message)
            rows += of_message
            origins += [position] * len(of_message)
        return RowBatch(rows), None if origins == list(range(len(messages))) else origins

    def _rows(self, message: bytes) -> list[Row | None]:
        def read() -> list[Row | None]:
            value = parse_json(message)
            return list(map(self._read, value)) if isinstance(value, list) else [self._read(value)]

        return (self._one(message, read) or []) if message else []

    def get_produced_type(self) -> TypeInformation[Any]:
        return self._type_info

    def __reduce__(self) -> tuple[Any, ...]:
        flags = (self._fail_on_missing_field, self._ignore_parse_errors)
        rest = (self._null_for_wrong_fields, self._table)
        return JsonRowDeserializationSchema, (self._type_info, *flags, *rest)

    class Builder:
        """Builds the schema."""

        def __init__(self) -> None:
            self._type_info: TypeInformation[Any] | None = None
            self._fail_on_missing_field = False
            self._ignore_parse_errors = False
            self._null_for_wrong_fields = False
            self._table: RowType | None = None

        def type_info(
            self, type_info: TypeInformation[Any]
        ) -> JsonRowDeserializationSchema.Builder:
            """Set the type of the rows."""
            self._type_info = type_info
            return self

        def json_schema(self, json_schema: str) -> JsonRowDeserializationSchema.Builder:
            """Set the type of the rows from a JSON Schema.

            Raises:
                JobDefinitionError: the JSON Schema describes no object, or uses an unsupported
                    type.
            """
            self._type_info = type_of_json_schema(json_schema)
            return self

        def fail_on_missing_field(self) -> JsonRowDeserializationSchema.Builder:
            """Refuse messages that lack a field; by default it is None."""
            self._fail_on_missing_field = True
            return self

        def ignore_parse_errors(self) -> JsonRowDeserializationSchema.Builder:
            """Read malformed messages as None."""
            self._ignore_parse_errors = True
            return self

        def null_for_wrong_fields(self) -> JsonRowDeserializationSchema.Builder:
            """Read fields of a wrong type as None (``json.ignore-parse-errors`` of tables)."""
            self._null_for_wrong_fields = True
            return self

        def table(self, columns: RowType) -> JsonRowDeserializationSchema.Builder:
            """Set the columns of the table that gets the rows, with the names of the fields.
            Nearly all messages are then read in columns, including decimals."""
            self._table = columns
            return self

        def build(self) -> JsonRowDeserializationSchema:
            """The schema with all settings made so far.

            Raises:
                JobDefinitionError: the type is missing or not that of rows, or the options
                    contradict each other.
            """
            row_type = _row_type(self._type_info, "type_info")
            flags = (self._fail_on_missing_field, self._ignore_parse_errors)
            rest = (self._null_for_wrong_fields, self._table)
            return JsonRowDeserializationSchema(row_type, *flags, *rest)


def _row_type(type_info: TypeInformation[Any] | None, method: str) -> RowTypeInfo:
    if not isinstance(type_info, RowTypeInfo):
        raise JobDefinitionError(
            f"a schema of rows needs their type: call {method}(Types.ROW_NAMED([names], [types])); "
            f"got {type_info!r}"
        )
    return type_info


def _writer(type_info: TypeInformation[Any]) -> Write:
    """Writer of values of a type; the values are not None."""
    if isinstance(type_info, RowTypeInfo):
        return row_writer(
            type_info.get_field_names(), [_writer(kind) for kind in type_info.types], False
        )
    if isinstance(type_info, TupleTypeInfo):
        writers = [nullable_writer(_writer(kind)) for kind in type_info.types]
        return lambda value: (
            f"[{','.join([w(item) for w, item in zip(writers, value, strict=True)])}]"
        )
    if isinstance(type_info, MapTypeInfo):
        key = scalar_text(type_info.key_type).write
        item = nullable_writer(_writer(type_info.value_type))
        # Arrow gives maps as pairs, and rows within columns as dicts
        return lambda value: object_text([(key(k), item(v)) for k, v in dict(value).items()])
    if isinstance(type_info, ListTypeInfo) and not is_bytes(type_info):
        return array_writer(_writer(type_info.element_type))
    scalar = scalar_text(type_info)
    if scalar.is_number:
        return scalar.write
    return lambda value: quoted(scalar.write(value))
