"""`PARAMETERS`: for each kind of parameter in a signature, the argument types that it accepts and
the type to which each is cast.

A name in angle brackets is a family of types, which takes its members as they are. A type's own
name takes what Flink casts implicitly to it (``LogicalTypeCasts.supportsImplicitCast``).
"""

from __future__ import annotations

from collections.abc import Callable

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType

__all__ = ["PARAMETERS", "accepted", "family_of", "implicit_cast"]

CHARACTERS = (logical.CharType, logical.VarCharType)
BYTES = (logical.BinaryType, logical.VarBinaryType)
APPROXIMATE = (logical.FloatType, logical.DoubleType)
TIMESTAMPS = (
    logical.TimestampType,
    logical.LocalZonedTimestampType,
    logical.ZonedTimestampType,
)
INTERVALS = (logical.YearMonthIntervalType, logical.DayTimeIntervalType)
NUMBERS: tuple[type[LogicalType], ...] = (
    logical.TinyIntType,
    logical.SmallIntType,
    logical.IntType,
    logical.BigIntType,
    logical.DecimalType,
    logical.FloatType,
    logical.DoubleType,
)
"""From the narrowest to the widest: each is cast implicitly to those after it."""


def _family(*members: type[LogicalType]) -> Callable[[LogicalType], LogicalType | None]:
    return lambda kind: kind if isinstance(kind, members) else None


def _implicit(
    target: LogicalType, *sources: type[LogicalType]
) -> Callable[[LogicalType], LogicalType | None]:
    def taken(kind: LogicalType) -> LogicalType | None:
        if type(kind) is type(target):
            return kind
        return target.with_nullable(kind.is_nullable) if isinstance(kind, sources) else None

    return taken


def _up_to(target: LogicalType) -> Callable[[LogicalType], LogicalType | None]:
    return _implicit(target, *NUMBERS[: NUMBERS.index(type(target))])


def _integers(kind: LogicalType) -> LogicalType | None:
    """Type for a parameter ARRAY<INT>, to which arrays of smaller integers are cast; None for
    other types."""
    if type(kind) is not logical.ArrayType:
        return None
    element = _up_to(logical.IntType())(kind.element_type)
    return None if element is None else logical.ArrayType(element, nullable=kind.is_nullable)


PARAMETERS: dict[str, Callable[[LogicalType], LogicalType | None]] = {
    "<ANY>": lambda kind: kind,
    "<CHARACTER_STRING>": _family(*CHARACTERS),
    "<BINARY_STRING>": _family(*BYTES),
    "<STRING>": _family(*CHARACTERS, *BYTES),
    "<NUMERIC>": _family(logical.IntegralType, logical.DecimalType, *APPROXIMATE),
    "<EXACT_NUMERIC>": _family(logical.IntegralType, logical.DecimalType),
    "<INTEGER_NUMERIC>": _family(logical.IntegralType),
    "<APPROXIMATE_NUMERIC>": _family(*APPROXIMATE),
    "<DATETIME>": _family(logical.DateType, logical.TimeType, *TIMESTAMPS),
    "<TIMESTAMP>": _family(*TIMESTAMPS),
    "<INTERVAL>": _family(*INTERVALS),
    "<CONSTRUCTED>": _family(logical.ArrayType, logical.MapType, logical.RowType),
    "ARRAY": lambda kind: kind if type(kind) is logical.ArrayType else None,
    "MULTISET": _family(logical.MultisetType),
    "MAP": _family(logical.MapType),
    "ROW": _family(logical.RowType),
    "BITMAP": _family(logical.BitmapType),
    "ARRAY<INT>": _integers,
    "BOOLEAN": _implicit(logical.BooleanType(), *CHARACTERS),
    "STRING": _implicit(logical.VarCharType(), *CHARACTERS),
    "BYTES": _implicit(logical.VarBinaryType(), *BYTES),
    "TINYINT": _up_to(logical.TinyIntType()),
    "SMALLINT": _up_to(logical.SmallIntType()),
    "INT": _up_to(logical.IntType()),
    "BIGINT": _up_to(logical.BigIntType()),
    "DOUBLE": _up_to(logical.DoubleType()),
    "DATE": _implicit(logical.DateType(), logical.TimestampType),
    "TIME": _implicit(logical.TimeType()),
    "TIMESTAMP": _implicit(
        logical.TimestampType(3), logical.DateType, logical.LocalZonedTimestampType
    ),
    "TIMESTAMP_LTZ": _implicit(
        logical.LocalZonedTimestampType(3), logical.TimestampType, logical.DateType
    ),
    "INTERVAL DAY": _family(logical.DayTimeIntervalType),
    "INTERVAL MONTH": _family(logical.YearMonthIntervalType),
}


