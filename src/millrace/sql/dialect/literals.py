"""Parser of literals: numbers, texts, times and intervals."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from millrace.sql.dialect.nodes import IntervalLiteral, TimeUnit, TypedLiteral, Unknown
from millrace.sql.dialect.token_stream import TokenStream
from millrace.sql.dialect.tokenizer import BINARY, NUMBER, STRING

__all__ = [
    "EXTRACT_UNITS",
    "INTERVAL_UNITS",
    "parse_interval",
    "parse_interval_qualifier",
    "parse_literal",
    "parse_time_unit",
]

INTERVAL_UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")
"""Units of interval literals; each may be in the plural."""
_RESERVED_UNITS = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")
_PLURALS = {f"{unit}S": unit for unit in INTERVAL_UNITS}
_LAST_UNITS = {
    "YEAR": ("MONTH",),
    "DAY": ("HOUR", "MINUTE", "SECOND"),
    "HOUR": ("MINUTE", "SECOND"),
    "MINUTE": ("SECOND",),
}
EXTRACT_UNITS = (
    *INTERVAL_UNITS,
    *("MILLENNIUM", "CENTURY", "DECADE", "DOW", "ISODOW", "DOY", "ISOYEAR", "EPOCH"),
    *("MILLISECOND", "MICROSECOND", "NANOSECOND"),
)
"""Units of EXTRACT, CEIL, FLOOR, TIMESTAMPADD and TIMESTAMPDIFF."""


def parse_literal(tokens: TokenStream) -> exp.Expr | None:
    """Parse a literal; None if no literal is next."""
    mark, kind = tokens.index, tokens.token.kind
    if kind == NUMBER:
        return tokens.placed(exp.Literal(this=tokens.advance().value, is_string=False), mark)
    if kind == STRING:
        return tokens.placed(exp.Literal(this=_joined_string(tokens), is_string=True), mark)
    if kind == BINARY:
        return tokens.placed(exp.HexString(this=tokens.advance().value.upper()), mark)
    word = tokens.token.key
    if word in ("TRUE", "FALSE"):
        tokens.advance()
        return tokens.placed(exp.Boolean(this=word == "TRUE"), mark)
    if word in ("NULL", "UNKNOWN"):
        tokens.advance()
        return tokens.placed(exp.Null() if word == "NULL" else Unknown(), mark)
    if word == "INTERVAL":
        return parse_interval(tokens)
    if word in ("DATE", "TIME", "TIMESTAMP"):
        return _typed_literal(tokens)
    return None


def _joined_string(tokens: TokenStream) -> str:
    """Parse a text; consecutive texts on separate lines are joined."""
    part = tokens.advance()
    value = part.value
    while tokens.token.kind == STRING and tokens.token.position.line > part.position.line:
        part = tokens.advance()
        value += part.value
    return value


def _typed_literal(tokens: TokenStream) -> exp.Expr | None:
    mark, word = tokens.index, tokens.token.key
    words = (word, "WITH", "LOCAL", "TIME", "ZONE") if tokens.peek().key == "WITH" else (word,)
    if tokens.peek(len(words)).kind != STRING or not tokens.take(*words):
        return None
    kind = " ".join(words)
    return tokens.placed(TypedLiteral(this=tokens.string(), kind=kind), mark)


def parse_interval(tokens: TokenStream) -> exp.Expr:
    """Parse ``INTERVAL [-] 'text' unit [(precision)] [TO unit]``."""
    mark = tokens.index
    tokens.need("INTERVAL")
    sign = tokens.take_one("-", "+")
    text = tokens.string("the length of the interval in single quotes")
    args: dict[str, Any] = {"this": text, **_qualifier(tokens, INTERVAL_UNITS)}
    if sign == "-":
        args["negative"] = True
    return tokens.placed(IntervalLiteral(**args), mark)


def parse_interval_qualifier(tokens: TokenStream) -> dict[str, Any]:
    """Parse an optional ``DAY TO SECOND`` after a difference in brackets."""
    return _qualifier(tokens, _RESERVED_UNITS) if tokens.at(*_RESERVED_UNITS) else {}


def _qualifier(tokens: TokenStream, units: tuple[str, ...]) -> dict[str, Any]:
    """Parse ``unit [(precision)] [TO unit]``."""
    args: dict[str, Any] = {"unit": _interval_unit(tokens, units)}
    if tokens.take("("):
        args["fraction" if args["unit"] == "SECOND" else "precision"] = tokens.number()
        if args["unit"] == "SECOND" and tokens.take(","):
            args["precision"], args["fraction"] = args["fraction"], tokens.number()
        tokens.need(")")
    last_units = _LAST_UNITS.get(args["unit"], ())
    following = tokens.peek().key
    # FLOOR(INTERVAL '3' MINUTE TO HOUR) goes on with a unit that ends no interval
    if _PLURALS.get(following, following) in last_units and tokens.take("TO"):
        args["to"] = _interval_unit(tokens, last_units)
        if args["to"] == "SECOND" and tokens.take("("):
            args["fraction"] = tokens.number()
            tokens.need(")")
    return args


def _interval_unit(tokens: TokenStream, units: tuple[str, ...]) -> str:
    unit = _PLURALS.get(tokens.token.key)
    if unit in units:
        tokens.advance()
        return unit
    return tokens.need_one(*units)


def parse_time_unit(tokens: TokenStream) -> exp.Expr:
    """Parse a time unit as an argument of a function."""
    mark = tokens.index
    unit = _PLURALS.get(tokens.token.key, tokens.token.key.removeprefix("SQL_TSI_"))
    if unit not in EXTRACT_UNITS:
        tokens.need_one(*EXTRACT_UNITS)
    tokens.advance()
    return tokens.placed(TimeUnit(this=unit), mark)
