"""`MessageFormat`: csv, json or raw text of single rows, with the options of a table.

Flink: ``DeserializationFormatFactory`` and ``SerializationFormatFactory``; Flink docs: "CSV
Format", "JSON Format", "Raw Format".
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from millrace.common.config.config_options import ConfigOption, ConfigOptions
from millrace.common.error_policy import ErrorPolicy
from millrace.common.errors import JobDefinitionError
from millrace.common.serialization import DeserializationSchema, SerializationSchema
from millrace.common.types.composite_types import RowTypeInfo
from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import RowType
from millrace.common.types.row import INSERT_ONLY, RowKind
from millrace.formats.changes.change_metadata import ChangeMetadata
from millrace.formats.csv_row import CsvRowDeserializationSchema, CsvRowSerializationSchema
from millrace.formats.json_row import JsonRowDeserializationSchema
from millrace.formats.raw import RawFormatDeserializationSchema, RawValueSerializationSchema
from millrace.table.formats.json_options import JsonOptions
from millrace.table.formats.row_type_info import row_type_info

__all__ = ["ROW_FORMATS", "MessageFormat", "Read"]

Read = Callable[[ConfigOption[Any]], Any]
"""The value of an option of the table."""
_NOT_RAW = (
    *(logical.ArrayType, logical.MapType, logical.MultisetType, RowType, logical.DecimalType),
    *(logical.DateType, logical.TimeType, logical.TimestampType, logical.LocalZonedTimestampType),
)


class MessageFormat(ABC):
    """Reads and writes rows as single messages or lines.

    Attributes:
        options: options of the format besides ``format``.
        ignores: the option that skips messages that cannot be read; None if the format has none.
        changes: row kinds that the format can read.
        accepts: row kinds that the format can write; all kinds if empty.
        text: whether messages are text, which lines of files can hold.
        metadata: metadata of messages by key.
    """

    options: tuple[ConfigOption[Any], ...] = ()
    ignores: ConfigOption[bool] | None = None
    changes: ClassVar[frozenset[RowKind]] = INSERT_ONLY
    accepts: ClassVar[frozenset[RowKind]] = INSERT_ONLY
    text: ClassVar[bool] = True
    metadata: ClassVar[Mapping[str, ChangeMetadata]] = {}

    def metadata_reader(self, key: str, read: Read) -> ChangeMetadata:
        """Reader of a metadata value of messages."""
        return self.metadata[key]

    def error_policy(self, read: Read) -> ErrorPolicy:
        """Treatment of messages that cannot be read."""
        skips = self.ignores is not None and read(self.ignores)
        return ErrorPolicy.skip() if skips else ErrorPolicy.fail()

    @staticmethod
    def read_columns(physical: RowType, wanted: Sequence[str]) -> RowType:
        """The columns to read: the wanted ones or, if none is wanted, all columns, because rows
        must still be counted."""
        fields = tuple(field for field in physical.fields if field.name in wanted)
        return RowType(fields or physical.fields)

    def has_empty_messages(self, physical: RowType) -> bool:
        """Whether an empty line counts as a row."""
        return False

    @abstractmethod
    def deserializer(
        self, physical: RowType, wanted: Sequence[str], read: Read
    ) -> DeserializationSchema[Any]:
        """Deserializer of messages to rows that contain only the wanted physical columns."""

    @abstractmethod
    def serializer(self, columns: RowType, read: Read) -> SerializationSchema[Any]:
        """Serializer of rows of the given columns."""


FIELD_DELIMITER = ConfigOptions.key("csv.field-delimiter").string_type().default_value(",")
QUOTE = ConfigOptions.key("csv.quote-character").string_type().default_value('"')
NO_QUOTE = ConfigOptions.key("csv.disable-quote-character").boolean_type().default_value(False)
COMMENTS = ConfigOptions.key("csv.allow-comments").boolean_type().default_value(False)
CSV_IGNORES = ConfigOptions.key("csv.ignore-parse-errors").boolean_type().default_value(False)
ARRAYS = ConfigOptions.key("csv.array-element-delimiter").string_type().default_value(";")
ESCAPE = ConfigOptions.key("csv.escape-character").string_type().no_default_value()
NULL = ConfigOptions.key("csv.null-literal").string_type().no_default_value()


class CsvFormat(MessageFormat):
    """CSV with columns by position, in the order of the table."""

    options = (FIELD_DELIMITER, QUOTE, NO_QUOTE, COMMENTS, CSV_IGNORES, ARRAYS, ESCAPE, NULL)
    ignores = CSV_IGNORES

    def has_empty_messages(self, physical: RowType) -> bool:
        """Whether an empty line counts as a row. With a single column it does, as an empty
        field."""
        return len(physical.fields) == 1

    def deserializer(
        self, physical: RowType, wanted: Sequence[str], read: Read
    ) -> DeserializationSchema[Any]:
        if read(NO_QUOTE):
            raise JobDefinitionError(
                "'csv.disable-quote-character' applies only to writing; for reading, choose "
                "a 'csv.quote-character' that does not occur in the text"
            )
        builder = CsvRowDeserializationSchema.Builder(row_type_info(physical, rows=True))
        _set_dialect(builder, read)
        if read(CSV_IGNORES):
            builder.null_for_wrong_fields()
        return builder.set_allow_comments(read(COMMENTS)).of_table(physical).build()

    def serializer(self, columns: RowType, read: Read) -> SerializationSchema[Any]:
        builder = CsvRowSerializationSchema.Builder(row_type_info(columns, rows=True))
        builder.set_line_delimiter("")
        _set_dialect(builder, read)
        if read(NO_QUOTE):
            builder.disable_quote_character()
        return builder.build()


def _set_dialect(builder: Any, read: Read) -> None:
    builder.set_field_delimiter(_unescaped(read(FIELD_DELIMITER)))
    builder.set_quote_character(read(QUOTE))
    builder.set_array_element_delimiter(read(ARRAYS))
    if read(ESCAPE) is not None:
        builder.set_escape_character(read(ESCAPE))
    if read(NULL) is not None:
        builder.set_null_literal(read(NULL))


_ESCAPED = {"\\t": "\t", "\\n": "\n", "\\r": "\r", "\\b": "\b", "\\f": "\f", "\\\\": "\\"}
_UNICODE = re.compile(r"\\u+([0-9a-fA-F]{4})")


def _unescaped(delimiter: str) -> str:
    """The character that a delimiter stands for: a tab of ``\\\\t``, as Java writes it."""
    code = _UNICODE.fullmatch(delimiter)
    return chr(int(code[1], 16)) if code else _ESCAPED.get(delimiter, delimiter)


MISSING = ConfigOptions.key("json.fail-on-missing-field").boolean_type().default_value(False)
PARSER = ConfigOptions.key("json.decode.json-parser.enabled").boolean_type().default_value(True)
"""Taken for programs of Flink, which has two parsers."""
JSON = JsonOptions("json")


class JsonFormat(MessageFormat):
    """JSON objects with the columns' names; other members are ignored."""

    options = (MISSING, PARSER, *JSON.all)
    ignores = JSON.ignores

    def deserializer(
        self, physical: RowType, wanted: Sequence[str], read: Read
    ) -> DeserializationSchema[Any]:
        if read(MISSING) and read(JSON.ignores):
            raise JobDefinitionError(
                f"'{MISSING.key}' and '{JSON.ignores.key}' contradict each other: choose one"
            )
        columns = physical
        if not read(MISSING):  # else columns that nobody wants must be there, too
            columns = self.read_columns(physical, wanted)
        builder = JsonRowDeserializationSchema.builder().type_info(
            row_type_info(columns, "JSON", nested=True)
        )
        builder.table(columns)
        if read(MISSING):
            builder.fail_on_missing_field()
        if read(JSON.ignores):
            builder.null_for_wrong_fields()
        return builder.build()

    def serializer(self, columns: RowType, read: Read) -> SerializationSchema[Any]:
        return JSON.serializer(columns, read)


