"""Fields of records: of rows, tuples and dataclasses."""

from __future__ import annotations

import dataclasses
from typing import Any

from millrace.common.types.row import Row

__all__ = ["declared_names", "named_fields", "positions"]


def declared_names(record: Any) -> tuple[str, ...] | None:
    """Names of a record's fields, in order; None if they have no names.

    Example:
        >>> declared_names(Row(a=1, b=2)), declared_names(Row(1, 2)), declared_names((1, 2))
        (('a', 'b'), None, None)
    """
    if isinstance(record, Row):
        return record._fields
    if isinstance(record, tuple):
        names = getattr(record, "_fields", None)
        return None if names is None else tuple(names)
    if dataclasses.is_dataclass(record) and not isinstance(record, type):
        return tuple(field.name for field in dataclasses.fields(record))
    return None


def named_fields(value: Any) -> tuple[tuple[str, ...], tuple[Any, ...]] | None:
    """Names and values of a record's fields; None if it has none.

    Example:
        >>> named_fields((1, "a"))
        (('f0', 'f1'), (1, 'a'))
    """
    names = declared_names(value)
    if isinstance(value, (Row, tuple)):
        return names or positions(len(value)), tuple(value)
    if names is not None:
        return names, tuple(getattr(value, name) for name in names)
    return None


def positions(count: int) -> tuple[str, ...]:
    """Names for unnamed fields: ``f0``, ``f1``, ..., as in Flink."""
    return tuple(f"f{index}" for index in range(count))
