"""Serialization schemas for messages of one CSV line: rows of a declared type to bytes and back.
Flink docs: "CSV format"."""

from __future__ import annotations

import contextlib
import csv
import io
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, TypeVar

from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.serialization import DeserializationSchema, SerializationSchema
from millrace.common.types.composite_types import ListTypeInfo, RowTypeInfo, TupleTypeInfo
from millrace.common.types.logical.logical_type import RowType
from millrace.common.types.result_type_queryable import ResultTypeQueryable
from millrace.common.types.row import Row, named_row
from millrace.common.types.type_information import BasicTypeInfo, TypeInformation
from millrace.common.types.value_types import TimestampTypeInfo, TimeTypeInfo
from millrace.formats.csv_fields import csv_options, fields_of
from millrace.formats.csv_schema import CsvDialect
from millrace.formats.csv_texts import clock_text, java_text, text_reader
from millrace.formats.json_reading import or_none
from millrace.formats.malformed_record import MalformedRecordError
from millrace.formats.scalar_text import is_bytes, scalar_text

__all__ = ["CsvRowDeserializationSchema", "CsvRowSerializationSchema"]

_LINE_END = "\r\n"
_SHOWN = 100
_REMEDY = "skip such messages with set_ignore_parse_errors(True), or by the source's error policy"
_REMEDY_OF_TABLES = (
    "'csv.null-literal' names the text of a missing value, and 'csv.ignore-parse-errors' = 'true' "
    "in WITH of the table skips such rows, and makes fields of a wrong type NULL"
)

B = TypeVar("B", bound="_Builder")


@dataclass(frozen=True, slots=True)
class RowDialect:
    """The CSV dialect of rows. It includes the separator within arrays, the skipping of
    malformed lines, and None for fields that are missing or of a wrong type."""

    csv: CsvDialect
    array_delimiter: str = ";"
    ignore_parse_errors: bool = False
    null_for_wrong_fields: bool = False
    table: RowType | None = None
    """Type of the table whose rows the messages are, for errors; None outside of SQL."""


class _Builder:
    """Base of both builders, with the settings that they share."""

    def __init__(self, type_info: TypeInformation[Any]) -> None:
        if not isinstance(type_info, RowTypeInfo):
            raise JobDefinitionError(
                f"a schema of rows needs their type, such as Types.ROW([types]), not {type_info!r}"
            )
        self._type_info = type_info
        self._dialect = RowDialect(CsvDialect())

    def set_field_delimiter(self: B, delimiter: str) -> B:
        """Set the separator of fields (default comma)."""
        return self._with_csv(column_separator=_single_character(delimiter))

    def set_array_element_delimiter(self: B, delimiter: str) -> B:
        """Set the separator of array elements and of fields of nested rows (default semicolon)."""
        self._dialect = replace(self._dialect, array_delimiter=delimiter)
        return self

    def set_quote_character(self: B, c: str) -> B:
        """Set the quote around fields that contain separators (default double quote)."""
        return self._with_csv(quote_char=_single_character(c))

    def set_escape_character(self: B, c: str) -> B:
        """Set the character that makes the next one literal (default: none)."""
        return self._with_csv(escape_char=_single_character(c))

    def set_null_literal(self: B, null_literal: str) -> B:
        """Set the text that stands for None (default: an empty field)."""
        return self._with_csv(null_value=null_literal)

    def _with_csv(self: B, **changes: Any) -> B:
        self._dialect = replace(self._dialect, csv=replace(self._dialect.csv, **changes))
        return self


class CsvRowSerializationSchemaBuilder(_Builder):
    """Builds a `CsvRowSerializationSchema`."""

    def build(self) -> CsvRowSerializationSchema:
        """The schema with all settings made so far."""
        return CsvRowSerializationSchema(self._type_info, self._dialect)

    def set_line_delimiter(self, delimiter: str) -> CsvRowSerializationSchemaBuilder:
        """Set the end of a line (default line feed); may be empty."""
        return self._with_csv(line_separator=delimiter)

    def disable_quote_character(self) -> CsvRowSerializationSchemaBuilder:
        """Write fields without quotes."""
        return self._with_csv(quote_char=None)


