"""Values of an Arrow column in Python, by the column's own type.

Arrow lists a map as pairs; programs have a dict.

    >>> import pyarrow as pa
    >>> column = pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64()))
    >>> column.to_pylist()
    [[('a', 1)], None]
    >>> column_values(column)
    [{'a': 1}, None]
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from millrace.common.types.row import Row, named_row

__all__ = ["column_values", "listed"]

Convert = Callable[[Any], Any]
"""Converter of a value that is not None."""


def column_values(column: Any, records: type[Any] = dict) -> list[Any]:
    """The values of a column, with dicts for maps.

    Args:
        records: what a struct becomes, `Row` or dict.

    Raises:
        ValueError, OverflowError: Python has no such value, for example a date in the year 10000.
    """
    convert = _converter(column.type, records is Row)
    values = listed(column)
    if convert is None:
        return values
    return [None if value is None else convert(value) for value in values]


def listed(column: Any) -> list[Any]:
    """A column as a list, as Arrow makes it. Numbers without nulls are converted by NumPy, which is
    several times faster.
    """
    import pyarrow as pa

    kind = column.type
    numbers = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if numbers and column.null_count == 0:
        values: list[Any] = column.to_numpy(zero_copy_only=False).tolist()
    else:
        values = column.to_pylist()
    return values


@lru_cache(maxsize=256)
def _converter(kind: Any, rows: bool) -> Convert | None:
    """Converter of the values that Arrow lists for a type; None if they stay as they are."""
    import pyarrow as pa

    if pa.types.is_map(kind):
        key, item = _key_converter(kind.key_type), _optional(kind.item_type, rows)
        return lambda pairs: {key(name): item(value) for name, value in pairs}
    if pa.types.is_struct(kind):
        return _struct_converter(kind, rows)
    if _is_list(kind) and _converter(kind.value_type, rows) is not None:
        element = _optional(kind.value_type, rows)
        return lambda values: [element(value) for value in values]
    return None


def _struct_converter(kind: Any, rows: bool) -> Convert | None:
    converters = [_converter(field.type, rows) for field in kind]
    if not rows and not any(converters):
        return None
    names = tuple(kind.names)
    made = [_optional(field.type, rows) for field in kind]

    def fields(value: Any) -> list[Any]:
        return [convert(value[name]) for name, convert in zip(names, made, strict=True)]

    if rows:
        return lambda value: named_row(names, fields(value))
    return lambda value: dict(zip(names, fields(value), strict=True))


def _key_converter(kind: Any) -> Convert:
    """Converter to hashable values: rows for structs, tuples for lists and for the pairs of maps;
    None stays."""
    convert = _hashable_converter(kind)
    if convert is None:
        return lambda value: value
    return lambda value: None if value is None else convert(value)


def _hashable_converter(kind: Any) -> Convert | None:
    import pyarrow as pa

    if pa.types.is_map(kind):
        name, item = _key_converter(kind.key_type), _key_converter(kind.item_type)
        return lambda pairs: tuple((name(one), item(other)) for one, other in pairs)
    if pa.types.is_struct(kind):
        names, made = tuple(kind.names), [_key_converter(field.type) for field in kind]
        return lambda value: named_row(
            names, [key(value[name]) for name, key in zip(names, made, strict=True)]
        )
    if _is_list(kind):
        element = _key_converter(kind.value_type)
        return lambda values: tuple(map(element, values))
    return None


def _optional(kind: Any, rows: bool) -> Convert:
    convert = _converter(kind, rows)
    if convert is None:
        return lambda value: value
    return lambda value: None if value is None else convert(value)


def _is_list(kind: Any) -> bool:
    import pyarrow as pa

    return bool(
        pa.types.is_list(kind)
        or pa.types.is_large_list(kind)
        or pa.types.is_fixed_size_list(kind)
        or pa.types.is_list_view(kind)
        or pa.types.is_large_list_view(kind)
    )
