"""Direct conversion of CSV lines to Arrow columns, where Arrow reads them as `csv_fields` does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from millrace.common.errors import JobDefinitionError
from millrace.formats.csv_fields import most_of
from millrace.formats.csv_schema import CsvColumn, CsvColumnKind, CsvSchema
from millrace.formats.line_blocks import MAX_RECORD_BYTES
from millrace.formats.malformed_record import MalformedRecordError

if TYPE_CHECKING:
    import pyarrow

__all__ = ["CsvColumns", "require_columns"]

_WHOLE = ("BYTE", "SHORT", "INT", "LONG", "BIG_INT")
_HEXADECIMAL = {b"x": b"0x", b"X": b"0X"}
"""Prefixes of hexadecimal numbers, which Arrow accepts and Python does not. They are searched by
their letter, because one byte is found much faster than two."""


def require_columns(schema: CsvSchema | None) -> None:
    """Refuse a schema without Arrow columns.

    Raises:
        JobDefinitionError: the schema has arrays or decimals.
    """
    for column in schema.columns if schema is not None else ():
        if _arrow_type(column) is None:
            raise JobDefinitionError(
                f"column {column.name!r} cannot be read into columns; with columnar, a schema has "
                "texts, booleans, whole numbers and floats"
            )


class CsvColumns:
    """Reads blocks of lines without quotes; refuses lines that Arrow would read differently.

    Args:
        indices: the fields of a line that are the schema's columns.
        readable: `can_read`; else all that is read is refused.
    """

    def __init__(self, schema: CsvSchema, indices: Sequence[int], readable: bool) -> None:
        import pyarrow as pa
        from pyarrow import csv

        types = [_arrow_type(column) for column in schema.columns]
        self.schema = pa.schema(list(zip(schema.names, types, strict=True)))
        fields = [str(index) for index in range(len(indices))]
        wanted = [str(index) for index in indices]
        quote = schema.dialect.quote_char
        self._odd = [b"\r", *([quote.encode()] if quote else [])]
        self._fields, self._readable = fields, readable
        self._most = [most_of(column) for column in schema.columns]
        self._parse = csv.ParseOptions(delimiter=schema.dialect.column_separator, quote_char=False)
        self._convert = csv.ConvertOptions(
            column_types=dict(zip(wanted, types, strict=True)),
            include_columns=wanted,
            null_values=[""],
            true_values=["true", "TRUE", "True"],
            false_values=["false", "FALSE", "False"],
        )

    @staticmethod
    def can_read(schema: CsvSchema, indices: Sequence[int], width: int, charset: str) -> bool:
        """Whether Arrow supports the schema's columns, and the dialect has only features that Arrow
        has, too.
        """
        dialect = schema.dialect
        special = dialect.null_value is not None or dialect.escape_char is not None
        return (
            charset == "utf-8"
            and not special
            and not dialect.allow_comments
            and dialect.column_separator.isascii()
            and sorted(indices) == list(range(width))
            and all(_arrow_type(column) is not None for column in schema.columns)
        )

    def read(self, block: bytes) -> pyarrow.RecordBatch | None:
        """Records of whole lines; None if they must be read by the row parser."""
        import pyarrow as pa
        from pyarrow import csv

        if not self._readable or len(block) >= MAX_RECORD_BYTES or self._is_odd(block):
            return None
        reading = csv.ReadOptions(
            use_threads=False, block_size=len(block) + 1, column_names=self._fields
        )
        try:
            table = csv.read_csv(pa.BufferReader(block), reading, self._parse, self._convert)
        except (pa.ArrowException, ValueError):
            return None
        columns = [column.combine_chunks() for column in table.columns]
        if not all(map(_is_ordinary, columns, self._most)):
            return None
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _is_odd(self, block: bytes) -> bool:
        """Whether the block has quotes, unusual line ends, or texts that Arrow alone accepts as
        numbers."""
        return any(odd in block for odd in self._odd) or any(
            letter in block and number in block for letter, number in _HEXADECIMAL.items()
        )

    def of(self, columns: Sequence[Sequence[Any]]) -> pyarrow.RecordBatch:
        """Record batch made from values that the row parser has read.

        Raises:
            MalformedRecordError: a number has more than 64 bits.
        """
        import pyarrow as pa

        try:
            arrays = [
                pa.array(values, field.type)
                for values, field in zip(columns, self.schema, strict=True)
            ]
        except (OverflowError, pa.ArrowException) as error:
            raise MalformedRecordError(f"a value does not fit its column: {error}") from None
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def _is_ordinary(column: pyarrow.Array, most: int | None) -> bool:
    """Whether the row parser takes all numbers of a column: none is beyond its type, or a NaN or
    an infinity, for which Arrow has more words than Java."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(column.type):
        return pc.all(pc.is_finite(column)).as_py() is not False
    if most is None or not pa.types.is_integer(column.type):
        return True
    least, greatest = pc.min_max(column).as_py().values()
    return least is None or -most <= least <= greatest < most


def _arrow_type(column: CsvColumn) -> Any:
    """Arrow type of the values that Python reads; None if there is none."""
    import pyarrow as pa

    name = column.type_info.name if column.type_info is not None else ""
    if column.kind is CsvColumnKind.STRING:
        return pa.string()
    if column.kind is CsvColumnKind.BOOLEAN:
        return pa.bool_()
    if column.kind is CsvColumnKind.NUMBER and name in _WHOLE:
        return pa.int64()
    if column.kind is CsvColumnKind.NUMBER and name in ("FLOAT", "DOUBLE"):
        return pa.float64()
    return None