CHARSET = ConfigOptions.key("raw.charset").string_type().default_value("UTF-8")
ENDIANNESS = (
    ConfigOptions.key("raw.endianness")
    .string_type()
    .default_value("big-endian")
    .one_of("big-endian", "little-endian")
)


class RawFormat(MessageFormat):
    """The value of the only column: text, bytes, a number or a boolean."""

    options = (CHARSET, ENDIANNESS)

    def deserializer(
        self, physical: RowType, wanted: Sequence[str], read: Read
    ) -> DeserializationSchema[Any]:
        return RawFormatDeserializationSchema(_one_field(physical), *_raw_encoding(read))

    def serializer(self, columns: RowType, read: Read) -> SerializationSchema[Any]:
        return RawValueSerializationSchema(_one_field(columns), *_raw_encoding(read))


def _one_field(columns: RowType) -> RowTypeInfo:
    if len(columns.fields) != 1 or isinstance(columns.fields[0].type, _NOT_RAW):
        raise JobDefinitionError(
            "'format' = 'raw' takes one column, of text, bytes, a number or BOOLEAN; the table has "
            + ", ".join(f"{field.name} {field.type}" for field in columns.fields)
        )
    return row_type_info(columns)


def _raw_encoding(read: Read) -> tuple[str, str]:
    return read(CHARSET), read(ENDIANNESS)


ROW_FORMATS: dict[str, MessageFormat] = {
    "csv": CsvFormat(),
    "json": JsonFormat(),
    "raw": RawFormat(),
}
"""Formats whose messages are added rows, by the value of the option ``format``."""
