"""Conversion of columns to Python values, and back: rows, dicts for maps, lists.

What Arrow has for a logical type is told by `arrow_type`; programs have a `Row` where Arrow has a
struct, and a dict where it has a list of pairs.

    >>> import pyarrow as pa
    >>> from millrace.common.types.logical.logical_type import IntType, MapType, VarCharType
    >>> kind = MapType(VarCharType(nullable=False), IntType())
    >>> column = arrow_column([{"a": 1}, None], kind)
    >>> column.to_pylist()
    [[('a', 1)], None]
    >>> python_values(column, kind)
    [{'a': 1}, None]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from decimal import Decimal
from typing import Any

from millrace.common.errors import JobExecutionError
from millrace.common.time.amounts import Instant
from millrace.common.time.nanosecond_datetime import (
    NanosecondDatetime,
    datetime_of,
    nanoseconds_of,
)
from millrace.common.types.column_values import listed
from millrace.common.types.logical.arrow_type import arrow_type, counted_nanoseconds
from millrace.common.types.logical.fitted_decimal import are_near, decimal_fitter
from millrace.common.types.logical.logical_type import (
    ArrayType,
    DecimalType,
    IntegralType,
    LocalZonedTimestampType,
    LogicalType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
)
from millrace.common.types.row import named_row

__all__ = ["arrow_column", "arrow_converter", "python_values"]

Convert = Callable[[Any], Any]
_BEYOND_INTEGERS = 2**64


def python_values(column: Any, kind: LogicalType) -> list[Any]:
    """The values of a column in Python: rows, and dicts for maps.

    Raises:
        JobExecutionError: a date or time is one that Python does not have.
    """

    # Python has no nanoseconds, and pyarrow would want pandas for them
    counted = counted_nanoseconds(column.type)
    try:
        values = listed(column if counted == column.type else column.cast(counted))
    except (OverflowError, ValueError) as error:
        raise JobExecutionError(
            f"Python has no value of type {kind} for a value of a column ({error}): its "
            "dates and times are limited to the years 1 to 9999; in SQL, CAST the column AS "
            "STRING or leave such rows out"
        ) from None
    convert = _python_converter(kind)
    if convert is None:
        return values
    return [None if value is None else convert(value) for value in values]


def _python_converter(kind: LogicalType) -> Convert | None:
    if isinstance(kind, RowType):
        names, converters = kind.names, [_optional(field.type) for field in kind.fields]
        return lambda value: named_row(
            names,
            [convert(value[name]) for name, convert in zip(names, converters, strict=True)],
        )
    if isinstance(kind, MultisetType):
        element = _as_key(kind.element_type)
        return lambda value: {element(key): count for key, count in value}
    if isinstance(kind, MapType):
        key, item = _as_key(kind.key_type), _optional(kind.value_type)
        return lambda value: {key(name): item(entry) for name, entry in value}
    if isinstance(kind, ArrayType) and _python_converter(kind.element_type) is not None:
        element = _optional(kind.element_type)
        return lambda value: [element(entry) for entry in value]
    if isinstance(kind, TimestampType | LocalZonedTimestampType) and kind.unit == "ns":
        zoned = isinstance(kind, LocalZonedTimestampType)
        return lambda value: datetime_of(value, zoned)
    return None


class _MapKey(dict[Any, Any]):
    """A map that is used as a key of another map."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))


def _as_key(kind: LogicalType) -> Convert:
    """Converter to hashable values, with tuples in place of lists."""
    if isinstance(kind, ArrayType):
        element = _as_key(kind.element_type)
        return lambda value: None if value is None else tuple(map(element, value))
    if isinstance(kind, RowType):
        names, converters = kind.names, [_as_key(field.type) for field in kind.fields]
        return lambda value: (
            None
            if value is None
            else named_row(
                names, [made(value[name]) for name, made in zip(names, converters, strict=True)]
            )
        )
    if isinstance(kind, MapType):
        key, item = _as_key(kind.key_type), _as_key(kind.value_type)
        return lambda value: (
            None if value is None else _MapKey({key(name): item(entry) for name, entry in value})
        )
    return _optional(kind)