class CsvRowDeserializationSchemaBuilder(_Builder):
    """Builds a `CsvRowDeserializationSchema`."""

    def build(self) -> CsvRowDeserializationSchema:
        """The schema with all settings made so far."""
        return CsvRowDeserializationSchema(self._type_info, self._dialect)

    def set_allow_comments(self, allow_comments: bool) -> CsvRowDeserializationSchemaBuilder:
        """Deserialize lines that begin with ``#`` to None."""
        return self._with_csv(allow_comments=allow_comments)

    def set_ignore_parse_errors(
        self, ignore_parse_errors: bool
    ) -> CsvRowDeserializationSchemaBuilder:
        """Deserialize malformed lines to None instead of failing."""
        self._dialect = replace(self._dialect, ignore_parse_errors=ignore_parse_errors)
        return self

    def null_for_wrong_fields(self) -> CsvRowDeserializationSchemaBuilder:
        """Read fields of a wrong type as None (``csv.ignore-parse-errors`` of tables)."""
        self._dialect = replace(self._dialect, null_for_wrong_fields=True)
        return self

    def of_table(self, table: RowType) -> CsvRowDeserializationSchemaBuilder:
        """Use the names of SQL options in error messages."""
        self._dialect = replace(self._dialect, table=table)
        return self


class CsvRowSerializationSchema(SerializationSchema[Row]):
    """Writes rows of a type as CSV lines.

    Example:
        >>> from millrace.common import Types
        >>> row_type = Types.ROW([Types.INT(), Types.LIST(Types.STRING())])
        >>> schema = CsvRowSerializationSchema.Builder(row_type).set_field_delimiter("|").build()
        >>> schema.serialize(Row(1, ["a", "b"]))
        b'1|a;b\\n'
    """

    def __init__(self, type_info: RowTypeInfo, dialect: RowDialect) -> None:
        self._type_info = type_info
        self._dialect = dialect
        null = dialect.csv.null_value or ""
        self._writers = [_writer(t, dialect.array_delimiter, null) for t in type_info.types]

    def serialize(self, value: Row) -> bytes:
        """CSV line of a row, with the line delimiter.

        Raises:
            SerializationError: a value is not of its field's type, or cannot be written.
        """
        text = io.StringIO()
        options = csv_options(self._dialect.csv)
        try:
            fields = [write(item) for write, item in zip(self._writers, value, strict=True)]
            # the csv module quotes line breaks only if they are of its own line terminator
            csv.writer(text, lineterminator=_LINE_END, **options).writerow(fields)
        except (TypeError, ValueError, ArithmeticError, AttributeError, csv.Error) as error:
            raise SerializationError(
                f"{value!r} cannot be written as CSV of type {self._type_info.name}: {error}"
            ) from error
        line = text.getvalue().removesuffix(_LINE_END)
        return (line + self._dialect.csv.line_separator).encode()

    # the writers are closures, which cannot be pickled: rebuilt when the schema is unpickled
    def __reduce__(self) -> tuple[Any, ...]:
        return CsvRowSerializationSchema, (self._type_info, self._dialect)

    Builder: ClassVar = CsvRowSerializationSchemaBuilder


class CsvRowDeserializationSchema(DeserializationSchema[Row | None], ResultTypeQueryable):
    """Reads CSV lines as rows of a type.

    Example:
        >>> from millrace.common import Types
        >>> row_type = Types.ROW_NAMED(["n", "word"], [Types.INT(), Types.STRING()])
        >>> CsvRowDeserializationSchema.Builder(row_type).build().deserialize(b'1,"to, be"')
        Row(n=1, word='to, be')
    """

    def __init__(self, type_info: RowTypeInfo, dialect: RowDialect) -> None:
        self._type_info = type_info
        self._dialect = dialect
        self._names = type_info.get_field_names()
        self._row_names = tuple(self._names)
        self._options = csv_options(dialect.csv)
        self._readers = [_reader(kind, dialect) for kind in type_info.types]

    def deserialize(self, message: bytes) -> Row | None:
        """Row of a CSV line; None for a comment, and for a malformed line if parse errors are
        ignored.

        Raises:
            MalformedRecordError: the line is malformed, or a field is not of its type; an error
                policy of the source decides what becomes of it.
        """
        try:
            text = message.decode()
            if self._dialect.csv.allow_comments and text.startswith("#"):
                return None
            fields = self._fields(text)
            items = [read(field) for read, field in zip(self._readers, fields, strict=True)]
        except (ValueError, ArithmeticError, csv.Error) as error:
            if self._dialect.ignore_parse_errors:
                return None
            raise self._malformed(message, error) from error
        return named_row(self._row_names, items)

    def _fields(self, text: str) -> list[Any]:
        """Texts of the fields; None for missing fields, where these are allowed."""
        fields: list[Any] = [""]
        if text:
            (fields,) = csv.reader([text], **self._options)
        if self._dialect.null_for_wrong_fields and len(fields) < len(self._readers):
            fields += [None] * (len(self._readers) - len(fields))
        return fields

    def _malformed(self, message: bytes, error: Exception) -> MalformedRecordError:
        """Error that names the malformed field."""
        reason, column, table = str(error), None, self._dialect.table
        with contextlib.suppress(ValueError, csv.Error):
            fields = self._fields(message.decode())
            if len(fields) != len(self._names):
                reason = f"it has {fields_of(fields)}, not {len(self._names)}"
            elif (wrong := self._wrong_field(fields)) is not None:
                column, kind = self._names[wrong], self._type_info.types[wrong].name
                kind = kind if table is None else str(table.field_types()[wrong])
                text = str(fields[wrong])
                text = text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
                reason = f"field {column!r}: {text!r} is not of type {kind}"
        remedy = _REMEDY if table is None else _REMEDY_OF_TABLES
        kind = self._type_info.name if table is None else str(table)
        return MalformedRecordError(
            f"a message is not CSV of type {kind}: {reason[:500]}; {remedy}",
            bytes(message),
            column=column,
            tells_remedy=table is not None,
        )

    def _wrong_field(self, fields: list[Any]) -> int | None:
        for index, (read, field) in enumerate(zip(self._readers, fields, strict=True)):
            try:
                read(field)
            except (ValueError, ArithmeticError):
                return index
        return None

    def get_produced_type(self) -> TypeInformation[Any]:
        return self._type_info

    def __reduce__(self) -> tuple[Any, ...]:
        return CsvRowDeserializationSchema, (self._type_info, self._dialect)

    Builder: ClassVar = CsvRowDeserializationSchemaBuilder


