"""`MessageFormat`: csv, json or raw text of single rows, by the options of a table.

Flink: ``DeserializationFormatFactory`` and ``SerializationFormatFactory``; Flink docs: "CSV
Format", "JSON Format", "Raw Format".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from millrace.common.config.config_options import ConfigOption, ConfigOptions
from millrace.common.error_policy import ErrorPolicy
from millrace.common.errors import JobDefinitionError
from millrace.common.serialization import (
    DeserializationSchema,
    SerializationSchema,
    SimpleStringSchema,
)
from millrace.common.types.logical.logical_type import RowType, VarCharType
from millrace.common.types.row import Row
from millrace.formats.csv_row import CsvRowDeserializationSchema, CsvRowSerializationSchema
from millrace.formats.json_row import JsonRowDeserializationSchema, JsonRowSerializationSchema
from millrace.table.formats.row_type_info import row_type_info

__all__ = ["ROW_FORMATS", "MessageFormat", "Read"]

Read = Callable[[ConfigOption[Any]], Any]
"""The value of an option of the table."""


class MessageFormat(ABC):
    """Reads and writes rows as single messages or lines.

    Attributes:
        options: beside ``format``.
        ignores: the option that has rows skipped that cannot be read, or None.
        changes: the row kinds that are read.
        accepts: those that are written; none: all of them.
    """

    options: ClassVar[tuple[ConfigOption[Any], ...]] = ()
    ignores: ClassVar[ConfigOption[bool] | None] = None
    changes: ClassVar[frozenset[str]] = frozenset({"+I"})
    accepts: ClassVar[frozenset[str]] = frozenset({"+I"})

    def error_policy(self, read: Read) -> ErrorPolicy:
        """What becomes of messages that cannot be read."""
        skips = self.ignores is not None and read(self.ignores)
        return ErrorPolicy.skip() if skips else ErrorPolicy.fail()

    @staticmethod
    def read_columns(physical: RowType, wanted: Sequence[str]) -> RowType:
        """The wanted columns; all of them if none is wanted, for rows are to be counted."""
        fields = tuple(each for each in physical.fields if each.name in wanted)
        return RowType(fields or physical.fields)

    @abstractmethod
    def deserializer(
        self, physical: RowType, wanted: Sequence[str], read: Read
    ) -> DeserializationSchema[Any]:
        """Reads rows that have the wanted columns of all physical ones."""

    @abstractmethod
    def serializer(self, columns: RowType, read: Read) -> SerializationSchema[Any]:
        """Writes rows of these columns."""


FIELD_DELIMITER = ConfigOptions.key("csv.field-delimiter").string_type().default_value(",")
QUOTE = ConfigOptions.key("csv.quote-character").string_type().default_value('"')
NO_QUOTE = ConfigOptions.key("csv.disable-quote-character").boolean_type().default_value(False)
COMMENTS = ConfigOptions.key("csv.allow-comments").boolean_type().default_value(False)
CSV_IGNORES = ConfigOptions.key("csv.ignore-parse-errors").boolean_type().default_value(False)
ARRAYS = ConfigOptions.key("csv.array-element-delimiter").string_type().default_value(";")
ESCAPE = ConfigOptions.key("csv.escape-character").string_type().no_default_value()
NULL = ConfigOptions.key("csv.null-literal").string_type().no_default_value()


class CsvFormat(MessageFormat):
    """Columns by position, in the order of the table."""

    options = (FIELD_DELIMITER, QUOTE, NO_QUOTE, COMMENTS, CSV_IGNORES, ARRAYS, ESCAPE, NULL)
    ignores = CSV_IGNORES

    def deserializer(
        self, physical: RowType, wanted: Sequence[str], read: Read
    ) -> DeserializationSchema[Any]:
        if read(NO_QUOTE):
            raise JobDefinitionError(
                "'csv.disable-quote-character' is for writing; to read, choose a "
                "'csv.quote-character' that the text does not have"
            )
        builder = CsvRowDeserializationSchema.Builder(row_type_info(physical))
        _set_dialect(builder, read)
        return builder.set_allow_comments(read(COMMENTS)).build()

    def serializer(self, columns: RowType, read: Read) -> SerializationSchema[Any]:
        builder = CsvRowSerializationSchema.Builder(row_type_info(columns)).set_line_delimiter("")
        _set_dialect(builder, read)
        if read(NO_QUOTE):
            builder.disable_quote_character()
        return builder.build()


def _set_dialect(builder: Any, read: Read) -> None:
    builder.set_field_delimiter(read(FIELD_DELIMITER)).set_quote_character(read(QUOTE))
    builder.set_array_element_delimiter(read(ARRAYS))
    if read(ESCAPE) is not None:
        builder.set_escape_character(read(ESCAPE))
    if read(NULL) is not None:
        builder.set_null_literal(read(NULL))


MISSING = ConfigOptions.key("json.fail-on-missing-field").boolean_type().default_value(False)
JSON_IGNORES = ConfigOptions.key("json.ignore-parse-errors").boolean_type().default_value(False)


class JsonFormat(MessageFormat):
    """Objects with the columns' names; fields that are no columns are left out."""

    options = (MISSING, JSON_IGNORES)
    ignores = JSON_IGNORES

    def deserializer(
        self, physical: RowType, wanted: Sequence[str], read: Read
    ) -> DeserializationSchema[Any]:
        columns = physical
        if not read(MISSING):  # else columns that nobody wants must be there, too
            columns = self.read_columns(physical, wanted)
        builder = JsonRowDeserializationSchema.builder().type_info(
            row_type_info(columns, "JSON", nested=True)
        )
        if read(MISSING):
            builder.fail_on_missing_field()
        if read(JSON_IGNORES):
            builder.null_for_wrong_fields()
        return builder.build()

    def serializer(self, columns: RowType, read: Read) -> SerializationSchema[Any]:
        return (
            JsonRowSerializationSchema.builder()
            .with_type_info(row_type_info(columns, "JSON", nested=True))
            .build()
        )


class RawFormat(MessageFormat):
    """The text of the one column there is."""

    def deserializer(
        self, physical: RowType, wanted: Sequence[str], read: Read
    ) -> DeserializationSchema[Any]:
        _require_text(physical)
        return SimpleStringSchema()

    def serializer(self, columns: RowType, read: Read) -> SerializationSchema[Any]:
        _require_text(columns)
        return _OneText()


def _require_text(columns: RowType) -> None:
    if len(columns.fields) != 1 or not isinstance(columns.fields[0].type, VarCharType):
        raise JobDefinitionError(
            "'format' = 'raw' takes one column, of STRING; the table has "
            + ", ".join(f"{each.name} {each.type}" for each in columns.fields)
        )


class _OneText(SerializationSchema[Row]):
    def serialize(self, value: Row) -> bytes:
        text = value[0]
        return b"" if text is None else str(text).encode()


ROW_FORMATS: dict[str, MessageFormat] = {
    "csv": CsvFormat(),
    "json": JsonFormat(),
    "raw": RawFormat(),
}
"""By the value of the option ``format``: those whose messages are rows that are added."""
