"""Parquet columns of canonical savepoints: conversion of keys, namespaces and values from plain
data to Arrow arrays and back.

A column has the Arrow type of the declared logical type (`arrow_type`). Values that do not fit it
exactly are in a second, untyped column of tagged msgpack, so nothing is rounded, widened or lost.
Without a declared type, it is inferred from the first values.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.bridged import bridge_of, bridged, inner
from millrace.common.types.logical.logical_type import LogicalType
from millrace.common.types.logical.parser import parse_type
from millrace.common.types.record_fields import positions
from millrace.common.types.standard_types import DurationTypeInfo, UuidTypeInfo, ZonedTimeTypeInfo
from millrace.common.types.type_information import LOGICAL_TYPES, PickledBytesTypeInfo
from millrace.state.serialization.schema import ENUM, VERSION, Schema
from millrace.state.serialization.tagged_values import dump_tagged, load_tagged

__all__ = [
    "UNTYPED",
    "StateColumn",
    "column_of",
    "common_type",
    "merge_by_fit",
    "schema_of_values",
    "split_by_fit",
]

_NONE = type(None)


class StateColumn(ABC):
    """Writes plain data of one type to Arrow arrays and reads it back. The value None is written
    as null."""

    arrow: pa.DataType

    @abstractmethod
    def fits(self, value: Any) -> bool:
        """Whether a value other than None is read back exactly as it was written."""

    @abstractmethod
    def write(self, values: list[Any]) -> pa.Array:
        """Array of ``values``, each of which fits or is None."""

    def read(self, array: pa.Array, pickle_allowed: bool) -> list[Any]:
        """Read values from an array: the inverse of `write`."""
        if array.null_count == len(array):  # encoded, millions of nulls may be a few bytes
            return [None] * len(array)
        return self._values(array, pickle_allowed)

    @abstractmethod
    def _values(self, array: pa.Array, pickle_allowed: bool) -> list[Any]:
        """Values of an array that has at least one non-null value."""

    def fit_all(self, values: list[Any]) -> bool:
        """Whether each of many values fits or is None."""
        return all(value is None or self.fits(value) for value in values)


class _Leaf(StateColumn):
    """Column of values of one builtin type: the array is built as ``stored``, then viewed as
    ``arrow``.

    ``within`` says whether a value of that type is within the bounds of the column.
    """

    def __init__(
        self,
        kind: type,
        arrow: pa.DataType,
        stored: pa.DataType | None = None,
        within: Callable[[Any], bool] | None = None,
    ) -> None:
        self.arrow = arrow
        self._kind = kind
        self._stored = stored or arrow
        self._within = within

    def fits(self, value: Any) -> bool:
        return type(value) is self._kind and (self._within is None or self._within(value))

    def fit_all(self, values: list[Any]) -> bool:
        if not set(map(type, values)) <= {self._kind, _NONE}:
            return False
        return self._within is None or all(self._within(v) for v in values if v is not None)

    def write(self, values: list[Any]) -> pa.Array:
        array = pa.array(values, self._stored)
        return array if self._stored == self.arrow else array.view(self.arrow)

    def _values(self, array: pa.Array, pickle_allowed: bool) -> list[Any]:
        if self._stored != self.arrow:
            array = array.view(self._stored)
        if array.null_count == 0 and pa.types.is_primitive(self._stored):
            values: list[Any] = array.to_numpy(zero_copy_only=False).tolist()
            return values
        return list(array.to_pylist())


class _Integer(_Leaf):
    """Column of integers within bounds, which are checked for a whole list in one step."""

    def __init__(self, arrow: pa.DataType, within: range, stored: pa.DataType | None = None):
        super().__init__(int, arrow, stored, within.__contains__)
        self._range = within

    def fit_all(self, values: list[Any]) -> bool:
        kinds = set(map(type, values))
        if not kinds <= {int, _NONE}:
            return False
        present = values if _NONE not in kinds else [v for v in values if v is not None]
        return not present or (min(present) in self._range and max(present) in self._range)


class _Untyped(StateColumn):
    """Column of values of any type, as tagged msgpack."""

    arrow = pa.large_binary()

    def fits(self, value: Any) -> bool:
        return True

    def fit_all(self, values: list[Any]) -> bool:
        return True

    def write(self, values: list[Any]) -> pa.Array:
        return pa.array([None if v is None else dump_tagged(v) for v in values], self.arrow)

    def _values(self, array: pa.Array, pickle_allowed: bool) -> list[Any]:
        return [
            None if data is None else load_tagged(data, pickle_allowed)
            for data in array.to_pylist()
        ]


_UNTYPED_COLUMN = _Untyped()


class _Struct(StateColumn):
    """Column of tuples, with one column per field."""

    def __init__(self, fields: Sequence[tuple[str, StateColumn]]) -> None:
        self._columns = [column for _, column in fields]
        self._width = len(fields)
        self.arrow = pa.struct([pa.field(name, column.arrow) for name, column in fields])

    def fits(self, value: Any) -> bool:
        return (
            type(value) is tuple
            and len(value) == self._width
            and all(v is None or c.fits(v) for c, v in zip(self._columns, value, strict=True))
        )

    def fit_all(self, values: list[Any]) -> bool:
        kinds = set(map(type, values))
        if not kinds <= {tuple, _NONE}:
            return False
        present = values if _NONE not in kinds else [v for v in values if v is not None]
        if not set(map(len, present)) <= {self._width}:
            return False
        fields = zip(self._columns, zip(*present, strict=True), strict=False)
        return all(column.fit_all(list(field_values)) for column, field_values in fields)

    def write(self, values: list[Any]) -> pa.Array:
        missing = [value is None for value in values]
        if any(missing):
            nothing = (None,) * self._width
            values = [nothing if value is None else value for value in values]
        parts = list(zip(*values, strict=True)) or [()] * self._width
        arrays = [
            column.write(list(part)) for column, part in zip(self._columns, parts, strict=True)
        ]
        mask = pa.array(missing) if any(missing) else None
        return pa.StructArray.from_arrays(arrays, fields=list(self.arrow), mask=mask)

    def _values(self, array: pa.Array, pickle_allowed: bool) -> list[Any]:
        parts = [
            column.read(part, pickle_allowed)
            for column, part in zip(self._columns, array.flatten(), strict=True)
        ]
        values: list[Any] = list(zip(*parts, strict=True))
        return _with_nulls(values, array)


class _List(StateColumn):
    """Column of collections, with elements of one type."""

    def __init__(self, kind: Any, element: StateColumn) -> None:
        self._kind = kind
        self._element = element
        self.arrow = pa.large_list(element.arrow)

    def fits(self, value: Any) -> bool:
        return type(value) is self._kind and self._element.fit_all(list(value))

    def write(self, values: list[Any]) -> pa.Array:
        elements = [item for value in values if value is not None for item in value]
        offsets = _offsets([0 if value is None else len(value) for value in values])
        mask = _mask(values)
        return pa.LargeListArray.from_arrays(
            offsets, self._element.write(elements), type=self.arrow, mask=mask
        )

    def _values(self, array: pa.Array, pickle_allowed: bool) -> list[Any]:
        elements = self._element.read(array.flatten(), pickle_allowed)
        lengths = pc.fill_null(pc.list_value_length(array), 0).to_pylist()
        kind, values, start = self._kind, [], 0
        for length in lengths:
            values.append(kind(elements[start : start + length]))
            start += length
        return _with_nulls(values, array)


class _Map(StateColumn):
    """Column of dicts. None as a key does not fit, because Parquet maps cannot have null keys."""

    def __init__(self, key: StateColumn, value: StateColumn) -> None:
        self._key = key
        self._value = value
        self.arrow = pa.map_(key.arrow, value.arrow)

    def fits(self, value: Any) -> bool:
        return (
            type(value) is dict
            and None not in value
            and self._key.fit_all(list(value))
            and self._value.fit_all(list(value.values()))
        )

    def write(self, values: list[Any]) -> pa.Array:
        keys = [key for value in values if value is not None for key in value]
        items = [item for value in values if value is not None for item in value.values()]
        offsets = _offsets([0 if value is None else len(value) for value in values])
        return pa.MapArray.from_arrays(
            pc.cast(pa.array(offsets), pa.int32()),
            self._key.write(keys),
            self._value.write(items),
            type=self.arrow,
            mask=_mask(values),
        )

    def _values(self, array: pa.Array, pickle_allowed: bool) -> list[Any]:
        offsets = array.offsets.to_pylist()
        first, last = offsets[0], offsets[-1]
        keys = self._key.read(array.keys[first:last], pickle_allowed)
        items = self._value.read(array.items[first:last], pickle_allowed)
        maps = [
            dict(zip(keys[a - first : b - first], items[a - first : b - first], strict=True))
            for a, b in pairwise(offsets)
        ]
        return _with_nulls(maps, array)


class _WithUntyped(StateColumn):
    """Column of values within a record or collection. A typed column is combined with an untyped
    column for values that do not fit, so one such value does not make the whole record untyped.
    """

    def __init__(self, inner: StateColumn) -> None:
        self._inner = inner
        self.arrow = pa.struct([("value", inner.arrow), ("untyped", _UNTYPED_COLUMN.arrow)])

    def fits(self, value: Any) -> bool:
        return True

    def fit_all(self, values: list[Any]) -> bool:
        return True

    def write(self, values: list[Any]) -> pa.Array:
        arrays = split_by_fit(self._inner, values)
        mask = _mask(values)
        return pa.StructArray.from_arrays(arrays, fields=list(self.arrow), mask=mask)

    def _values(self, array: pa.Array, pickle_allowed: bool) -> list[Any]:
        fitting, rest = array.flatten()
        return merge_by_fit(self._inner, fitting, rest, pickle_allowed)


def split_by_fit(column: StateColumn, values: list[Any]) -> list[Any]:
    """Write values as two arrays: the values that fit the column, and the remaining values,
    untyped."""
    if column.fit_all(values):
        return [column.write(values), pa.nulls(len(values), _UNTYPED_COLUMN.arrow)]
    fits = [value is not None and column.fits(value) for value in values]
    pairs = list(zip(values, fits, strict=True))
    return [
        column.write([value if there else None for value, there in pairs]),
        _UNTYPED_COLUMN.write([None if there else value for value, there in pairs]),
    ]


def merge_by_fit(column: StateColumn, fitting: Any, rest: Any, pickle_allowed: bool) -> list[Any]:
    """Read the two arrays of `split_by_fit`."""
    values = column.read(fitting, pickle_allowed)
    if rest.null_count == len(rest):
        return values
    others = _UNTYPED_COLUMN.read(rest, pickle_allowed)
    pairs = zip(values, others, strict=True)
    return [other if value is None else value for value, other in pairs]


def _offsets(lengths: list[int]) -> Any:
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))).astype(np.int64)


def _mask(values: list[Any]) -> pa.Array | None:
    missing = [value is None for value in values]
    return pa.array(missing) if any(missing) else None


def _with_nulls(values: list[Any], array: pa.Array) -> list[Any]:
    if array.null_count == 0:
        return values
    valid = array.is_valid().to_pylist()
    return [value if there else None for value, there in zip(values, valid, strict=True)]


def _is_valid_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class _Text(_Leaf):
    """Column of strings without lone surrogates, which UTF-8 cannot encode; the column may exceed 2
    GB.
    """

    def __init__(self) -> None:
        super().__init__(str, pa.large_string(), within=_is_valid_utf8)

    def fit_all(self, values: list[Any]) -> bool:
        if not set(map(type, values)) <= {str, _NONE}:
            return False
        return _is_valid_utf8("".join(filter(None, values)))


_PLAIN_TYPES: dict[LogicalType, LogicalType] = {
    logical.FloatType(): logical.DoubleType(),
    logical.DecimalType(38, 0): logical.BigIntType(),
    logical.DecimalType(38, 18): logical.VarCharType(),
    ZonedTimeTypeInfo().bridged_type: logical.TimeType(6),
    logical.ZonedTimestampType(6): logical.TimestampType(6),
    UuidTypeInfo().bridged_type: logical.BinaryType(16),
}
"""Types whose plain data has another type: FLOAT is kept in eight bytes, integers of any size in 64
bits if they fit, decimals as digits. Times with a zone do not fit and are untyped."""
_DAY = 86_400_000_000
_INT32, _INT64 = pa.int32(), pa.int64()
_NUMBERED: dict[LogicalType, tuple[range, pa.DataType]] = {
    logical.DateType(): (range(-719_162, 2_932_897), _INT32),
    logical.TimeType(6): (range(_DAY), _INT64),
    logical.TimestampType(6): (range(-(1 << 63), 1 << 63), _INT64),
    DurationTypeInfo().bridged_type: (range(-(1 << 63), 1 << 63), _INT64),
}
"""Types whose plain data is an integer: its bounds, and the integer type below the Arrow type."""


def _leaf(kind: LogicalType) -> StateColumn:
    """Column for a type that has no component types."""
    if isinstance(kind, logical.IntegralType):
        low, high = kind.bounds()
        return _Integer(arrow_type(kind), range(low, high + 1))
    if kind in _NUMBERED:
        return _Integer(arrow_type(kind), *_NUMBERED[kind])
    if isinstance(kind, logical.BinaryType):
        return _Leaf(bytes, arrow_type(kind), within=lambda data: len(data) == kind.length)
    if isinstance(kind, (logical.CharType, logical.VarCharType)):
        return _Text()
    value_class = _CLASSES.get(type(kind))
    if value_class is None:
        return _UNTYPED_COLUMN
    return _Leaf(value_class, pa.large_binary() if value_class is bytes else arrow_type(kind))


_CLASSES: dict[type[LogicalType], type] = {
    logical.BooleanType: bool, logical.DoubleType: float, logical.VarBinaryType: bytes
}  # fmt: skip


@lru_cache(maxsize=1024)
def column_of(schema: Schema) -> StateColumn:
    """Column for plain data of a schema.

    Raises:
        ValueError: the schema is malformed.
    """
    try:
        return _column(parse_type(schema), 0)
    except JobDefinitionError as error:
        raise ValueError(str(error)) from error


def _column(kind: LogicalType, depth: int) -> StateColumn:
    plain, bridge = _PLAIN_TYPES.get(kind, kind), bridge_of(kind)
    if bridge.startswith(ENUM):
        plain = logical.VarCharType()
    loose = bridge.startswith(ENUM) or isinstance(plain, (logical.TimeType, logical.TimestampType))
    if depth and loose and plain != kind:  # with and without a zone; flags are numbers
        return _WithUntyped(_leaf(plain))
    if plain != kind:
        return _leaf(plain)
    if bridge:
        return _bridged(bridge, inner(kind), depth)
    if isinstance(kind, logical.ArrayType):
        return _List(list, _column(kind.element_type, depth + 1))
    if isinstance(kind, logical.MapType):
        return _Map(_column(kind.key_type, depth + 1), _column(kind.value_type, depth + 1))
    if isinstance(kind, logical.StructuredType):
        return _UNTYPED_COLUMN if kind in _TUPLES else _struct(kind.fields, depth)
    if isinstance(kind, logical.RowType):
        return _struct((_ROW_KIND, *kind.fields), depth)
    is_serialized = isinstance(kind, logical.RawType) and kind.serializer.startswith(VERSION)
    return _leaf(logical.VarBinaryType() if is_serialized else kind)


_ROW_KIND = logical.RowField("row_kind", logical.BigIntType())
_TUPLES = (LOGICAL_TYPES["COMPLEX"],)
"""Structured types whose plain data is not a tuple of their fields. Their values are untyped."""


def _bridged(bridge: str, kind: LogicalType, depth: int) -> StateColumn:
    """Column for values of a Python class."""
    if bridge in _COLLECTIONS and isinstance(kind, logical.ArrayType):
        return _List(_COLLECTIONS[bridge], _column(kind.element_type, depth + 1))
    if isinstance(kind, logical.RowType):
        fields = kind.fields if bridge == "tuple" else (_ROW_KIND, *kind.fields)
        return _struct(fields, depth)
    return _UNTYPED_COLUMN


_COLLECTIONS: dict[str, Any] = {"set": set, "frozenset": frozenset, "tuple": tuple}


def _struct(fields: Sequence[logical.RowField], depth: int) -> StateColumn:
    names = [field.name for field in fields]
    if not names or len(set(names)) != len(names):
        return _UNTYPED_COLUMN  # Parquet needs fields with different names
    return _Struct([(field.name, _column(field.type, depth + 1)) for field in fields])


_INFERRED: dict[type, LogicalType] = {
    bool: logical.BooleanType(),
    int: logical.BigIntType(),
    float: logical.DoubleType(),
    str: logical.VarCharType(),
    bytes: logical.VarBinaryType(),
}


def schema_of_values(values: Sequence[Any]) -> Schema:
    """Schema of values without a declared type: their common type, else untyped."""
    return str(common_type(values, 0))


def common_type(values: Sequence[Any], depth: int) -> LogicalType:
    """Common type of values, down to ``depth`` levels of nesting; `UNTYPED` if they have none."""
    kinds = set(map(type, values)) - {_NONE}
    if len(kinds) != 1:
        return UNTYPED
    (kind,) = kinds
    if kind is tuple and depth < 4:
        present = [value for value in values if value is not None]
        widths = set(map(len, present))
        if len(widths) == 1 and widths != {0}:
            parts = [common_type(part, depth + 1) for part in zip(*present, strict=True)]
            names = positions(len(parts))
            return bridged(logical.RowType.of(*zip(names, parts, strict=True)), "tuple")
    return _INFERRED.get(kind, UNTYPED)


UNTYPED = PickledBytesTypeInfo().bridged_type
"""Type of tagged msgpack."""
