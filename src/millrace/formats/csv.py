"""CSV files as a source. Flink docs: "CSV format"; the dialect as in `csv_schema`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from io import BufferedReader
from typing import TYPE_CHECKING, Any

from millrace.common.errors import SerializationError
from millrace.common.types.batch import ColumnBatch, RowBatch
from millrace.common.types.row import Row
from millrace.formats.charset import require_line_charset, strip_bom
from millrace.formats.compression import open_binary
from millrace.formats.csv_columns import CsvColumns, require_columns
from millrace.formats.csv_encoder import CsvBulkWriters, CsvEncoder
from millrace.formats.csv_fields import parse_columns
from millrace.formats.csv_parser import CsvParser
from millrace.formats.csv_schema import CsvColumn, CsvDialect, CsvSchema, CsvSchemaBuilder
from millrace.formats.file_format import FileRange, FormatReader
from millrace.formats.line_blocks import bounded_lines
from millrace.formats.malformed_record import MalformedRecordError
from millrace.formats.records import records_from_columns, require_record_type
from millrace.formats.stream_format import StreamFormat

if TYPE_CHECKING:
    import pyarrow

__all__ = ["CsvBulkWriters", "CsvEncoder", "CsvReaderFormat", "CsvSchema", "CsvSchemaBuilder"]

_LINES_AT_ONCE = 2048
_ROWS_AT_ONCE = 512
"""Number of rows that the processor's cache holds as Python objects; at 4096 rows, each takes 1.5
times as long."""


class CsvReaderFormat(StreamFormat[Any]):
    """Reads each CSV record as a `Row` with names, or as a dict. One subtask reads a file.

    Empty lines are skipped. Quoted fields may contain line feeds.

    Raises:
        JobDefinitionError: the record type or the charset cannot be used.

    >>> schema = CsvSchema.builder().add_string_column("word").add_number_column("n").build()
    >>> csv_format = CsvReaderFormat.for_schema(schema, record_type=dict)
    """

    def __init__(
        self,
        schema: CsvSchema | None,
        dialect: CsvDialect,
        record_type: type[Any],
        charset: str,
        columnar: bool = False,
    ) -> None:
        if columnar:
            require_columns(schema)
        self._columnar = columnar
        self._schema = schema
        self._dialect = dialect
        self._record_type = require_record_type(record_type)
        self._charset = require_line_charset(charset)

    @staticmethod
    def for_schema(
        schema: CsvSchema,
        record_type: type[Any] = Row,
        charset: str = "utf-8",
        columnar: bool = False,
    ) -> CsvReaderFormat:
        """Format with the columns and dialect of a schema; records are of type ``Row`` or ``dict``.

        Args:
            columnar: keep records in columns for `DataStream.map_batches`; functions of single
                records get them as ``record_type``. Whole numbers have 64 bits then.
        """
        return CsvReaderFormat(schema, schema.dialect, record_type, charset, columnar)

    @staticmethod
    def for_header(
        column_separator: str = ",",
        record_type: type[Any] = dict,
        charset: str = "utf-8",
        columnar: bool = False,
    ) -> CsvReaderFormat:
        """Format with the text columns that the first line of each file names."""
        dialect = CsvDialect(column_separator=column_separator, use_header=True)
        return CsvReaderFormat(None, dialect, record_type, charset, columnar)

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
        columns = None
        if layout is not None and (self._columnar or "pyarrow" in sys.modules):
            columns = self._columns(layout)
        reader = CsvReader(parser, stream, layout, self._record_type, columns)
        reader.columnar = self._columnar
        return reader

    def _columns(self, layout: CsvLayout) -> CsvColumns | None:
        place = layout.schema, layout.indices
        readable = CsvColumns.can_read(*place, layout.width, self._charset)
        return CsvColumns(*place, readable) if readable or self._columnar else None

    def _parser(self, stream: BufferedReader, path: str) -> CsvParser:
        strip_bom(stream, self._charset)
        return CsvParser(self._dialect, self._charset, bounded_lines(stream), stream.tell(), path)

    def _read_layout(self, parser: CsvParser) -> CsvLayout | None:
        """Layout of a file, from the lines before the first record; None if the file is empty."""
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
    """Positions of the schema's columns in a file, and the number of fields of each record."""

    schema: CsvSchema
    indices: Sequence[int]
    width: int


