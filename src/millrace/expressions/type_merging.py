"""`common_type`, and the precision and scale of decimals. Flink: ``LogicalTypeMerging``."""

from __future__ import annotations

from dataclasses import replace

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import MAX_PRECISION, DecimalType, LogicalType
from millrace.expressions.parameters import BYTES, CHARACTERS, INTERVALS

__all__ = ["as_decimal", "common_type", "decimal_of"]

MIN_SCALE = 6
"""Digits after the point that a division keeps when the precision runs out."""
_DIGITS: dict[type[LogicalType], int] = {
    logical.TinyIntType: 3,
    logical.SmallIntType: 5,
    logical.IntType: 10,
    logical.BigIntType: 19,
}


def as_decimal(kind: LogicalType) -> DecimalType:
    """The decimal type that holds every value of an exact number's type.

    >>> as_decimal(logical.IntType(nullable=False))
    DECIMAL(10, 0) NOT NULL
    """
    if isinstance(kind, DecimalType):
        return kind
    return DecimalType(_DIGITS[type(kind)], 0, nullable=kind.is_nullable)


def _adjusted(precision: int, scale: int) -> DecimalType:
    if precision <= MAX_PRECISION:
        return DecimalType(precision, scale)
    whole = precision - scale
    return DecimalType(MAX_PRECISION, max(MAX_PRECISION - whole, min(scale, MIN_SCALE)))


def decimal_of(operator: str, left: LogicalType, right: LogicalType) -> DecimalType:
    """Type of ``left operator right`` for exact numbers, at least one of them a decimal.

    >>> decimal_of("/", DecimalType(10, 2), DecimalType(5, 1))
    DECIMAL(17, 8)
    """
    p1, s1 = as_decimal(left).precision, as_decimal(left).scale
    p2, s2 = as_decimal(right).precision, as_decimal(right).scale
    if operator in "+-":
        return _adjusted(max(p1 - s1, p2 - s2) + max(s1, s2) + 1, max(s1, s2))
    if operator == "*":
        return _adjusted(p1 + p2 + 1, s1 + s2)
    if operator == "/":
        scale = max(MIN_SCALE, s1 + p2 + 1)
        return _adjusted(p1 - s1 + s2 + scale, scale)
    return _adjusted(min(p1 - s1, p2 - s2) + max(s1, s2), max(s1, s2))


def common_type(kinds: tuple[LogicalType, ...]) -> LogicalType | None:
    """The type to which values of the given types are cast if they are put into one column; None if
    there is none.

    >>> common_type((logical.IntType(nullable=False), DecimalType(3, 2)))
    DECIMAL(12, 2)
    """
    known = [kind for kind in kinds if not isinstance(kind, logical.NullType)]
    if not known:
        return logical.NullType()
    merged: LogicalType | None = known[0]
    for kind in known[1:]:
        merged = merged and _merged(merged, kind)
    return merged and merged.with_nullable(any(kind.is_nullable for kind in kinds))


def _merged(left: LogicalType, right: LogicalType) -> LogicalType | None:
    left, right = left.with_nullable(True), right.with_nullable(True)
    if left == right:
        return left
    for merge in (_texts, _numbers, _times, _intervals, _constructed):
        merged = merge(left, right)
        if merged is not None:
            return merged
    return None


def _texts(left: LogicalType, right: LogicalType) -> LogicalType | None:
    for fixed, varying in ((CHARACTERS), (BYTES)):
        if isinstance(left, (fixed, varying)) and isinstance(right, (fixed, varying)):
            both_fixed = isinstance(left, fixed) and isinstance(right, fixed)
            made = fixed if both_fixed and left.length == right.length else varying
            return made(max(left.length, right.length))
    return None


def _numbers(left: LogicalType, right: LogicalType) -> LogicalType | None:
    approximate = (logical.FloatType, logical.DoubleType)
    if isinstance(left, approximate) or isinstance(right, approximate):
        return _approximate(left, right)
    if isinstance(left, logical.IntegralType) and isinstance(right, logical.IntegralType):
        return left if left.BITS >= right.BITS else right
    exact = (logical.IntegralType, DecimalType)
    if not (isinstance(left, exact) and isinstance(right, exact)):
        return None
    one, two = as_decimal(left), as_decimal(right)
    scale = max(one.scale, two.scale)
    whole = max(one.precision - one.scale, two.precision - two.scale)
    return DecimalType(min(whole + scale, MAX_PRECISION), scale)


def _approximate(left: LogicalType, right: LogicalType) -> LogicalType | None:
    kinds = (left, right)
    numbers = (logical.IntegralType, DecimalType, logical.FloatType, logical.DoubleType)
    if not all(isinstance(kind, numbers) for kind in kinds):
        return None
    wide = (logical.DoubleType, DecimalType)
    return logical.DoubleType() if any(isinstance(k, wide) for k in kinds) else logical.FloatType()


def _times(left: LogicalType, right: LogicalType) -> LogicalType | None:
    zoned, plain = logical.LocalZonedTimestampType, logical.TimestampType
    if isinstance(left, logical.TimeType) and isinstance(right, logical.TimeType):
        return left if left.precision >= right.precision else right
    if not all(isinstance(k, (zoned, plain, logical.DateType)) for k in (left, right)):
        return None
    precision = max(getattr(left, "precision", 0), getattr(right, "precision", 0))
    made = zoned if isinstance(left, zoned) or isinstance(right, zoned) else plain
    return made(precision)


def _intervals(left: LogicalType, right: LogicalType) -> LogicalType | None:
    for kind in INTERVALS:
        if isinstance(left, kind) and isinstance(right, kind):
            return kind()
    return None


def _constructed(left: LogicalType, right: LogicalType) -> LogicalType | None:
    if type(left) is not type(right) or len(left.children()) != len(right.children()):
        return None
    pairs = zip(left.children(), right.children(), strict=True)
    children = [kind for pair in pairs if (kind := common_type(pair)) is not None]
    if not children or len(children) < len(left.children()):
        return None
    if isinstance(left, logical.ArrayType):
        return replace(left, element_type=children[0])
    if isinstance(left, logical.MapType):
        return replace(left, key_type=children[0], value_type=children[1])
    assert isinstance(left, logical.RowType)
    parts = zip(left.fields, children, strict=True)
    return replace(left, fields=tuple(replace(part, type=kind) for part, kind in parts))