def accepted(parameter: str, kind: LogicalType) -> LogicalType | None:
    """Type to which an argument is cast for a parameter; None if the parameter does not accept it.

    >>> accepted("DOUBLE", logical.IntType())
    DOUBLE
    >>> accepted("<NUMERIC>", logical.BooleanType()) is None
    True
    """
    if isinstance(kind, logical.NullType):  # of arrays, maps and rows it would have no parts
        return None if parameter in _WITH_PARTS else _OF_NULL.get(parameter, kind)
    return PARAMETERS[parameter](kind)


_WITH_PARTS = ("ARRAY", "MAP", "MULTISET", "ROW", "<CONSTRUCTED>")
_OF_NULL: dict[str, LogicalType] = {
    "<CHARACTER_STRING>": logical.VarCharType(),
    "<STRING>": logical.VarCharType(),
    "<BINARY_STRING>": logical.VarBinaryType(),
    "<NUMERIC>": logical.IntType(),
    "<INTEGER_NUMERIC>": logical.IntType(),
    "<EXACT_NUMERIC>": logical.IntType(),
    "<APPROXIMATE_NUMERIC>": logical.DoubleType(),
    "<DATETIME>": logical.TimestampType(3),
    "<TIMESTAMP>": logical.TimestampType(3),
    "BITMAP": logical.BitmapType(),
    "ARRAY<INT>": logical.ArrayType(logical.IntType()),
    "BOOLEAN": logical.BooleanType(),
    "STRING": logical.VarCharType(),
    "BYTES": logical.VarBinaryType(),
    "TINYINT": logical.TinyIntType(),
    "SMALLINT": logical.SmallIntType(),
    "INT": logical.IntType(),
    "BIGINT": logical.BigIntType(),
    "DOUBLE": logical.DoubleType(),
    "DATE": logical.DateType(),
    "TIME": logical.TimeType(),
    "TIMESTAMP": logical.TimestampType(3),
    "TIMESTAMP_LTZ": logical.LocalZonedTimestampType(3),
}


def implicit_cast(given: LogicalType, wanted: LogicalType) -> LogicalType | None:
    """Type to which a value is cast for a declared type; None if there is no such cast. Only casts
    within a family of types, and from numbers to wider numbers, are allowed.

    >>> implicit_cast(logical.IntType(nullable=False), logical.BigIntType())
    BIGINT NOT NULL
    >>> implicit_cast(logical.DoubleType(), logical.BigIntType()) is None
    True
    """
    if isinstance(given, logical.NullType):
        return wanted.with_nullable(True)
    widths = {number_type: index for index, number_type in enumerate(NUMBERS)}
    if type(given) in widths and type(wanted) in widths:
        fits = widths[type(given)] <= widths[type(wanted)]
    else:
        fits = family_of(given) == family_of(wanted)
    return wanted.with_nullable(given.is_nullable) if fits else None


def family_of(kind: LogicalType) -> str:
    """Family of a type; types of one family can be compared."""
    for name in ("<CHARACTER_STRING>", "<NUMERIC>", "<BINARY_STRING>", "<TIMESTAMP>"):
        if PARAMETERS[name](kind) is not None:
            return name
    return type(kind).__name__