class CsvReader(FormatReader[Any]):
    """Reads records up to the end of the file; an empty file has no layout.

    Args:
        columns: reads many lines at once, where they are simple.
    """

    columnar = False
    """Whether records stay in columns."""

    def __init__(
        self,
        parser: CsvParser,
        stream: BufferedReader,
        layout: CsvLayout | None,
        record_type: type[Any],
        columns: CsvColumns | None = None,
    ) -> None:
        self._parser = parser
        self._stream = stream
        self._layout = layout
        self._record_type = record_type
        self._columns = columns
        self._failure: Exception | None = None
        self._closer_look = 0
        """Number of next lines that must be read as rows, because they are not simple."""
        self._rows_at_once = _ROWS_AT_ONCE
        self._finished = layout is None

    def read(self, max_records: int) -> RowBatch[Any] | ColumnBatch:
        records: list[Any] = []
        self.skipped = 0
        while (left := max_records - len(records) - self.skipped) > 0 and not self._finished:
            try:
                batch = self._next(left)
            except MalformedRecordError:
                raise
            except Exception as error:  # the file is cut here: the records before it are good
                if not records and not self.skipped:
                    raise
                self._failure = error
                break
            if isinstance(batch, ColumnBatch):
                return batch
            records += batch
        return RowBatch(records)

    def _next(self, left: int) -> ColumnBatch | list[Any]:
        if self._failure is not None:
            raise self._failure
        batch = self._next_batch(left)
        if batch is not None and self.columnar and batch.num_rows:
            return ColumnBatch(batch, form="dict" if self._record_type is dict else "row")
        if batch is not None:
            return self._records_of([column.to_pylist() for column in batch.columns])
        columns = None if self.columnar else self._next_columns(min(self._rows_at_once, left))
        return [] if columns is None else self._records_of(columns)

    def position(self) -> int:
        return self._parser.position

    def finished(self) -> bool:
        return self._finished

    def close(self) -> None:
        self._stream.close()

    def _records_of(self, columns: Sequence[Sequence[Any]]) -> list[Any]:
        assert self._layout is not None
        return records_from_columns(self._record_type, self._layout.schema.names, columns)

    def _next_batch(self, left: int) -> pyarrow.RecordBatch | None:
        """Next records in columns; None if they must be read as rows."""
        if self._columns is None:
            return None
        if self._closer_look <= 0:
            count = min(_LINES_AT_ONCE, left)
            block = self._parser.block(count)
            batch = self._columns.read(block)
            if batch is not None:
                self._parser.accept()
                return batch
            self._parser.go_back()
            self._closer_look = count
        if not self.columnar:
            return None
        columns = self._next_columns(min(self._rows_at_once, left), self._columns)
        return None if columns is None else self._columns.of(columns)

    def _next_columns(
        self, count: int, typed: CsvColumns | None = None
    ) -> Sequence[Sequence[Any]] | None:
        """Column values of the next records. None at the end, or if the batch has a malformed
        record and must be read in smaller parts."""
        parser, layout = self._parser, self._layout
        assert layout is not None
        rows = None
        try:
            rows = parser.rows(count)
            if rows is None:
                self._finished = True
                return None
            filled = list(filter(None, rows))
            columns = parse_columns(layout.schema, layout.indices, layout.width, filled)
            if typed is not None:
                typed.of(columns)
        except Exception as error:
            if count > 1:
                parser.go_back()
                self._rows_at_once = max(1, count // 8)
            elif not isinstance(error, MalformedRecordError):
                raise  # the file is cut here
            else:
                whole = rows is not None and len(rows[0]) == layout.width
                self.malformed(parser.pass_over(error, whole))
            return None
        parser.accept()
        self._closer_look -= count
        self._rows_at_once = min(_ROWS_AT_ONCE, 2 * count)
        return columns


def _layout_by_position(schema: CsvSchema) -> CsvLayout:
    return CsvLayout(schema, range(schema.size()), schema.size())


def _layout_of_header(
    header: list[str], schema: CsvSchema | None, dialect: CsvDialect
) -> CsvLayout:
    """Layout as Jackson determines it; headers that would give values wrong names are refused."""
    if schema is None:
        schema = CsvSchema(tuple(CsvColumn(name) for name in header), dialect)
    names = schema.names
    repeated = {name for name in names if header.count(name) > 1}
    if repeated:
        raise SerializationError(
            f"the header has more than one column {min(repeated)!r}, and its values would be "
            f"lost: {', '.join(header)}. Declare the columns in a schema, which is applied "
            "by position with set_use_header(), or without a header by "
            "set_skip_first_data_row()"
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
