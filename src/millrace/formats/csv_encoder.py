"""CSV files as a sink's parts. Flink docs: "CSV format"."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from datetime import datetime, time
from decimal import Decimal
from math import isfinite
from numbers import Integral, Number, Real
from shutil import copyfileobj
from types import NoneType
from typing import Any, BinaryIO

from millrace.common.errors import SerializationError
from millrace.common.serialization import (
    BulkWriter,
    BulkWriterFactory,
    Encoder,
    JoiningBulkWriterFactory,
)
from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.formats.charset import require_charset
from millrace.formats.csv_fields import csv_options, require_range
from millrace.formats.csv_schema import CsvColumn, CsvColumnKind, CsvSchema
from millrace.formats.csv_texts import clock_text, java_text
from millrace.formats.encoder_writer import EncoderBulkWriter
from millrace.formats.records import field_columns, field_values
from millrace.formats.scalar_text import scalar_text

__all__ = ["CsvBulkWriters", "CsvEncoder"]

_KINDS: dict[CsvColumnKind, set[type]] = {
    CsvColumnKind.NUMBER: {int, float, Decimal, NoneType},
    CsvColumnKind.BOOLEAN: {bool, NoneType},
}
"""Types that need no closer check, by column kind; columns of other kinds accept all types."""

_CLOCKS = {datetime, time}


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
        """Encoder with the columns and dialect of a schema."""
        return CsvEncoder(schema, charset)

    @staticmethod
    def for_columns(*names: str, header: bool = True) -> CsvEncoder:
        """Encoder with columns of the given names, comma separated.

        Raises:
            JobDefinitionError: no names, or one of them twice.
        """
        builder = CsvSchema.builder().set_use_header(header)
        for name in names:
            builder.add_string_column(name)
        return CsvEncoder(builder.build())

    def header(self) -> bytes:
        """Header line, if the schema has one; else empty."""
        return self._write([self._schema.names]) if self._schema.dialect.use_header else b""

    def encode(self, element: Any) -> bytes:
        return self.encode_all([element])

    def encode_all(self, elements: Sequence[Any]) -> bytes:
        """CSV lines of the records.

        Raises:
            SerializationError: a record has other fields than the schema, or a value that is not of
                its column's kind or cannot be written.
        """
        if not elements:
            return b""
        names = self._schema.names
        rows = [field_values(names, element) for element in elements]
        try:
            return self._lines(zip(*rows, strict=True))
        except Exception as failed:
            error = failed
        self._blame(elements, rows)
        raise SerializationError(f"records cannot be written as CSV: {error}") from error

    def encode_columns(self, batch: ColumnBatch) -> bytes:
        columns = field_columns(self._schema.names, batch)
        if columns is None:
            return self.encode_all(batch.to_rows().values)
        try:
            return self._lines(column.to_pylist() for column in columns)
        except Exception:
            return self.encode_all(batch.to_rows().values)  # it names the record

    def _blame(self, elements: Sequence[Any], rows: Sequence[Sequence[Any]]) -> None:
        """Raise SerializationError for the first value that cannot be written."""
        for element, row in zip(elements, rows, strict=True):
            for column, item in zip(self._schema.columns, row, strict=True):
                try:
                    self._write([[*self._column_texts(column, [item]), 0]])
                except Exception as error:  # also of a __str__
                    raise SerializationError(
                        f"column {column.name!r} ({column.kind.value}) of the record "
                        f"{repr(element)[:300]} cannot be written as CSV: {error}"
                    ) from error

    def _lines(self, columns: Iterable[Sequence[Any]]) -> bytes:
        pairs = zip(self._schema.columns, columns, strict=True)
        texts = [self._column_texts(column, values) for column, values in pairs]
        return self._write(list(zip(*texts, strict=True)))

    def _column_texts(self, column: CsvColumn, values: Sequence[Any]) -> Sequence[Any]:
        if column.kind is CsvColumnKind.ARRAY:
            values = [_joined(column, items) for items in values]
        kinds = set(map(type, values))
        if any(issubclass(kind, Integral) for kind in kinds):
            require_range(column, [v for v in values if _is_whole(v)])
        if any(issubclass(kind, Real) and not issubclass(kind, Integral) for kind in kinds):
            values = [java_text(float(v)) if _is_infinite(v) else v for v in values]
        if not kinds <= _KINDS.get(column.kind, kinds):
            for item in values:
                _require_kind(column, item)
        if bool in kinds:
            values = [str(v).lower() if isinstance(v, bool) else v for v in values]
        if kinds & _CLOCKS:
            values = [clock_text(v) if isinstance(v, (datetime, time)) else v for v in values]
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
            raise ValueError(f"{error}; set a quote or escape character") from None
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
        """Factory with the columns and dialect of a schema; one file per checkpoint and bucket."""
        return CsvWriterFactory(CsvEncoder(schema))


class CsvWriterFactory(JoiningBulkWriterFactory[Any]):
    """Makes the writer of each part file."""

    takes = BatchForm.EITHER

    def __init__(self, encoder: CsvEncoder) -> None:
        self._encoder = encoder

    def create(self, stream: BinaryIO) -> BulkWriter[Any]:
        stream.write(self._encoder.header())
        return EncoderBulkWriter(stream, self._encoder)

    def join(self, files: Iterable[BinaryIO], target: BinaryIO) -> None:
        header = self._encoder.header()
        target.write(header)
        for file in files:
            file.seek(len(header))
            copyfileobj(file, target)


def _joined(column: CsvColumn, items: Any) -> Any:
    separator = column.separator
    if items is None:
        return None
    if isinstance(items, str):
        raise TypeError(f"{items!r} is a text, not a list")
    items = list(items)
    require_range(column, [item for item in items if _is_whole(item)])
    texts = list(map(_element_text, items))
    for text in texts if separator else ():
        if separator in text:
            raise ValueError(f"{text!r} in a list contains the separator of lists {separator!r}")
    return separator.join(texts)


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_infinite(value: Any) -> bool:
    """Whether a number, also one of NumPy, is infinite or NaN."""
    return isinstance(value, Real) and not isinstance(value, Integral) and not isfinite(value)


def _element_text(item: Any) -> str:
    if item is None:
        raise TypeError("a list with None in it has no text")
    if isinstance(item, float):
        return java_text(item)
    return str(item).lower() if isinstance(item, bool) else str(item)


def _require_kind(column: CsvColumn, item: Any) -> None:
    """Raise TypeError for a value that the same schema could not read again."""
    if item is None or item == "":
        return
    if column.kind is CsvColumnKind.BOOLEAN:
        fits = str(item).lower() in ("true", "false")
    elif isinstance(item, str):
        fits = _is_number(column, item)
    else:
        fits = isinstance(item, Number) and not isinstance(item, bool)
    if not fits:
        raise TypeError(f"{item!r} is not a {column.kind.value}")


def _is_number(column: CsvColumn, text: str) -> bool:
    assert column.type_info is not None  # a column of numbers has one
    try:
        scalar_text(column.type_info).read(text)
    except (ValueError, ArithmeticError):
        return False
    return True
