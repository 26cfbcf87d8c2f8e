"""Syntax trees for the Table API, the same as the SQL parser's."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from sqlglot import exp

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.logical_type import DoubleType, LogicalType
from millrace.sql.dialect import nodes
from millrace.table.catalog.object_path import parts_of

__all__ = [
    "call_node",
    "cast_node",
    "column_node",
    "identifier",
    "interval_node",
    "literal_node",
    "unit_node",
]


def identifier(name: str) -> exp.Identifier:
    """A name, unchanged."""
    return exp.Identifier(this=name, quoted=not name.isidentifier())


def column_node(name: str) -> exp.Expr:
    """A column; ``*`` means all of them."""
    return exp.Star() if name == "*" else exp.Column(this=identifier(name))


def call_node(name: str, arguments: Iterable[exp.Expr], **parts: Any) -> nodes.FunctionCall:
    """A call of a function; a name with dots names a function in a database."""
    *path, last = parts_of(name)
    return nodes.FunctionCall(
        this=exp.Identifier(this=last),
        qualifier=[identifier(part) for part in path],
        expressions=list(arguments),
        **parts,
    )


def cast_node(operand: exp.Expr, kind: LogicalType, safe: bool = False) -> exp.Expr:
    """CAST or TRY_CAST."""
    made = exp.TryCast if safe else exp.Cast
    return made(this=operand, to=nodes.TypeName(this=kind))


def unit_node(unit: str) -> exp.Expr:
    """A unit of time as an argument."""
    return nodes.TimeUnit(this=unit)


def interval_node(amount: str, unit: str) -> exp.Expr:
    """A constant span of time, as an INTERVAL literal.

    >>> from millrace.sql.dialect.printer import to_sql
    >>> to_sql(interval_node("10", "MINUTE"))
    "INTERVAL '10' MINUTE"
    """
    return nodes.IntervalLiteral(this=amount, unit=unit)


def literal_node(value: Any) -> exp.Expr:
    """The constant of a Python value.

    Raises:
        JobDefinitionError: there is no constant of its type.

    >>> from millrace.sql.dialect.printer import to_sql
    >>> to_sql(literal_node([1, 2.5, "it's"]))
    "ARRAY[1, 2.5E0, 'it''s']"
    """
    if value is None:
        return exp.Null()
    for kinds, made in _LITERALS:
        if isinstance(value, kinds):
            literal: exp.Expr = made(value)
            return literal
    raise JobDefinitionError(
        f"{value!r} of type {type(value).__name__} cannot be a constant: lit() takes None, "
        "bool, int, float, Decimal, str, bytes, date, time, datetime, timedelta, tuple, "
        "list and dict"
    )


def _number(value: float | Decimal) -> exp.Expr:
    if isinstance(value, int):
        text = str(abs(value))
    elif isinstance(value, float):
        if not math.isfinite(value):
            text = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
            return cast_node(exp.Literal.string(text), DoubleType())
        text = repr(abs(value))
        text = text if "e" in text else f"{text}E0"
    else:
        text = format(abs(value), "f")
        # of SQL's 0.05 the zero before the point counts as a digit, of a Decimal's it does not
        text = text[1:] if text.startswith("0.") else text
    made = exp.Literal(this=text, is_string=False)
    return exp.Neg(this=made) if value < 0 else made


def _fraction(value: datetime | time) -> str:
    return f".{value.microsecond:06d}".rstrip("0") if value.microsecond else ""


def _timestamp(value: datetime) -> exp.Expr:
    if value.tzinfo is not None:
        raise JobDefinitionError(
            f"{value!r} has a time zone, but a constant TIMESTAMP has none: remove it by "
            "replace(tzinfo=None), or write to_timestamp_ltz()"
        )
    text = f"{value:%Y-%m-%d %H:%M:%S}{_fraction(value)}"
    return nodes.TypedLiteral(this=text, kind="TIMESTAMP")


def _time(value: time) -> exp.Expr:
    return nodes.TypedLiteral(this=f"{value:%H:%M:%S}{_fraction(value)}", kind="TIME")


def _date(value: date) -> exp.Expr:
    return nodes.TypedLiteral(this=value.isoformat(), kind="DATE")


def _span(value: timedelta) -> exp.Expr:
    micros = value // timedelta(microseconds=1)
    text = format(Decimal(abs(micros)) / 1_000_000, "f")
    return nodes.IntervalLiteral(this=text, unit="SECOND", negative=micros < 0)


def _row(value: tuple[Any, ...]) -> exp.Expr:
    return nodes.RowConstructor(expressions=list(map(literal_node, value)))


def _array(value: list[Any]) -> exp.Expr:
    return nodes.ArrayConstructor(expressions=list(map(literal_node, value)))


def _map(value: Mapping[Any, Any]) -> exp.Expr:
    both = [literal_node(item) for pair in value.items() for item in pair]
    return nodes.MapConstructor(expressions=both)


_LITERALS: tuple[tuple[Any, Any], ...] = (
    (bool, lambda value: exp.Boolean(this=value)),
    ((int, float, Decimal), _number),
    (str, exp.Literal.string),
    ((bytes, bytearray), lambda value: exp.HexString(this=bytes(value).hex())),
    (datetime, _timestamp),
    (date, _date),
    (time, _time),
    (timedelta, _span),
    (tuple, _row),
    (list, _array),
    (dict, _map),
)
