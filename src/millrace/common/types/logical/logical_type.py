"""Flink's logical types: kind, nullability, precision, scale, time zone and nested types.

A logical type says what a value is, not which object holds it in a program or in a file: Python
values, Arrow, Spark and JSON are mappings of it. Semantics and text: Flink docs, "Data Types", and
the classes of ``org.apache.flink.table.types.logical``, whose names are kept.

Types are frozen, compare by structure, and print as Flink prints them:

    >>> RowType.of(("id", BigIntType(nullable=False)), ("tags", ArrayType(VarCharType())))
    ROW<`id` BIGINT NOT NULL, `tags` ARRAY<STRING>>
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import ClassVar

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.base_type import (
    LogicalType,
    literal,
    logical_type,
    quoted,
    required,
    required_one,
)
from millrace.common.types.logical.row_field import RowField, RowFields

__all__ = [
    "ArrayType",
    "BigIntType",
    "BinaryType",
    "BitmapType",
    "BooleanType",
    "CharType",
    "DateType",
    "DayTimeIntervalType",
    "DecimalType",
    "DoubleType",
    "FloatType",
    "FractionalType",
    "IntType",
    "IntegralType",
    "LocalZonedTimestampType",
    "LogicalType",
    "MapType",
    "MultisetType",
    "NullType",
    "NumericType",
    "RawType",
    "RowField",
    "RowType",
    "SmallIntType",
    "StructuredType",
    "TimeType",
    "TimestampType",
    "TinyIntType",
    "VarBinaryType",
    "VarCharType",
    "YearMonthIntervalType",
    "ZonedTimestampType",
    "quoted",
    "rewritten",
]

MAX_LENGTH = 2**31 - 1
"""The length of ``STRING`` and ``BYTES``."""
MAX_PRECISION = 38
MAX_TIME_PRECISION = 9


class NullType(LogicalType):
    """Type of the value NULL only, for a column without a known value."""

    __slots__ = ()
    NAME = "NULL"


class BooleanType(LogicalType):
    """Truth values TRUE and FALSE."""

    __slots__ = ()
    NAME = "BOOLEAN"


class NumericType(LogicalType):
    """Base class of numbers."""

    __slots__ = ()


class IntegralType(NumericType):
    """Base class of whole numbers of a fixed width."""

    __slots__ = ()
    BITS: ClassVar[int] = 0

    def bounds(self) -> tuple[int, int]:
        """Minimum and maximum value.

        >>> TinyIntType().bounds()
        (-128, 127)
        """
        limit = 1 << (self.BITS - 1)
        return -limit, limit - 1

    def holds(self, value: int) -> bool:
        """Whether a number is within the bounds."""
        low, high = self.bounds()
        return low <= value <= high


class TinyIntType(IntegralType):
    """Whole number of one byte."""

    __slots__ = ()
    NAME, BITS = "TINYINT", 8


class SmallIntType(IntegralType):
    """Whole number of two bytes."""

    __slots__ = ()
    NAME, BITS = "SMALLINT", 16


class IntType(IntegralType):
    """Whole number of four bytes."""

    __slots__ = ()
    NAME, BITS = "INT", 32


class BigIntType(IntegralType):
    """Whole number of eight bytes."""

    __slots__ = ()
    NAME, BITS = "BIGINT", 64


class FractionalType(NumericType):
    """Base class of numbers with fraction digits."""

    __slots__ = ()


class FloatType(FractionalType):
    """Floating point number of four bytes, IEEE 754."""

    __slots__ = ()
    NAME = "FLOAT"


class DoubleType(FractionalType):
    """Floating point number of eight bytes, IEEE 754."""

    __slots__ = ()
    NAME = "DOUBLE"


class DateType(LogicalType):
    """A day of the calendar."""

    __slots__ = ()
    NAME = "DATE"


@logical_type
class _SizedType(LogicalType):
    """Base class of types with a length; the type with ``MAX_LENGTH`` has a name of its own."""

    length: int = 1

    UNLIMITED: ClassVar[str] = ""

    def __post_init__(self) -> None:
        required(self.NAME, "length", self.length, 1, MAX_LENGTH)

    def text(self) -> str:
        if self.UNLIMITED and self.length == MAX_LENGTH:
            return self.UNLIMITED
        return f"{self.NAME}({self.length})"


@logical_type
class CharType(_SizedType):
    """Text of exactly ``length`` characters."""

    NAME: ClassVar[str] = "CHAR"


@logical_type
class VarCharType(_SizedType):
    """Text of at most ``length`` characters; without a length: ``STRING``."""

    length: int = MAX_LENGTH

    NAME: ClassVar[str] = "VARCHAR"
    UNLIMITED: ClassVar[str] = "STRING"


@logical_type
class BinaryType(_SizedType):
    """Binary value of exactly ``length`` bytes."""

    NAME: ClassVar[str] = "BINARY"


@logical_type
class VarBinaryType(_SizedType):
    """Binary value of at most ``length`` bytes; without a length: ``BYTES``."""

    length: int = MAX_LENGTH

    NAME: ClassVar[str] = "VARBINARY"
    UNLIMITED: ClassVar[str] = "BYTES"


class BitmapType(LogicalType):
    """A set of INT, as bytes in the portable format of the Roaring libraries."""

    __slots__ = ()
    NAME = "BITMAP"


@logical_type
class DecimalType(FractionalType):
    """Exact number of ``precision`` digits, ``scale`` of them fraction digits."""

    precision: int = 10
    scale: int = 0

    NAME: ClassVar[str] = "DECIMAL"

    def __post_init__(self) -> None:
        required(self.NAME, "precision", self.precision, 1, MAX_PRECISION)
        required(self.NAME, "scale", self.scale, 0, self.precision)

    def text(self) -> str:
        return f"DECIMAL({self.precision}, {self.scale})"


@logical_type
class _ClockType(LogicalType):
    """Base class of types whose seconds have ``precision`` fraction digits."""

    precision: int = 6

    SUFFIX: ClassVar[str] = ""

    def __post_init__(self) -> None:
        required(self.NAME, "precision", self.precision, 0, MAX_TIME_PRECISION)

    def text(self) -> str:
        return f"{self.NAME}({self.precision}){self.SUFFIX}"

    @property
    def unit(self) -> str:
        """The coarsest of ``s``, ``ms``, ``us``, ``ns`` that holds the precision."""
        return ("s", "ms", "us", "ns")[(self.precision + 2) // 3]


@logical_type
class TimeType(_ClockType):
    """A time of day."""

    precision: int = 0

    NAME: ClassVar[str] = "TIME"


@logical_type
class TimestampType(_ClockType):
    """A wall-clock time without a zone."""

    NAME: ClassVar[str] = "TIMESTAMP"


@logical_type
class LocalZonedTimestampType(_ClockType):
    """A point in time, shown in the session's zone."""

    NAME: ClassVar[str] = "TIMESTAMP_LTZ"


