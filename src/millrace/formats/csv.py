"""CSV files as a source. Flink docs: "CSV format"; the dialect as in `csv_schema`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import BufferedReader
from typing import Any

from millrace.common.errors import SerializationError
from millrace.common.types.batch import RowBatch
from millrace.common.types.row import Row
from millrace.formats.charset import require_line_charset, strip_bom
from millrace.formats.compression import open_binary
from millrace.formats.csv_encoder import CsvBulkWriters, CsvEncoder
from millrace.formats.csv_fields import parse_columns
from millrace.formats.csv_parser import CsvParser
from millrace.formats.csv_schema import CsvColumn, CsvDialect, CsvSchema, CsvSchemaBuilder
from millrace.formats.file_format import FileRange, FormatReader
from millrace.formats.malformed_record import MalformedRecordError
from millrace.formats.records import records_from_columns, require_record_type
from millrace.formats.stream_format import StreamFormat, bounded_lines

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
        start = stream.tell()
        if start > 0:
            with open_binary(path) as beginning:
                layout = self._read_layout(self._parser(beginning, path))
            parser = self._parser(stream, path)
        else:
            parser = self._parser(stream, path)
            layout = self._read_layout(parser)
        return CsvReader(parser, stream, layout, self._record_type)

    def _parser(self, stream: BufferedReader, path: str) -> CsvParser:
        strip_bom(stream, self._charset)
        return CsvParser(self._dialect, self._charset, bounded_lines(stream), stream.tell(), path)

    def _read_layout(self, parser: CsvParser) -> CsvLayout | None:
        """Reads what stands before the first record."""
        header = parser.record() if self._dialect.use_header else None
        if self._dialect.skip_first_data_row:
            parser.record()
        if header is not None:
            return _layout_of_header(header, self._schema, self._dialect)
        if self._dialect.use_header or self._schema is None:
            return None
        return _layout_by_position(self._schema)


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
        parser: CsvParser,
        stream: BufferedReader,
        layout: CsvLayout | None,
        record_type: type[Any],
    ) -> None:
        self._parser = parser
        self._stream = stream
        self._layout = layout
        self._record_type = record_type
        self._rows_at_once = _ROWS_AT_ONCE
        self._finished = layout is None

    def read(self, max_records: int) -> RowBatch[Any]:
        records: list[Any] = []
        self.skipped = 0
        while (left := max_records - len(records) - self.skipped) > 0 and not self._finished:
            records += self._next_records(min(self._rows_at_once, left))
        return RowBatch(records)

    def position(self) -> int:
        return self._parser.position

    def finished(self) -> bool:
        return self._finished

    def close(self) -> None:
        self._stream.close()

    def _next_records(self, count: int) -> list[Any]:
        """Some records; none if the next batch has a malformed one and is to be tried in parts."""
        parser, layout = self._parser, self._layout
        assert layout is not None
        rows = None
        try:
            rows = parser.rows(count)
            if rows is None:
                self._finished = True
                return []
            filled = list(filter(None, rows))
            columns = parse_columns(layout.schema, layout.indices, layout.width, filled)
        except Exception as error:
            if count > 1:
                parser.go_back()
                self._rows_at_once = max(1, count // 8)
            elif not isinstance(error, MalformedRecordError):
                raise  # the file is cut here
            else:
                whole = rows is not None and len(rows[0]) == layout.width
                self.malformed(parser.pass_over(error, whole))
            return []
        parser.accept()
        self._rows_at_once = min(_ROWS_AT_ONCE, 2 * count)
        return records_from_columns(self._record_type, layout.schema.names, columns)


def _layout_by_position(schema: CsvSchema) -> CsvLayout:
    return CsvLayout(schema, range(schema.size()), schema.size())


def _layout_of_header(
    header: list[str], schema: CsvSchema | None, dialect: CsvDialect
) -> CsvLayout:
    """The layout as Jackson finds it; what would give values wrong names is refused."""
    if schema is None:
        schema = CsvSchema(tuple(CsvColumn(name) for name in header), dialect)
    names = schema.names
    repeated = {name for name in names if header.count(name) > 1}
    if repeated:
        raise SerializationError(
            f"the header has more than one column {min(repeated)!r}, of which one would be lost: "
            f"{', '.join(header)}. Name the columns by a schema, which is taken by position with "
            "set_use_header(), or without a header by set_skip_first_data_row()"
        )
    missing = [name for name in names if name not in header]
    moved = tuple(header[: len(names)]) != names
    if dialect.strict_headers and tuple(header) != names:
        raise _wrong_header(header, names, "")
    if not dialect.reorder_columns:
        if moved and not missing:
            raise _wrong_header(header, names, ": set_reorder_columns() takes them by name")
        return _layout_by_position(schema)
    if missing:
        raise _wrong_header(header, names, "")
    return CsvLayout(schema, [header.index(name) for name in names], len(header))


def _wrong_header(header: list[str], names: tuple[str, ...], hint: str) -> SerializationError:
    return SerializationError(
        f"the header has the columns {', '.join(header)}, the schema {', '.join(names)}{hint}"
    )
