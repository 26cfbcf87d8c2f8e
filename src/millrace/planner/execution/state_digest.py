"""Digests of the parts of a query: expressions, aggregate calls, options and constants.

They decide under which uids the state of queries is found again, so their bytes stay the same: in
every process, with every version of Python, and from release to release. They are made of
functions, options, types and constants, and of what the columns that are read mean. Names that only
show, places in the statement, and whether a value may be NULL are no part of them. A change of the
bytes needs another `millrace.state.checkpoint.manifest.QUERY_UIDS`.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from types import NoneType, UnionType
from typing import Any

from millrace.common.types.logical.logical_type import (
    BooleanType,
    CharType,
    LocalZonedTimestampType,
    LogicalType,
    VarCharType,
)
from millrace.common.types.logical.logical_type import rewritten as rewritten_type
from millrace.expressions import built_in
from millrace.expressions.call_options import signed_options
from millrace.expressions.function_definition import FunctionDefinition
from millrace.expressions.pattern_expressions import PatternAggregate, PatternFieldReference
from millrace.expressions.resolved import (
    Call,
    Cast,
    FieldReference,
    OuterReference,
    ResolvedExpression,
    ValueLiteral,
)
from millrace.expressions.session_settings import SessionSettings

__all__ = ["digest", "expression_digest", "function_identity", "type_identity"]

_LENGTH = 32
"""Hexadecimal digits of a digest."""
_ZONED = frozenset(
    {
        *(built_in.CURRENT_DATE, built_in.CURRENT_TIME),
        *(built_in.LOCAL_TIME, built_in.LOCAL_TIMESTAMP),
        *(built_in.FROM_UNIXTIME, built_in.UNIX_TIMESTAMP),
    }
)
"""Functions whose values depend on the session's zone whatever their arguments are."""
_UNZONED = frozenset(
    {
        *(built_in.CASE, built_in.COALESCE, built_in.IF, built_in.IF_NULL, built_in.NULL_IF),
        *(built_in.GREATEST, built_in.LEAST, built_in.ROW, built_in.ARRAY, built_in.MAP),
        *(built_in.PROCTIME, built_in.NOW),
        *(built_in.CURRENT_TIMESTAMP, built_in.CURRENT_ROW_TIMESTAMP),
    }
)
"""Functions that hand points in time on as they are."""


def digest(*parts: object) -> str:
    """The digest of values in order. A value is None, a number, text, bytes, time, type, enum,
    function or data class, or a list, tuple, set or mapping of such values.

    >>> digest("a", ("b", "c")) == digest("a", ["b", "c"]) != digest("a", ("bc",))
    True

    Raises:
        TypeError: a value has no text that stays the same.
    """
    text = _encoded(parts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).hexdigest()[:_LENGTH]


def expression_digest(
    expression: ResolvedExpression, columns: Sequence[str], session: SessionSettings
) -> str:
    """The digest of an expression.

    Args:
        columns: digests of the columns of its input row.
        session: settings that decide values of expressions.
    """
    made: list[str] = []
    pending: list[tuple[ResolvedExpression, bool]] = [(expression, False)]
    while pending:  # not recursive: conditions of many parts are deep
        current, has_children = pending.pop()
        children = current.children()
        if isinstance(current, FieldReference):
            made.append(columns[current.index])
        elif has_children or not children:
            first = len(made) - len(children)
            parts = made[first:]
            del made[first:]
            made.append(digest(*_own_parts(current, columns, session), parts))
        else:
            pending.append((current, True))
            pending += [(child, False) for child in reversed(children)]
    return made[0]


def _own_parts(
    expression: ResolvedExpression, columns: Sequence[str], session: SessionSettings
) -> Iterator[object]:
    """Yield the parts of an expression other than its children."""
    yield type(expression).__name__
    yield expression.output_type
    match expression:
        case ValueLiteral():
            yield expression.value
        case Call():
            yield function_identity(expression.function)
            yield _options(signed_options(expression.options), columns, session)
            if _is_zoned(expression):
                yield session.time_zone
        case Cast():
            yield expression.safe
            yield from _cast_options(expression, session)
        case OuterReference():
            yield from (expression.level, expression.index)
        case PatternFieldReference():
            yield from (expression.rows, expression.first, expression.offset)
            yield columns[expression.index]
        case PatternAggregate():
            yield function_identity(expression.function)
            yield expression.rows
            yield _options(signed_options(expression.options), columns, session)


