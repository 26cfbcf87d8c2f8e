"""Types that name the Python class of their values, for classes that share a logical type.

As Flink's data types that are "bridged to" a class. They are what is written next to state: there a
set is ``STRUCTURED<'python:set', `$` ARRAY<BIGINT>>``, to everybody else an ``ARRAY<BIGINT>``.
"""

from __future__ import annotations

from functools import lru_cache

from millrace.common.types.logical.logical_type import (
    LogicalType,
    RowField,
    StructuredType,
    rewritten,
)

__all__ = ["bridge_of", "bridged", "inner", "parts_of", "unbridged"]

_PREFIX = "python:"
_TYPE = "$"


def bridged(kind: LogicalType, name: str, *parts: tuple[str, LogicalType]) -> StructuredType:
    """The type of values of the class ``name``. ``parts`` are further properties that describe the
    class.

    Example:
        >>> from millrace.common.types.logical.logical_type import BinaryType
        >>> bridged(BinaryType(16), "UUID")
        STRUCTURED<'python:UUID', `$` BINARY(16)>
    """
    fields = ((_TYPE, kind), *parts)
    return StructuredType(tuple(RowField(*field) for field in fields), _PREFIX + name)


def bridge_of(kind: LogicalType) -> str:
    """The name of the class; empty if the type names none."""
    if isinstance(kind, StructuredType) and kind.class_name.startswith(_PREFIX) and kind.fields:
        return kind.class_name.removeprefix(_PREFIX)
    return ""


def parts_of(kind: LogicalType) -> tuple[RowField, ...]:
    """Fields of a bridged type after the first one: further properties of the Python class."""
    return kind.fields[1:] if isinstance(kind, StructuredType) else ()


@lru_cache(maxsize=1024)
def unbridged(kind: LogicalType) -> LogicalType:
    """The type without names of Python classes, at any depth.

    >>> from millrace.common.types.logical.logical_type import ArrayType, BigIntType
    >>> unbridged(ArrayType(bridged(ArrayType(BigIntType()), "set")))
    ARRAY<ARRAY<BIGINT>>
    """
    return rewritten(kind, lambda part: inner(part) if bridge_of(part) else part)


def inner(kind: LogicalType) -> LogicalType:
    """The first child of a type that names a class, without that name."""
    return kind.children()[0]
