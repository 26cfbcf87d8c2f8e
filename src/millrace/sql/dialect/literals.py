"""Parser of literals: numbers, texts, times and intervals."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from millrace.sql.dialect.nodes import IntervalLiteral, TimeUnit, TypedLiteral, Unknown
from millrace.sql.dialect.tokenizer import BINARY, NUMBER, STRING
from millrace.sql.dialect.types import TypeParser

__all__ = ["EXTRACT_UNITS", "INTERVAL_UNITS", "LiteralParser"]

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


class LiteralParser(TypeParser):
    """Reads literals."""

    def literal(self) -> exp.Expr | None:
        """Parse a literal; None if no literal is next."""
        mark, kind = self.index, self.token.kind
        if kind == NUMBER:
            return self.placed(exp.Literal(this=self.advance().value, is_string=False), mark)
        if kind == STRING:
            return self.placed(exp.Literal(this=self._joined_string(), is_string=True), mark)
        if kind == BINARY:
            return self.placed(exp.HexString(this=self.advance().value.upper()), mark)
        word = self.token.key
        if word in ("TRUE", "FALSE"):
            self.advance()
            return self.placed(exp.Boolean(this=word == "TRUE"), mark)
        if word in ("NULL", "UNKNOWN"):
            self.advance()
            return self.placed(exp.Null() if word == "NULL" else Unknown(), mark)
        if word == "INTERVAL":
            return self.interval()
        if word in ("DATE", "TIME", "TIMESTAMP"):
            return self._typed_literal()
        return None

    def _joined_string(self) -> str:
        """Parse a text; consecutive texts on separate lines are joined."""
        found = self.advance()
        value = found.value
        while self.token.kind == STRING and self.token.position.line > found.position.line:
            found = self.advance()
            value += found.value
        return value

    def _typed_literal(self) -> exp.Expr | None:
        mark, word = self.index, self.token.key
        words = (word, "WITH", "LOCAL", "TIME", "ZONE") if self.peek().key == "WITH" else (word,)
        if self.peek(len(words)).kind != STRING or not self.take(*words):
            return None
        kind = " ".join(words)
        return self.placed(TypedLiteral(this=self.string(), kind=kind), mark)

    def interval(self) -> exp.Expr:
        """Parse ``INTERVAL [-] 'text' unit [(precision)] [TO unit]``."""
        mark = self.index
        self.need("INTERVAL")
        sign = self.take_one("-", "+")
        text = self.string("the length of the interval in single quotes")
        args: dict[str, Any] = {"this": text, **self._qualifier(INTERVAL_UNITS)}
        if sign == "-":
            args["negative"] = True
        return self.placed(IntervalLiteral(**args), mark)

    def interval_qualifier(self) -> dict[str, Any]:
        """Parse an optional ``DAY TO SECOND`` behind a difference in brackets."""
        return self._qualifier(_RESERVED_UNITS) if self.at(*_RESERVED_UNITS) else {}

    def _qualifier(self, units: tuple[str, ...]) -> dict[str, Any]:
        """Parse ``unit [(precision)] [TO unit]``."""
        args: dict[str, Any] = {"unit": self._interval_unit(units)}
        if self.take("("):
            args["fraction" if args["unit"] == "SECOND" else "precision"] = self.number()
            if args["unit"] == "SECOND" and self.take(","):
                args["precision"], args["fraction"] = args["fraction"], self.number()
            self.need(")")
        last_units = _LAST_UNITS.get(args["unit"], ())
        following = self.peek().key
        # FLOOR(INTERVAL '3' MINUTE TO HOUR) goes on with a unit that ends no interval
        if _PLURALS.get(following, following) in last_units and self.take("TO"):
            args["to"] = self._interval_unit(last_units)
            if args["to"] == "SECOND" and self.take("("):
                args["fraction"] = self.number()
                self.need(")")
        return args

    def _interval_unit(self, units: tuple[str, ...]) -> str:
        unit = _PLURALS.get(self.token.key)
        if unit in units:
            self.advance()
            return unit
        return self.need_one(*units)

    def time_unit(self) -> exp.Expr:
        """Parse a time unit as an argument of a function."""
        mark = self.index
        unit = _PLURALS.get(self.token.key, self.token.key.removeprefix("SQL_TSI_"))
        if unit not in EXTRACT_UNITS:
            self.need_one(*EXTRACT_UNITS)
        self.advance()
        return self.placed(TimeUnit(this=unit), mark)