def function_identity(function: FunctionDefinition) -> object:
    """Identity of a function: the name of a built-in function, or the registered name of a user
    function.
    """
    return function.name if function.built_in else ("user", function.name.upper())


def _options(options: object, columns: Sequence[str], session: SessionSettings) -> object:
    """Options of a call, with expressions among them replaced by their digests."""
    if isinstance(options, ResolvedExpression):
        return expression_digest(options, columns, session)
    if isinstance(options, tuple):
        return tuple(_options(option, columns, session) for option in options)
    return options


def _is_zoned(call: Call) -> bool:
    """Whether a call's value depends on the session's time zone."""
    if call.function in _ZONED:
        return True
    if call.function in _UNZONED or isinstance(call.type, BooleanType):
        return False
    return any(
        isinstance(argument.output_type, LocalZonedTimestampType) for argument in call.arguments
    )


def _cast_options(cast: Cast, session: SessionSettings) -> Iterator[object]:
    source = cast.operand.output_type
    if isinstance(source, LocalZonedTimestampType) != isinstance(
        cast.type, LocalZonedTimestampType
    ):
        yield session.time_zone
    if session.legacy_cast and isinstance(source, CharType | VarCharType):
        yield "legacy"


def type_identity(logical_type: LogicalType) -> str:
    """Text of a type without its nullability, which has no influence on values."""
    return str(rewritten_type(logical_type, lambda part: part.with_nullable(True)))


def _encoded(value: object) -> str:
    """An unambiguous text of a value."""
    for kinds, encode in _ENCODERS:
        if isinstance(value, kinds):
            return encode(value)
    return _encoded_object(value)


def _tagged(tag: str, text: str) -> str:
    return f"{tag}{len(text)}:{text}"


def _encoded_decimal(value: Decimal) -> str:
    sign, digits, exponent = value.as_tuple()
    return f"d{sign},{''.join(map(str, digits))},{exponent};"


def _encoded_object(value: object) -> str:
    """The fields of a data class that differ from their defaults, so that new fields with
    defaults change no digest."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        pairs = [
            (field.name, getattr(value, field.name))
            for field in dataclasses.fields(value)
            if field.compare and not _is_default(field, getattr(value, field.name))
        ]
        return f"<{_tagged('c', type(value).__name__)}{_encoded(pairs)}>"
    text = repr(value)
    if " at 0x" in text:
        raise TypeError(f"{text} has no text that stays the same from run to run")
    return _tagged("o", f"{type(value).__name__} {text}")


def _is_default(field: dataclasses.Field[Any], value: object) -> bool:
    return field.default is not dataclasses.MISSING and bool(field.default == value)


_ENCODERS: tuple[tuple[type | UnionType, Callable[[Any], str]], ...] = (
    (NoneType, lambda _: "-"),
    (bool, lambda value: "T" if value else "F"),
    (Enum, lambda value: _tagged("e", f"{type(value).__name__}.{value.name}")),
    (int, lambda value: f"i{value};"),
    (str, lambda value: _tagged("s", value)),
    (float, lambda value: f"f{value.hex()};"),
    (Decimal, _encoded_decimal),
    (bytes | bytearray, lambda value: _tagged("x", value.hex())),
    (timedelta, lambda value: f"p{value.days},{value.seconds},{value.microseconds};"),
    (
        datetime | date | time,
        lambda value: _tagged("t", f"{type(value).__name__} {value.isoformat()}"),
    ),
    (LogicalType, lambda value: _tagged("k", type_identity(value))),
    (FunctionDefinition, lambda value: _tagged("u", value.name.upper())),
    (list | tuple, lambda value: f"({''.join(map(_encoded, value))})"),
    (set | frozenset, lambda value: f"{{{''.join(sorted(map(_encoded, value)))}}}"),
    (Mapping, lambda value: f"[{''.join(map(_encoded, value.items()))}]"),
)
"""The first that fits decides."""
