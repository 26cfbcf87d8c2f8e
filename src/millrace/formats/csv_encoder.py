"""CSV files as a sink's parts. Flink docs: "CSV format"."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any, BinaryIO

from millrace.common.errors import SerializationError
from millrace.common.serialization import BulkWriter, BulkWriterFactory, Encoder
from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.formats.charset import require_charset
from millrace.formats.csv_fields import csv_options
from millrace.formats.csv_schema import CsvColumn, CsvColumnKind, CsvSchema
from millrace.formats.encoder_writer import EncoderBulkWriter
from millrace.formats.records import field_columns, field_values

__all__ = ["CsvBulkWriters", "CsvEncoder"]


class CsvEncoder(Encoder[Any]):
    """Writes records (dicts, Rows, tuples, dataclass instances) as CSV.

    With ``set_use_header`` in the schema, every part file begins with the columns' names. None is
    written as the schema's null value, by default as an empty field.

    >>> encoder = CsvEncoder.for_columns("word", "n")
    >>> encoder.header() + encoder.encode_all([("to, be", 2), {"n": None, "word": "or"}])
    b'word,n\\n"to, be",2\\nor,\\n'
    """

    takes = BatchForm.EITHER

    def __init__(self, schema: CsvSchema, charset: str = "utf-8") -> None:
        self._schema = schema
        self._charset = require_charset(charset)

    @staticmethod
    def for_schema(schema: CsvSchema, charset: str = "utf-8") -> CsvEncoder:
        """Columns and dialect of a schema."""
        return CsvEncoder(schema, charset)

    @staticmethod
    def for_columns(*names: str, header: bool = True) -> CsvEncoder:
        """Columns of these names, comma separated.

        Raises:
            JobDefinitionError: no names, or one of them twice.
        """
        builder = CsvSchema.builder().set_use_header(header)
        for name in names:
            builder.add_string_column(name)
        return CsvEncoder(builder.build())

    def header(self) -> bytes:
        """The line of names, if the schema wants one."""
        return self._write([self._schema.names]) if self._schema.dialect.use_header else b""

    def encode(self, element: Any) -> bytes:
        return self.encode_all([element])

    def encode_all(self, elements: Sequence[Any]) -> bytes:
        """The lines of many records.

        Raises:
            SerializationError: a record has other fields than the schema, or cannot be written.
        """
        if not elements:
            return b""
        names = self._schema.names
        return self._lines(zip(*[field_values(names, e) for e in elements], strict=True))

    def encode_columns(self, batch: ColumnBatch) -> bytes:
        columns = field_columns(self._schema.names, batch)
        if columns is None:
            return self.encode_all(batch.to_rows().values)
        return self._lines(column.to_pylist() for column in columns)

    def _lines(self, columns: Iterable[Sequence[Any]]) -> bytes:
        pairs = zip(self._schema.columns, columns, strict=True)
        texts = [self._column_texts(column, values) for column, values in pairs]
        return self._write(list(zip(*texts, strict=True)))

    def _column_texts(self, column: CsvColumn, values: Sequence[Any]) -> Sequence[Any]:
        if column.kind is CsvColumnKind.ARRAY:
            values = [_joined(column.separator, value) for value in values]
        if bool in set(map(type, values)):
            values = [str(v).lower() if isinstance(v, bool) else v for v in values]
        null = self._schema.dialect.null_value
        return values if null is None else [null if v is None else v for v in values]

    def _write(self, rows: Sequence[Sequence[Any]]) -> bytes:
        separator = self._schema.dialect.line_separator
        try:
            text = self._csv_text(rows, separator)
            if "\r" in text and separator == "\n":
                # The csv module quotes carriage returns only if they could end a line.
                lines = [self._csv_text([row], "\r\n") for row in rows]
                text = "".join([line.removesuffix("\r\n") + separator for line in lines])
        except csv.Error as error:
            raise SerializationError(
                f"a record cannot be written as CSV: {error}; set a quote or escape character"
            ) from None
        return text.encode(self._charset)

    def _csv_text(self, rows: Sequence[Sequence[Any]], line_separator: str) -> str:
        text = io.StringIO()
        options = csv_options(self._schema.dialect)
        csv.writer(text, lineterminator=line_separator, **options).writerows(rows)
        return text.getvalue()


class CsvBulkWriters:
    """Makes factories of CSV writers for `FileSink.for_bulk_format`."""

    @staticmethod
    def for_schema(schema: CsvSchema) -> BulkWriterFactory[Any]:
        """Columns and dialect of a schema; one file per checkpoint and bucket."""
        return CsvWriterFactory(CsvEncoder(schema))


class CsvWriterFactory(BulkWriterFactory[Any]):
    """Makes the writer of each part file."""

    takes = BatchForm.EITHER

    def __init__(self, encoder: CsvEncoder) -> None:
        self._encoder = encoder

    def create(self, stream: BinaryIO) -> BulkWriter[Any]:
        stream.write(self._encoder.header())
        return EncoderBulkWriter(stream, self._encoder)


def _joined(separator: str, value: Any) -> Any:
    return None if value is None else separator.join(map(str, value))
