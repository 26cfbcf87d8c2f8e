"""Literals: the constant and the Flink type of a literal in a query.

Types as in Flink: ``1`` is INT, or BIGINT, or DECIMAL if it has more digits; ``1.5`` is
DECIMAL(2, 1); ``1E0`` is DOUBLE; ``'abc'`` is CHAR(3). None is nullable.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta
from decimal import Decimal

from sqlglot import exp

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions.casting.from_text import nanoseconds
from millrace.expressions.resolved import ValueLiteral
from millrace.sql.dialect import nodes

__all__ = [
    "LiteralError",
    "bind_literal",
    "interval_literal",
    "negative_literal",
    "text_literal",
]

_TIMESTAMP = re.compile(r"(\d{1,4}-\d{1,2}-\d{1,2}) (\d{1,2}:\d{1,2}:\d{1,2})(?:\.(\d{1,9}))?")
_TIME = re.compile(r"(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{1,9}))?")
_DATE = re.compile(r"(\d{1,4})-(\d{1,2})-(\d{1,2})")
_MONTHS = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
_SECONDS = {"WEEK": 604800, "DAY": 86400, "HOUR": 3600, "MINUTE": 60, "SECOND": 1}
_FIELDS = ("DAY", "HOUR", "MINUTE", "SECOND")
_TIME_DIGITS = 3
"""Digits of a second that a constant TIME has; more of them are cut."""


class LiteralError(Exception):
    """A text is not a valid constant of the type written before it."""


def bind_literal(node: exp.Expr) -> ValueLiteral:
    """The constant of a literal's syntax node.

    Raises:
        LiteralError: the text is not a valid constant of the type.
    """
    if isinstance(node, exp.Literal):
        return text_literal(node.this) if node.is_string else number_literal(node.this)
    if isinstance(node, exp.Boolean):
        return ValueLiteral(bool(node.this), logical.BooleanType(nullable=False))
    if isinstance(node, exp.Null):
        return ValueLiteral(None, logical.NullType())
    if isinstance(node, nodes.Unknown):
        return ValueLiteral(None, logical.BooleanType())
    if isinstance(node, exp.HexString):
        return _bytes_literal(bytes.fromhex(node.this))
    if isinstance(node, nodes.IntervalLiteral):
        return interval_literal(node)
    assert isinstance(node, nodes.TypedLiteral), type(node)
    return typed_literal(node.args["kind"], str(node.this))


def _bytes_literal(value: bytes) -> ValueLiteral:
    """A bytes constant; empty bytes have the type VARBINARY, as an empty text is a VARCHAR."""
    kind: LogicalType = logical.BinaryType(len(value)) if value else logical.VarBinaryType(1)
    return ValueLiteral(value, kind.not_null())


def text_literal(text: str) -> ValueLiteral:
    """A text constant; an empty text has the type VARCHAR, since there is no CHAR of length 0 here.

    >>> text_literal("abc").type
    CHAR(3) NOT NULL
    """
    kind: LogicalType = logical.CharType(len(text)) if text else logical.VarCharType(1)
    return ValueLiteral(text, kind.not_null())


def number_literal(text: str) -> ValueLiteral:
    """A numeric constant.

    >>> number_literal("3000000000").type, number_literal("1.50").type, number_literal("1e3").type
    (BIGINT NOT NULL, DECIMAL(3, 2) NOT NULL, DOUBLE NOT NULL)
    """
    if "e" in text.lower():
        return ValueLiteral(float(text), logical.DoubleType(nullable=False))
    if "." not in text:
        number = int(text)
        for kind in (logical.IntType(nullable=False), logical.BigIntType(nullable=False)):
            if kind.holds(number):
                return ValueLiteral(number, kind)
    whole, _, fraction = text.partition(".")
    if text.endswith("."):
        return number_literal(whole)
    # as in Flink, zeros that are written count: 0.05 has three digits
    digits = len(whole if fraction else whole.lstrip("0")) + len(fraction)
    if digits > logical.MAX_PRECISION:
        raise LiteralError(f"the number {text} has more than {logical.MAX_PRECISION} digits")
    return ValueLiteral(Decimal(text), logical.DecimalType(digits, len(fraction), nullable=False))


def negative_literal(text: str) -> ValueLiteral:
    """A negative numeric constant; parsed with its sign, so that the smallest INT is an INT.

    >>> negative_literal("2147483648").type, number_literal("2147483648").type
    (INT NOT NULL, BIGINT NOT NULL)
    """
    if text.isdigit():
        for kind in (logical.IntType(nullable=False), logical.BigIntType(nullable=False)):
            if kind.holds(-int(text)):
                return ValueLiteral(-int(text), kind)
    positive = number_literal(text)
    return ValueLiteral(-positive.value, positive.type)


def typed_literal(kind: str, text: str) -> ValueLiteral:
    """The constant of ``DATE '...'``, ``TIME '...'`` or ``TIMESTAMP '...'``."""
    try:
        if kind == "DATE" and (match := _DATE.fullmatch(text)):
            return ValueLiteral(
                date(*(int(part) for part in match.groups())), logical.DateType(nullable=False)
            )
        if kind == "TIME" and (match := _TIME.fullmatch(text)):
            fraction = (match[4] or "")[:_TIME_DIGITS]
            value = time(int(match[1]), int(match[2]), int(match[3]), _micros(fraction))
            return ValueLiteral(value, logical.TimeType(len(fraction), nullable=False))
        if kind.startswith("TIMESTAMP") and (match := _TIMESTAMP.fullmatch(text)):
            fraction = match[3] or ""
            moment = datetime.strptime(f"{match[1]} {match[2]}", "%Y-%m-%d %H:%M:%S")
            made = logical.TimestampType if kind == "TIMESTAMP" else logical.LocalZonedTimestampType
            value_type = made(len(fraction), nullable=False)
            if value_type.unit == "ns":
                return ValueLiteral(nanoseconds(moment, fraction), value_type)
            return ValueLiteral(moment.replace(microsecond=_micros(fraction)), value_type)
    except ValueError as error:
        raise LiteralError(f"{kind} {text!r}: {error}") from None
    wanted = {"DATE": "2020-12-31", "TIME": "10:20:30"}.get(kind, "2020-12-31 10:20:30.123")
    raise LiteralError(f"{text!r} is not a valid {kind}: write it like {kind} '{wanted}'")


def _micros(fraction: str) -> int:
    return int(fraction[:6].ljust(6, "0"))


def interval_literal(node: nodes.IntervalLiteral) -> ValueLiteral:
    """The constant of ``INTERVAL '1 10:00' DAY TO MINUTE``, as months or as a time span."""
    text, first = str(node.this).strip(), str(node.args["unit"])
    last = str(node.args.get("to") or first)
    sign = -1 if node.args.get("negative") else 1
    if text[:1] in "+-":
        sign, text = (-sign if text[0] == "-" else sign), text[1:]
    try:
        if first in _MONTHS:
            return _months(text, first, last, sign, node.args.get("precision"))
        return _span(text, first, last, sign, node)
    except ValueError:
        shown = first if last == first else f"{first} TO {last}"
        raise LiteralError(f"{text!r} is not a valid INTERVAL {shown}") from None


def _months(text: str, first: str, last: str, sign: int, precision: int | None) -> ValueLiteral:
    if last == first:
        months, fields = int(text) * _MONTHS[first], "MONTH" if first == "QUARTER" else first
    else:
        years, _, rest = text.partition("-")
        months, fields = int(years) * 12 + int(rest), "YEAR TO MONTH"
    kind = logical.YearMonthIntervalType(fields, precision or 2, nullable=False)
    return ValueLiteral(sign * months, kind)


def _span(text: str, first: str, last: str, sign: int, node: nodes.IntervalLiteral) -> ValueLiteral:
    if last == first:
        span = Decimal(text) if first == "SECOND" else Decimal(int(text))
        micros = int(span * _SECONDS[first] * 1_000_000)
    else:
        units = _FIELDS[_FIELDS.index(first) : _FIELDS.index(last) + 1]
        parts = re.split(r"[ :]", text)
        if len(parts) != len(units):
            raise ValueError(text)
        micros = sum(
            int(Decimal(part) * _SECONDS[unit] * 1_000_000)
            for part, unit in zip(parts, units, strict=True)
        )
    start = "DAY" if first == "WEEK" else first
    fields = start if last == first else f"{start} TO {last}"
    fraction = node.args.get("fraction")
    kind = logical.DayTimeIntervalType(
        fields,
        node.args.get("precision") or 2,
        3 if fraction is None else fraction,
        nullable=False,
    )
    return ValueLiteral(timedelta(microseconds=sign * micros), kind)
