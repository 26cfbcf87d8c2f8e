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
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

from millrace.common.errors import JobDefinitionError

__all__ = [
    "ArrayType",
    "BigIntType",
    "BinaryType",
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


def quoted(name: str) -> str:
    """A name as SQL takes it whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


@dataclass(frozen=True, slots=True, repr=False)
class LogicalType:
    """Base of logical types; ``nullable`` says whether a value may be missing.

    Raises:
        JobDefinitionError: a length, precision or scale is out of Flink's range.
    """

    nullable: bool = field(default=True, kw_only=True)

    NAME: ClassVar[str] = ""

    def text(self) -> str:
        """As in SQL, without nullability."""
        return self.NAME

    def children(self) -> tuple[LogicalType, ...]:
        """The types inside."""
        return ()

    def with_nullable(self, nullable: bool) -> Self:
        """The same type, nullable or not (Flink's ``copy(isNullable)``)."""
        return self if nullable == self.nullable else replace(self, nullable=nullable)

    def not_null(self) -> Self:
        """The same type without null."""
        return self.with_nullable(False)

    def __str__(self) -> str:
        return self.text() if self.nullable else f"{self.text()} NOT NULL"

    def __repr__(self) -> str:
        return str(self)


class NullType(LogicalType):
    """No value but null; the type of a column of which no value is known."""

    __slots__ = ()
    NAME = "NULL"


class BooleanType(LogicalType):
    """TRUE or FALSE."""

    __slots__ = ()
    NAME = "BOOLEAN"


class NumericType(LogicalType):
    """Numbers."""

    __slots__ = ()


class IntegralType(NumericType):
    """Whole numbers of a number of bits."""

    __slots__ = ()
    BITS: ClassVar[int] = 0

    def bounds(self) -> tuple[int, int]:
        """The least and the greatest value.

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
    """One byte."""

    __slots__ = ()
    NAME, BITS = "TINYINT", 8


class SmallIntType(IntegralType):
    """Two bytes."""

    __slots__ = ()
    NAME, BITS = "SMALLINT", 16


class IntType(IntegralType):
    """Four bytes."""

    __slots__ = ()
    NAME, BITS = "INT", 32


class BigIntType(IntegralType):
    """Eight bytes."""

    __slots__ = ()
    NAME, BITS = "BIGINT", 64


class FractionalType(NumericType):
    """Numbers with digits after the point."""

    __slots__ = ()


class FloatType(FractionalType):
    """Four bytes, IEEE 754."""

    __slots__ = ()
    NAME = "FLOAT"


class DoubleType(FractionalType):
    """Eight bytes, IEEE 754."""

    __slots__ = ()
    NAME = "DOUBLE"


class DateType(LogicalType):
    """A day of the calendar."""

    __slots__ = ()
    NAME = "DATE"


@dataclass(frozen=True, slots=True, repr=False)
class _SizedType(LogicalType):
    """A type with a length of its own; ``MAX_LENGTH`` has a name of its own."""

    length: int = 1

    UNLIMITED: ClassVar[str] = ""

    def __post_init__(self) -> None:
        required(self.NAME, "length", self.length, 1, MAX_LENGTH)

    def text(self) -> str:
        if self.UNLIMITED and self.length == MAX_LENGTH:
            return self.UNLIMITED
        return f"{self.NAME}({self.length})"


@dataclass(frozen=True, slots=True, repr=False)
class CharType(_SizedType):
    """Text of exactly ``length`` characters."""

    NAME: ClassVar[str] = "CHAR"


@dataclass(frozen=True, slots=True, repr=False)
class VarCharType(_SizedType):
    """Text of at most ``length`` characters; without one: ``STRING``."""

    length: int = MAX_LENGTH

    NAME: ClassVar[str] = "VARCHAR"
    UNLIMITED: ClassVar[str] = "STRING"


@dataclass(frozen=True, slots=True, repr=False)
class BinaryType(_SizedType):
    """Exactly ``length`` bytes."""

    NAME: ClassVar[str] = "BINARY"


@dataclass(frozen=True, slots=True, repr=False)
class VarBinaryType(_SizedType):
    """At most ``length`` bytes; without one: ``BYTES``."""

    length: int = MAX_LENGTH

    NAME: ClassVar[str] = "VARBINARY"
    UNLIMITED: ClassVar[str] = "BYTES"


@dataclass(frozen=True, slots=True, repr=False)
class DecimalType(FractionalType):
    """Exact numbers of ``precision`` digits, ``scale`` of them after the point."""

    precision: int = 10
    scale: int = 0

    NAME: ClassVar[str] = "DECIMAL"

    def __post_init__(self) -> None:
        required(self.NAME, "precision", self.precision, 1, MAX_PRECISION)
        required(self.NAME, "scale", self.scale, 0, self.precision)

    def text(self) -> str:
        return f"DECIMAL({self.precision}, {self.scale})"


@dataclass(frozen=True, slots=True, repr=False)
class _ClockType(LogicalType):
    """A type with seconds of ``precision`` digits after the point."""

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


@dataclass(frozen=True, slots=True, repr=False)
class TimeType(_ClockType):
    """A time of day."""

    precision: int = 0

    NAME: ClassVar[str] = "TIME"


@dataclass(frozen=True, slots=True, repr=False)
class TimestampType(_ClockType):
    """A wall-clock time, of no zone."""

    NAME: ClassVar[str] = "TIMESTAMP"


@dataclass(frozen=True, slots=True, repr=False)
class LocalZonedTimestampType(_ClockType):
    """A point in time, shown in the zone of the session."""

    NAME: ClassVar[str] = "TIMESTAMP_LTZ"


@dataclass(frozen=True, slots=True, repr=False)
class ZonedTimestampType(_ClockType):
    """A wall-clock time with a zone in every value."""

    NAME: ClassVar[str] = "TIMESTAMP"
    SUFFIX: ClassVar[str] = " WITH TIME ZONE"


@dataclass(frozen=True, slots=True, repr=False)
class YearMonthIntervalType(LogicalType):
    """A span of months. ``fields`` is YEAR, YEAR TO MONTH or MONTH."""

    fields: str = "YEAR TO MONTH"
    year_precision: int = 2

    def __post_init__(self) -> None:
        required_one("INTERVAL", self.fields, ("YEAR", "YEAR TO MONTH", "MONTH"))
        required("INTERVAL", "year precision", self.year_precision, 1, 4)

    def text(self) -> str:
        return "INTERVAL " + self.fields.replace("YEAR", f"YEAR({self.year_precision})")


@dataclass(frozen=True, slots=True, repr=False)
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


@dataclass(frozen=True, slots=True, repr=False)
class ArrayType(LogicalType):
    """A list of one type."""

    element_type: LogicalType

    NAME: ClassVar[str] = "ARRAY"

    def children(self) -> tuple[LogicalType, ...]:
        return (self.element_type,)

    def text(self) -> str:
        return f"{self.NAME}<{self.element_type}>"


@dataclass(frozen=True, slots=True, repr=False)
class MultisetType(ArrayType):
    """Elements of one type, each with the number of its occurrences."""

    NAME: ClassVar[str] = "MULTISET"


@dataclass(frozen=True, slots=True, repr=False)
class MapType(LogicalType):
    """Keys of one type with values of another."""

    key_type: LogicalType
    value_type: LogicalType

    def children(self) -> tuple[LogicalType, ...]:
        return self.key_type, self.value_type

    def text(self) -> str:
        return f"MAP<{self.key_type}, {self.value_type}>"


@dataclass(frozen=True, slots=True, repr=False)
class RowField:
    """A field of a row."""

    name: str
    type: LogicalType
    description: str | None = None

    def __str__(self) -> str:
        comment = "" if self.description is None else f" {literal(self.description)}"
        return f"{quoted(self.name)} {self.type}{comment}"

    __repr__ = __str__


@dataclass(frozen=True, slots=True, repr=False)
class RowType(LogicalType):
    """Named fields, each of a type of its own.

    Raises:
        JobDefinitionError: two fields have one name.
    """

    fields: tuple[RowField, ...] = ()

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for name in self.names:
            if name in seen:
                raise JobDefinitionError(f"a row type has two fields called {name!r}")
            seen.add(name)

    @classmethod
    def of(cls, *fields: tuple[str, LogicalType], nullable: bool = True) -> RowType:
        """A row of fields with names."""
        return RowType(tuple(RowField(name, kind) for name, kind in fields), nullable=nullable)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the fields."""
        return tuple(part.name for part in self.fields)

    def children(self) -> tuple[LogicalType, ...]:
        return tuple(part.type for part in self.fields)

    def __iter__(self) -> Iterator[RowField]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def text(self) -> str:
        return f"ROW<{', '.join(map(str, self.fields))}>"


@dataclass(frozen=True, slots=True, repr=False)
class StructuredType(RowType):
    """Fields of a class of the program: a dataclass or a named tuple."""

    class_name: str = ""

    def text(self) -> str:
        return f"STRUCTURED<{', '.join((literal(self.class_name), *map(str, self.fields)))}>"


@dataclass(frozen=True, slots=True, repr=False)
class RawType(LogicalType):
    """Values that only a serializer can read; to everything else they are bytes."""

    class_name: str
    serializer: str

    def text(self) -> str:
        return f"RAW({literal(self.class_name)}, {literal(self.serializer)})"


def rewritten(kind: LogicalType, change: Callable[[LogicalType], LogicalType]) -> LogicalType:
    """The type with ``change`` applied to every type in it, inside first.

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


def literal(text: str) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def required(name: str, what: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise JobDefinitionError(f"the {what} of {name} is between {least} and {most}, not {value}")


def required_one(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise JobDefinitionError(f"{name} {value}: there are {', '.join(allowed)}")