def _single_character(char: str) -> str:
    if len(char) != 1:
        raise JobDefinitionError(f"{char!r} must be one character")
    return char


def _writer(type_info: TypeInformation[Any], delimiter: str, null: str) -> Callable[[Any], str]:
    write = _writer_of_non_null(type_info, delimiter, null)
    return lambda value: null if value is None else write(value)


def _writer_of_non_null(
    type_info: TypeInformation[Any], delimiter: str, null: str
) -> Callable[[Any], str]:
    fields = _field_types(type_info)
    if fields is not None:
        writers = [_writer(field, delimiter, null) for field in fields]

        def write_row(value: Any) -> str:
            items = value.values() if isinstance(value, dict) else value  # Arrow gives dicts
            return delimiter.join(w(item) for w, item in zip(writers, items, strict=True))

        return write_row
    if isinstance(type_info, ListTypeInfo) and not is_bytes(type_info):
        write = _writer(type_info.element_type, delimiter, null)
        return lambda value: delimiter.join(map(write, value))
    if isinstance(type_info, BasicTypeInfo) and type_info.label in ("FLOAT", "DOUBLE"):
        return java_text
    return clock_text if isinstance(type_info, _CLOCKS) else scalar_text(type_info).write


_CLOCKS = (TimeTypeInfo, TimestampTypeInfo)


def _reader(type_info: TypeInformation[Any], dialect: RowDialect) -> Callable[[str | None], Any]:
    """Reader of a field; None stands for a missing field."""
    read = _reader_of_non_null(type_info, dialect)
    if dialect.null_for_wrong_fields:
        read = or_none(read)
    # an empty field is the empty string for texts, None for other types
    null = dialect.csv.null_value
    is_text = isinstance(type_info, BasicTypeInfo) and type_info.label in ("STRING", "CHAR")
    nested = _field_types(type_info) is not None or _is_list(type_info)
    empty = {null, None} if is_text or nested else {null, None, ""}
    return lambda text: None if text in empty else read(text)


def _reader_of_non_null(
    type_info: TypeInformation[Any], dialect: RowDialect
) -> Callable[[Any], Any]:
    delimiter = dialect.array_delimiter
    fields = _field_types(type_info)
    if fields is not None:
        return _row_reader(type_info, fields, dialect)
    if isinstance(type_info, ListTypeInfo) and not is_bytes(type_info):
        element = _reader(type_info.element_type, dialect)
        return lambda text: [element(item) for item in text.split(delimiter) if text]
    return text_reader(type_info) or scalar_text(type_info).read


def _row_reader(
    type_info: TypeInformation[Any], fields: list[TypeInformation[Any]], dialect: RowDialect
) -> Callable[[str], Any]:
    readers = [_reader(field, dialect) for field in fields]
    make: Callable[[list[Any]], Any] = tuple
    if isinstance(type_info, RowTypeInfo):
        make = partial(named_row, tuple(type_info.get_field_names()))

    def read(text: str) -> Any:
        items: list[str | None] = [*text.split(dialect.array_delimiter)]
        if dialect.null_for_wrong_fields:
            items += [None] * (len(readers) - len(items))
        return make([r(item) for r, item in zip(readers, items, strict=True)])

    return read


def _is_list(type_info: TypeInformation[Any]) -> bool:
    return isinstance(type_info, ListTypeInfo) and not is_bytes(type_info)


def _field_types(type_info: TypeInformation[Any]) -> list[TypeInformation[Any]] | None:
    if isinstance(type_info, (RowTypeInfo, TupleTypeInfo)):
        return list(type_info.types)
    return None
