"""Conversion of Avro records to Arrow columns, one call per column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from millrace.common.types.batch import ColumnBatch
from millrace.formats.avro.avro_type import AvroType
from millrace.formats.avro.avro_values import read_conversion, unless_none

__all__ = ["AvroColumns"]

_TIMESTAMP_UNITS = {
    "timestamp-millis": "ms",
    "timestamp-micros": "us",
    "local-timestamp-millis": "ms",
    "local-timestamp-micros": "us",
}


class AvroColumns:
    """Makes columns from records whose fields are scalars, or lists of scalars.

    Args:
        kind: the type of the record.
        form: form of the records as Python objects: "row" or "dict".
    """

    def __init__(self, kind: AvroType, form: str) -> None:
        self._form = form
        self._names = [entry.name for entry in kind.fields]
        self._types = [entry.type for entry in kind.fields]
        self.possible = bool(self._types) and all(map(_has_column, self._types))
        """Whether all fields have columns; nested records would become dicts in columns."""
        self._makers: list[Callable[[list[Any]], Any]] | None = None

    def of(self, records: Sequence[dict[str, Any]]) -> ColumnBatch:
        """Columns of records that fastavro has read without logical types.

        Raises:
            ValueError, TypeError, ArithmeticError: a value is outside of what its type holds.
        """
        import pyarrow as pa

        if self._makers is None:
            self._makers = list(map(_maker, self._types))
        pairs = zip(self._names, self._makers, strict=True)
        arrays = [make(list(map(itemgetter(name), records))) for name, make in pairs]
        return ColumnBatch(pa.RecordBatch.from_arrays(arrays, self._names), form=self._form)

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, (tuple(zip(self._names, self._types, strict=True)), self._form)


def _remade(fields: Any, form: str) -> AvroColumns:
    from millrace.formats.avro.avro_type import AvroField

    return AvroColumns(AvroType("record", fields=tuple(AvroField(*pair) for pair in fields)), form)


def _has_column(kind: AvroType) -> bool:
    if kind.kind == "array" and kind.element is not None:
        return _has_column(kind.element)
    return kind.kind not in ("record", "map", "union", "null")


def _maker(kind: AvroType) -> Callable[[list[Any]], Any]:
    """Function that makes a column from raw values."""
    import pyarrow as pa

    target = _arrow_type(kind)
    if kind.logical == "date":
        return lambda values: _in_range(pa.array(values, pa.int32()).view(target))
    if kind.logical in _TIMESTAMP_UNITS:
        unit = pa.timestamp(_TIMESTAMP_UNITS[kind.logical])
        return lambda values: _in_range(pa.array(values, pa.int64()).view(unit).cast(target))
    convert = read_conversion(kind)
    if convert is None:
        return lambda values: pa.array(values, target)
    convert_value = unless_none(convert)
    return lambda values: pa.array(list(map(convert_value, values)), target)


def _arrow_type(kind: AvroType) -> Any:
    """Arrow type as in `millrace.common.types.logical.arrow_type`, except for decimals, whose
    precision the schema gives."""
    import pyarrow as pa

    if kind.kind == "array" and kind.element is not None:
        return pa.list_(_arrow_type(kind.element))
    if kind.logical == "decimal":
        return pa.decimal128(kind.precision, kind.scale)
    if kind.logical in _TIMESTAMP_UNITS:
        return pa.timestamp("us")
    plain = {
        "date": pa.date32(),
        "time-millis": pa.time64("us"),
        "time-micros": pa.time64("us"),
        "boolean": pa.bool_(),
        "int": pa.int32(),
        "long": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "bytes": pa.binary(),
        "fixed": pa.binary(),
    }
    return plain.get(kind.logical or kind.kind, pa.string())


def _in_range(column: Any) -> Any:
    """The column, if Python can represent all its dates; otherwise an error, because programs that
    use records would fail later.

    Raises:
        ValueError, OverflowError: Python cannot represent a date of the column.
    """
    import pyarrow.compute as pc

    for bound in pc.min_max(column).values():
        bound.as_py()
    return column