@logical_type
class ZonedTimestampType(_ClockType):
    """A wall-clock time with a zone in every value."""

    NAME: ClassVar[str] = "TIMESTAMP"
    SUFFIX: ClassVar[str] = " WITH TIME ZONE"


@logical_type
class YearMonthIntervalType(LogicalType):
    """A span of months. ``fields`` is YEAR, YEAR TO MONTH or MONTH."""

    fields: str = "YEAR TO MONTH"
    year_precision: int = 2

    def __post_init__(self) -> None:
        required_one("INTERVAL", self.fields, ("YEAR", "YEAR TO MONTH", "MONTH"))
        required("INTERVAL", "year precision", self.year_precision, 1, 4)

    def text(self) -> str:
        return "INTERVAL " + self.fields.replace("YEAR", f"YEAR({self.year_precision})")


@logical_type
class DayTimeIntervalType(LogicalType):
    """A span of time. ``fields`` is one of DAY, HOUR, MINUTE, SECOND, or a range of them."""

    fields: str = "DAY TO SECOND"
    day_precision: int = 2
    fractional_precision: int = 6

    def __post_init__(self) -> None:
        required_one("INTERVAL", self.fields, DAY_TIME_FIELDS)
        required("INTERVAL", "day precision", self.day_precision, 1, 6)
        required("INTERVAL", "precision", self.fractional_precision, 0, MAX_TIME_PRECISION)

    def text(self) -> str:
        fields = self.fields.replace("DAY", f"DAY({self.day_precision})")
        return "INTERVAL " + fields.replace("SECOND", f"SECOND({self.fractional_precision})")


UNITS = ("DAY", "HOUR", "MINUTE", "SECOND")
DAY_TIME_FIELDS = (
    *UNITS,
    *(f"{first} TO {last}" for i, first in enumerate(UNITS) for last in UNITS[i + 1 :]),
)


