"""Conversion of JSON objects of a declared type to Arrow columns, many messages in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from millrace.common.types.batch import Batch, ColumnBatch, RowBatch
from millrace.common.types.composite_types import RowTypeInfo
from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.logical_type import LogicalType
from millrace.common.types.logical.python_values import arrow_column
from millrace.common.types.row import named_row
from millrace.formats.json_fields import FieldReading, column_reader, readings_of, struct_of

if TYPE_CHECKING:
    import pyarrow

__all__ = ["JsonColumns"]

_TOGETHER = 2_000
"""Number of messages that are converted at a time, so that intermediate values stay in the
processor's cache."""


class JsonColumns:
    """Reads messages that each hold one JSON object.

    Args:
        row_type: type of the rows.
        strict: whether missing fields are refused; otherwise they are null.
        declared: columns of the table that gets the rows; None if there is no table. Without a
            table, values that columns cannot return exactly are read as rows.

    Example:
        >>> from millrace.common import Types
        >>> columns = JsonColumns(Types.ROW_NAMED(["n"], [Types.LONG()]))
        >>> columns.read([b'{"n": 1}', b'{"more": 2}']).data.to_pydict()
        {'n': [1, None]}
        >>> columns.read([b'{"n": "1"}']) is None
        True
    """

    def __init__(
        self, row_type: RowTypeInfo, strict: bool = False, declared: logical.RowType | None = None
    ) -> None:
        kind = declared or row_type.logical_type
        assert isinstance(kind, logical.RowType)
        self._names = tuple(row_type.get_field_names())
        self._kinds = [field.type for field in kind.fields]
        self._is_table = declared is not None
        self._fields: Sequence[FieldReading] = readings_of(row_type, strict) or ()
        self._getters = list(map(column_reader, range(len(self._names))))
        self._decode: Callable[[bytes], Any] | None = None
        if self._fields:
            self._decode = msgspec.json.Decoder(struct_of(self._names, self._fields, strict)).decode

    def read(self, messages: Sequence[bytes]) -> Batch | None:
        """The rows, as columns if columns can hold their exact values; None if the messages must be
        read one by one.
        """
        if self._decode is None:
            return None
        import pyarrow as pa

        try:
            parts = [
                self._values(messages[start : start + _TOGETHER])
                for start in range(0, len(messages) or 1, _TOGETHER)
            ]
            if not (self._is_table or all(map(self._is_exact, parts))):
                return self._rows(parts)
            columns = [self._columns(part) for part in parts]
        except _REFUSALS:
            return None
        except pa.ArrowException:
            return None
        whole = columns[0]
        if len(parts) > 1:
            whole = [pa.concat_arrays(column) for column in zip(*columns, strict=True)]
        return ColumnBatch(pa.RecordBatch.from_arrays(whole, list(self._names)), form="row")

    def _values(self, messages: Sequence[bytes]) -> list[list[Any]]:
        """Values of each field."""
        assert self._decode is not None
        structs = list(map(self._decode, messages))
        columns = zip(self._getters, self._fields, strict=True)
        return [field.converted(get(structs)) for get, field in columns]

    def _is_exact(self, values: Sequence[list[Any]]) -> bool:
        return all(f.is_exact(column) for f, column in zip(self._fields, values, strict=True))

    def _columns(self, values: Sequence[list[Any]]) -> list[pyarrow.Array]:
        return [_column(v, kind) for v, kind in zip(values, self._kinds, strict=True)]

    def _rows(self, parts: Sequence[Sequence[list[Any]]]) -> RowBatch[Any]:
        names = self._names
        return RowBatch(
            [named_row(names, row) for part in parts for row in zip(*part, strict=True)]
        )


def _column(values: list[Any], kind: LogicalType) -> pyarrow.Array:
    import pyarrow as pa

    element = kind.element_type if isinstance(kind, logical.ArrayType) else kind
    has_nanoseconds = isinstance(element, _TIMESTAMPS) and element.unit == "ns"
    if has_nanoseconds or isinstance(element, _CONVERTED):
        return arrow_column(values, kind)
    return pa.array(values, arrow_type(kind))


_TIMESTAMPS = (logical.TimestampType, logical.LocalZonedTimestampType)
_CONVERTED = (logical.ArrayType, logical.MapType, logical.RowType, logical.DecimalType)
_REFUSALS = (
    *(msgspec.DecodeError, RecursionError),
    *(TypeError, ValueError, ArithmeticError, LookupError, AttributeError),
)
"""Errors of decoding and conversion after which messages are read one by one."""