def _optional(kind: LogicalType) -> Convert:
    convert = _python_converter(kind)
    if convert is None:
        return lambda value: value
    return lambda value: None if value is None else convert(value)


def arrow_column(values: Sequence[Any], kind: LogicalType) -> Any:
    """Python values as an Arrow array of a logical type. Decimals are rounded half up to the scale;
    decimals too great for the type become null.

    Raises:
        pyarrow.ArrowException, TypeError, ValueError, OverflowError, AttributeError: a value is
            not of the type.
    """
    import pyarrow as pa

    if isinstance(kind, IntegralType):
        made = pa.array(values)
        if pa.types.is_floating(made.type) or pa.types.is_decimal(made.type):
            return made.cast(arrow_type(kind))  # which refuses fractions; `array` cuts them off
    if isinstance(kind, DecimalType):
        return _decimals(values, kind)
    convert = arrow_converter(kind)
    return pa.array(values if convert is None else list(map(convert, values)), arrow_type(kind))


def _decimals(values: Sequence[Any], kind: DecimalType) -> Any:
    import pyarrow as pa

    if are_near(values, kind):
        try:
            return pa.array(values, arrow_type(kind))
        except pa.ArrowInvalid:  # a value is to be rounded, or null, or none of the type
            pass
    return pa.array(list(map(decimal_fitter(kind), values)), arrow_type(kind))


def arrow_converter(kind: LogicalType) -> Convert | None:
    """Function that converts a program's values, which may be None, to values that Arrow accepts;
    None if no conversion is needed.
    """
    if isinstance(kind, RowType):
        return _row_converter(kind)
    if isinstance(kind, MapType):
        return _pairs_converter(kind.key_type, kind.value_type)
    if isinstance(kind, MultisetType):
        return _pairs_converter(kind.element_type, None)
    if isinstance(kind, ArrayType):
        element = _nested_converter(kind.element_type)
        if element is not None:
            return lambda value: None if value is None else list(map(element, value))
    if isinstance(kind, TimestampType | LocalZonedTimestampType) and kind.unit == "ns":
        return _nanoseconds
    if isinstance(kind, LocalZonedTimestampType):
        return _point_in_time
    return None


def _nanoseconds(value: Any) -> Any:
    """A time with nanoseconds, as Arrow accepts it."""
    if isinstance(value, Instant):
        return value.seconds * 10**9 + value.nanos
    return nanoseconds_of(value) if isinstance(value, NanosecondDatetime) else value


def _point_in_time(value: Any) -> Any:
    """An `Instant`, as Arrow accepts it."""
    return value.to_datetime() if isinstance(value, Instant) else value


def _nested_converter(kind: LogicalType) -> Convert | None:
    if isinstance(kind, DecimalType):
        return decimal_fitter(kind)
    return _whole if isinstance(kind, IntegralType) else arrow_converter(kind)


def _whole(value: Any) -> Any:
    """An integer that is part of another value. A number with a fraction is refused, because Arrow
    would cut the fraction off.

    Raises:
        ValueError: it is none.
    """
    if isinstance(value, (float, Decimal)):
        # compared first: an integer of 1E999999999 would fill the memory
        if not -_BEYOND_INTEGERS < value < _BEYOND_INTEGERS or value != int(value):
            raise ValueError(f"{value!r} is not an integer of its type")
        return int(value)
    return value


def _pairs_converter(key_type: LogicalType, value_type: LogicalType | None) -> Convert:
    key = _nested_converter(key_type)
    item = None if value_type is None else _nested_converter(value_type)

    def convert(value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value  # constants are in Arrow's form already: pairs
        return [
            (name if key is None else key(name), entry if item is None else item(entry))
            for name, entry in value.items()
        ]

    return convert


def _row_converter(kind: RowType) -> Convert:
    converters = [_nested_converter(field.type) for field in kind.fields]
    names = kind.names

    def convert(value: Any) -> Any:
        if value is None:
            return None
        if isinstance(value, Mapping):
            value = [value.get(name) for name in names]
        elif is_dataclass(value):
            value = [getattr(value, name) for name in names]
        return {
            name: item if convert is None else convert(item)
            for name, item, convert in zip(names, value, converters, strict=True)
        }

    return convert
