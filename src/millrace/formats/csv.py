"""CSV files as a source. Flink docs: "CSV format"; the dialect as in `csv_schema`."""

from __future__ import annotations

import csv
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BufferedReader
from itertools import islice
from typing import Any

from millrace.common.errors import SerializationError
from millrace.common.types.batch import RowBatch
from millrace.common.types.row import Row
from millrace.formats.charset import require_line_charset, strip_bom
from millrace.formats.compression import open_binary
from millrace.formats.csv_encoder import CsvBulkWriters, CsvEncoder
from millrace.formats.csv_rows import csv_options, parse_columns
from millrace.formats.csv_schema import CsvColumn, CsvDialect, CsvSchema, CsvSchemaBuilder
from millrace.formats.file_format import FileRange, FormatReader
from millrace.formats.records import records_from_columns, require_record_type
from millrace.formats.stream_format import StreamFormat

__all__ = ["CsvBulkWriters", "CsvEncoder", "CsvReaderFormat", "CsvSchema", "CsvSchemaBuilder"]

_ROWS_AT_ONCE = 4096


class CsvReaderFormat(StreamFormat[Any]):
    """Each CSV record becomes a `Row` with names, or a dict. A file is read by one subtask.

    Empty lines are skipped. Quoted fields may contain line feeds.

    Raises:
        JobDefinitionError: the record type or the charset cannot be used.

    >>> schema = CsvSchema.builder().add_string_column("word").add_number_column("n").build()
    >>> csv_format = CsvReaderFormat.for_schema(schema, record_type=dict)
    """

    def __init__(
        self, schema: CsvSchema | None, dialect: CsvDialect, record_type: type[Any], charset: str
    ) -> None:
        self._schema = schema
        self._dialect = dialect
        self._record_type = require_record_type(record_type)
        self._charset = require_line_charset(charset)

    @staticmethod
    def for_schema(
        schema: CsvSchema, record_type: type[Any] = Row, charset: str = "utf-8"
    ) -> CsvReaderFormat:
        """Columns and dialect of a schema; records of type ``Row`` or ``dict``."""
        return CsvReaderFormat(schema, schema.dialect, record_type, charset)

    @staticmethod
    def for_header(
        column_separator: str = ",", record_type: type[Any] = dict, charset: str = "utf-8"
    ) -> CsvReaderFormat:
        """Columns as the first line of each file names them, all of them text."""
        dialect = CsvDialect(column_separator=column_separator, use_header=True)
        return CsvReaderFormat(None, dialect, record_type, charset)

    def create_reader(
        self, stream: BufferedReader, path: str, file_range: FileRange
    ) -> FormatReader[Any]:
        if stream.tell() > 0:
            with open_binary(path) as beginning:
                layout = self._read_layout(beginning)
        else:
            layout = self._read_layout(stream)
        return CsvReader(stream, self._rows(stream), layout, self._record_type)

    def _rows(self, stream: BufferedReader) -> Iterator[list[str]]:
        lines: Iterator[str] = map(operator.methodcaller("decode", self._charset), stream)
        if self._dialect.allow_comments:
            lines = (line for line in lines if not line.startswith("#"))
        return csv.reader(lines, **csv_options(self._dialect))

    def _read_layout(self, stream: BufferedReader) -> CsvLayout | None:
        """Reads what stands before the first record."""
        strip_bom(stream, self._charset)
        rows = (row for row in self._rows(stream) if row)
        header = next(rows, None) if self._dialect.use_header else None
        if self._dialect.skip_first_data_row:
            next(rows, None)
        if header is not None:
            return _layout_of_header(header, self._schema, self._dialect)
        if self._dialect.use_header or self._schema is None:
            return None
        return CsvLayout(self._schema, range(self._schema.size()), self._schema.size())


@dataclass(frozen=True, slots=True)
class CsvLayout:
    """Where a file has the schema's columns, and how many fields each record has."""

    schema: CsvSchema
    indices: Sequence[int]
    width: int


class CsvReader(FormatReader[Any]):
    """Reads records to the end of the file; an empty file has no layout."""

    def __init__(
        self,
        stream: BufferedReader,
        rows: Iterator[list[str]],
        layout: CsvLayout | None,
        record_type: type[Any],
    ) -> None:
        self._stream = stream
        self._rows = rows
        self._layout = layout
        self._record_type = record_type
        self._position = stream.tell()
        self._finished = layout is None

    def read(self, max_records: int) -> RowBatch[Any]:
        records: list[Any] = []
        while len(records) < max_records and not self._finished:
            records += self._next_records(min(_ROWS_AT_ONCE, max_records - len(records)))
            # The csv module asks for no line before it needs it: after a record, the stream
            # stands exactly behind it.
            self._position = self._stream.tell()
        return RowBatch(records)

    def position(self) -> int:
        return self._position

    def finished(self) -> bool:
        return self._finished

    def close(self) -> None:
        self._stream.close()

    def _next_records(self, count: int) -> list[Any]:
        try:
            rows = list(islice(self._rows, count))
        except (csv.Error, UnicodeDecodeError) as error:
            raise SerializationError(f"broken CSV: {error}") from None
        self._finished = len(rows) < count
        rows = list(filter(None, rows))
        if not rows or self._layout is None:
            return []
        layout = self._layout
        columns = parse_columns(layout.schema, layout.indices, layout.width, rows)
        return records_from_columns(self._record_type, layout.schema.names, columns)


def _layout_of_header(
    header: list[str], schema: CsvSchema | None, dialect: CsvDialect
) -> CsvLayout:
    if schema is None:
        schema = CsvSchema(tuple(CsvColumn(name) for name in header), dialect)
    names = schema.names
    missing = [name for name in names if name not in header]
    if missing or (dialect.strict_headers and tuple(header) != names):
        raise SerializationError(
            f"the header has the columns {', '.join(header)}, the schema {', '.join(names)}"
        )
    return CsvLayout(schema, [header.index(name) for name in names], len(header))