@logical_type
class ArrayType(LogicalType):
    """A list of one type."""

    element_type: LogicalType

    NAME: ClassVar[str] = "ARRAY"

    def children(self) -> tuple[LogicalType, ...]:
        return (self.element_type,)

    def text(self) -> str:
        return f"{self.NAME}<{self.element_type}>"


@logical_type
class MultisetType(ArrayType):
    """Elements of one type, each with the number of its occurrences."""

    NAME: ClassVar[str] = "MULTISET"


@logical_type
class MapType(LogicalType):
    """Keys of one type with values of another."""

    key_type: LogicalType
    value_type: LogicalType

    def children(self) -> tuple[LogicalType, ...]:
        return self.key_type, self.value_type

    def text(self) -> str:
        return f"MAP<{self.key_type}, {self.value_type}>"


@logical_type
class RowType(LogicalType):
    """Named fields, each of a type of its own.

    Raises:
        JobDefinitionError: two fields have one name.
    """

    fields: tuple[RowField, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.fields, RowFields):
            object.__setattr__(self, "fields", RowFields(self.fields))
        seen: set[str] = set()
        for name in self.names:
            if name in seen:
                raise JobDefinitionError(f"a row type has two fields called {name!r}")
            seen.add(name)

    @classmethod
    def of(cls, *fields: tuple[str, LogicalType], nullable: bool = True) -> RowType:
        """A row type of named fields."""
        return RowType(tuple(RowField(name, kind) for name, kind in fields), nullable=nullable)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the fields."""
        return tuple(part.name for part in self.fields)

    def children(self) -> tuple[LogicalType, ...]:
        return tuple(part.type for part in self.fields)

    def field_names(self) -> list[str]:
        """Names of the fields."""
        return list(self.names)

    def field_types(self) -> list[LogicalType]:
        """Types of the fields."""
        return list(self.children())

    def add(self, field: RowField | str, data_type: LogicalType | None = None) -> RowType:
        """A row type with one more field, given as a `RowField` or as name and type; the original
        stays unchanged.

        Raises:
            JobDefinitionError: a name without a type, or one that a field has already.

        Example:
            >>> RowType().add("a", IntType()).add("b", VarCharType(9))
            ROW<`a` INT, `b` VARCHAR(9)>
        """
        if isinstance(field, str):
            if data_type is None:
                raise JobDefinitionError(f"field {field!r} needs a type: add({field!r}, type)")
            field = RowField(field, data_type)
        return replace(self, fields=(*self.fields, field))

    def __getitem__(self, key: int | str) -> RowField:
        """A field by its name or its position.

        Raises:
            KeyError: no field has the name.
        """
        if isinstance(key, int):
            return self.fields[key]
        for part in self.fields:
            if part.name == key:
                return part
        raise KeyError(f"no field of {self} is called {key!r}")

    def __iter__(self) -> Iterator[RowField]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def text(self) -> str:
        return f"ROW<{', '.join(map(str, self.fields))}>"


@logical_type
class StructuredType(RowType):
    """Fields of a class of the program: a dataclass or a named tuple."""

    class_name: str = ""

    def text(self) -> str:
        return f"STRUCTURED<{', '.join((literal(self.class_name), *map(str, self.fields)))}>"


@logical_type
class RawType(LogicalType):
    """Values that only a serializer can read; all other code sees bytes."""

    class_name: str
    serializer: str

    def text(self) -> str:
        return f"RAW({literal(self.class_name)}, {literal(self.serializer)})"


def rewritten(kind: LogicalType, change: Callable[[LogicalType], LogicalType]) -> LogicalType:
    """The type with ``change`` applied to every type in it, innermost first.

    >>> rewritten(ArrayType(IntType()), lambda kind: kind.not_null())
    ARRAY<INT NOT NULL> NOT NULL
    """
    made = kind
    if isinstance(kind, ArrayType):
        made = replace(kind, element_type=rewritten(kind.element_type, change))
    elif isinstance(kind, MapType):
        key, value = rewritten(kind.key_type, change), rewritten(kind.value_type, change)
        made = replace(kind, key_type=key, value_type=value)
    elif isinstance(kind, RowType):
        fields = (replace(part, type=rewritten(part.type, change)) for part in kind.fields)
        made = replace(kind, fields=tuple(fields))
    return change(made)
