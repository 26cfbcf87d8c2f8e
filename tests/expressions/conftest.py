"""Expressions written as SQL, for tests of functions: the few forms that their cases need.

The binder reads all of SQL; it is of a room above, and these tests are to find faults of functions
whatever its state.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pytest

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.parser import parse_type
from millrace.expressions import registry
from millrace.expressions.call_options import (
    BetweenOrder,
    JsonChoice,
    JsonClause,
    JsonClauses,
    JsonEvent,
    JsonKind,
    TemporalUnit,
    TrimSide,
)
from millrace.expressions.casting.from_text import nanoseconds
from millrace.expressions.registry import find, resolve_call, resolve_cast
from millrace.expressions.resolved import ResolvedExpression, ValueLiteral

TOKEN = re.compile(
    r"\s*(?:(\d+(?:\.\d+)?[eE][+-]?\d+)|(\d+\.\d*|\.\d+)|(\d+)|([xX]'[^']*')|('(?:[^']|'')*')"
    r"|([A-Za-z_]\w*)|(<>|!=|<=|>=|\|\||[-+*/%=<>(),\[\].]))"
)
CHOICES = (
    *(("NULL",), ("ERROR",), ("TRUE",), ("FALSE",), ("UNKNOWN",), ("ABSENT",)),
    *(("EMPTY", "ARRAY"), ("EMPTY", "OBJECT")),
)
BINARY = [
    ({"=", "<>", "!=", "<", "<=", ">", ">="}, 4),
    ({"+", "-"}, 6),
    ({"*", "/", "%"}, 7),
    ({"||"}, 6),
]


class Reader:
    """A reader by precedence: OR, AND, NOT, comparisons, sums, products, prefixes."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[int, str]] = []
        position = 0
        while text[position:].strip():
            found = TOKEN.match(text, position)
            if not found:
                raise NotImplementedError(text)
            self.tokens.append((found.lastindex or 0, found[found.lastindex or 0]))
            position = found.end()
        self.at = 0

    def peek(self, *words: str) -> bool:
        part = [t[1].upper() for t in self.tokens[self.at : self.at + len(words)]]
        return part == list(words) and all(t[0] != 5 for t in self.tokens[self.at : self.at + 1])

    def take(self, *words: str) -> bool:
        found = self.peek(*words)
        self.at += len(words) if found else 0
        return found

    def need(self, word: str) -> None:
        if not self.take(word):
            raise NotImplementedError(f"{word} expected in {self.tokens} at {self.at}")

    def next(self) -> tuple[int, str]:
        self.at += 1
        return self.tokens[self.at - 1]

    def expression(self, level: int = 0) -> ResolvedExpression:
        if level <= 1 and self.peek("NOT"):
            self.need("NOT")
            left = resolve_call(registry.function("NOT"), (self.expression(3),))
        else:
            left = self.prefix()
        while self.at < len(self.tokens):
            made = self.infix(left, level)
            if made is None:
                return left
            left = made
        return left

    def infix(self, left: ResolvedExpression, level: int) -> ResolvedExpression | None:
        for word, binding in (("OR", 1), ("AND", 2)):
            if level < binding and self.take(word):
                return resolve_call(registry.function(word), (left, self.expression(binding)))
        if level < 4:
            made = self.test(left)
            if made is not None:
                return made
        for symbols, binding in BINARY:
            token = self.tokens[self.at]
            if level < binding and token[0] == 7 and token[1] in symbols:
                self.at += 1
                return resolve_call(registry.function(token[1]), (left, self.expression(binding)))
        return None

    def test(self, left: ResolvedExpression) -> ResolvedExpression | None:
        start = self.at
        negated = self.take("NOT")
        made = None
        if self.take("BETWEEN"):
            symmetric = BetweenOrder.SYMMETRIC if self.take("SYMMETRIC") else None
            low = self.expression(5)
            self.need("AND")
            made = resolve_call(
                registry.function("BETWEEN"), (left, low, self.expression(5)), symmetric
            )
        elif self.take("IN"):
            self.need("(")
            made = resolve_call(registry.function("IN"), (left, *self.list(")")))
        elif self.peek("LIKE") or self.peek("SIMILAR", "TO"):
            name = "LIKE" if self.take("LIKE") else "SIMILAR TO"
            if name == "SIMILAR TO":
                self.at += 2
            arguments = [left, self.expression(5)]
            if self.take("ESCAPE"):
                arguments.append(self.expression(5))
            made = resolve_call(registry.function(name), tuple(arguments))
        elif self.take("IS"):
            return self.of_is(left)
        if made is None:
            self.at = start
            return None
        return resolve_call(registry.function("NOT"), (made,)) if negated else made

    def of_is(self, left: ResolvedExpression) -> ResolvedExpression:
        words = "NOT " if self.take("NOT") else ""
        if self.take("DISTINCT", "FROM"):
            return resolve_call(
                registry.function(f"IS {words}DISTINCT FROM"), (left, self.expression(5))
            )
        if self.take("JSON"):
            kind = next((k for k in JsonKind if self.take(k)), JsonKind.VALUE)
            made = resolve_call(registry.function("IS JSON"), (left,), kind)
            return resolve_call(registry.function("NOT"), (made,)) if words else made
        return resolve_call(registry.function(f"IS {words}{self.next()[1].upper()}"), (left,))

    def list(self, end: str) -> list[ResolvedExpression]:
        found = []
        while not self.take(end):
            found.append(self.expression())
            self.take(",")
        return found

    def prefix(self) -> ResolvedExpression:
        made = self.primary()
        while self.at < len(self.tokens) and self.take("["):
            made = resolve_call(registry.function("ITEM"), (made, self.expression()))
            self.need("]")
        return made

    def primary(self) -> ResolvedExpression:
        kind, text = self.next()
        if kind == 7 and text == "-":
            if self.tokens[self.at][0] in (2, 3):
                number = self.primary()
                return ValueLiteral(-number.value, number.output_type)
            return resolve_call(registry.function("NEGATE"), (self.expression(8),))
        if kind == 7 and text == "(":
            made = self.expression()
            self.need(")")
            return made
        if kind in LITERALS:
            return LITERALS[kind](text)
        return self.word(text.upper())

    def word(self, word: str) -> ResolvedExpression:
        if word in ("TRUE", "FALSE"):
            return ValueLiteral(word == "TRUE", logical.BooleanType(nullable=False))
        if word == "NULL":
            return ValueLiteral(None, logical.NullType())
        if word in ("DATE", "TIME", "TIMESTAMP") and self.tokens[self.at][0] == 5:
            return clock(word, self.next()[1][1:-1])
        if word == "INTERVAL":
            return self.interval()
        if word in ("ARRAY", "MAP") and self.take("["):
            return resolve_call(registry.function(word), tuple(self.list("]")))
        if word == "CASE":
            return self.case()
        if word in ("CAST", "TRY_CAST"):
            return self.cast(word == "TRY_CAST")
        return self.call(word)

    def interval(self) -> ResolvedExpression:
        text, first = self.next()[1][1:-1], self.next()[1].upper()
        last = self.next()[1].upper() if self.take("TO") else first
        return interval(text, first, last)

    def case(self) -> ResolvedExpression:
        value = None if self.peek("WHEN") else self.expression()
        arguments = []
        while self.take("WHEN"):
            condition = self.expression()
            arguments.append(
                condition
                if value is None
                else resolve_call(registry.function("="), (value, condition))
            )
            self.need("THEN")
            arguments.append(self.expression())
        otherwise = (
            self.expression() if self.take("ELSE") else ValueLiteral(None, logical.NullType())
        )
        self.need("END")
        return resolve_call(registry.function("CASE"), (*arguments, otherwise))

    def cast(self, safe: bool) -> ResolvedExpression:
        self.need("(")
        operand = self.expression()
        self.need("AS")
        return resolve_cast(operand, self.type(), safe)

    def type(self) -> logical.LogicalType:
        depth, words = 1, []
        while depth:
            _, text = self.next()
            depth += {"(": 1, ")": -1}.get(text, 0)
            words.append(text)
        return parse_type(" ".join(words[:-1]))

    def call(self, name: str) -> ResolvedExpression:
        if not self.take("("):
            if find(name) is None:
                raise NotImplementedError(name)
            return resolve_call(registry.function(name), ())
        if name == "EXTRACT":
            unit = TemporalUnit(self.next()[1].upper())
            self.need("FROM")
            return resolve_call(registry.function(name), tuple(self.list(")")), unit)
        if name.startswith("JSON_"):
            return self.json_call(name)
        if name == "TRIM":
            return self.trim()
        if name in ("TIMESTAMPADD", "TIMESTAMPDIFF"):
            unit = TemporalUnit(self.next()[1].upper())
            self.need(",")
            return resolve_call(registry.function(name), tuple(self.list(")")), unit)
        if name == "POSITION":
            needle = self.expression(5)
            self.need("IN")
            return resolve_call(registry.function(name), (needle, *self.list(")")))
        return self.plain_call(name)

    def json_call(self, name: str) -> ResolvedExpression:
        arguments, clauses = [], list[JsonClause]()
        while not self.take(")"):
            if self.take("RETURNING"):
                clauses.append(JsonClause(JsonEvent.RETURNING, self.returned()))
            elif clause := self.json_clause():
                clauses.append(clause)
            else:
                self.take("KEY")
                arguments.append(self.expression())
                if not self.take(","):
                    self.take("VALUE")
        options = JsonClauses(tuple(clauses)) if clauses else None
        return resolve_call(registry.function(name), tuple(arguments), options)

    def returned(self) -> logical.LogicalType:
        word = self.next()[1]
        if self.take("<"):
            word += f"<{self.next()[1]}>"
            self.need(">")
        return parse_type(word)

    def json_clause(self) -> JsonClause | None:
        for words, wrapper in (
            (("WITH", "WRAPPER"), "UNCONDITIONAL"),
            (("WITH", "ARRAY", "WRAPPER"), "UNCONDITIONAL"),
            (("WITH", "CONDITIONAL", "WRAPPER"), "CONDITIONAL"),
        ):
            if self.take(*words):
                return JsonClause(JsonEvent.WRAPPER, JsonChoice(wrapper))
        for words in CHOICES:
            for event in ("NULL", "EMPTY", "ERROR"):
                if self.take(*words, "ON", event):
                    return JsonClause(JsonEvent(event), JsonChoice(" ".join(words)))
        if self.take("DEFAULT"):
            value = self.primary()
            self.need("ON")
            return JsonClause(JsonEvent(self.next()[1]), JsonChoice.DEFAULT, value)
        return None

    def plain_call(self, name: str) -> ResolvedExpression:
        arguments, unit = [], None
        while not self.take(")"):
            arguments.append(self.expression())
            self.take(",")
            for word in ("PLACING", "FROM", "FOR"):
                if self.take(word):
                    break
            if name in ("FLOOR", "CEIL", "CEILING") and self.take("TO"):
                unit = TemporalUnit(self.next()[1].upper())
        return resolve_call(registry.function(name), tuple(arguments), unit)

    def trim(self) -> ResolvedExpression:
        side = next((each for each in TrimSide if self.take(each)), TrimSide.BOTH)
        first = self.expression()
        arguments = (first, self.expression()) if self.take("FROM") else (first,)
        self.need(")")
        return resolve_call(registry.function("TRIM"), arguments, side)


def text_literal(text: str) -> ResolvedExpression:
    value = text[1:-1].replace("''", "'")
    length = len(value)
    kind: Any = (
        logical.CharType(length, nullable=False) if length else logical.VarCharType(nullable=False)
    )
    return ValueLiteral(value, kind)


def decimal_literal(text: str) -> ResolvedExpression:
    whole, _, fraction = text.partition(".")
    kind = logical.DecimalType(len(whole) + len(fraction), len(fraction), nullable=False)
    return ValueLiteral(Decimal(text), kind)


def whole_literal(text: str) -> ResolvedExpression:
    value = int(text)
    made = logical.IntType if value < 2**31 else logical.BigIntType
    return ValueLiteral(value, made(nullable=False))


def bytes_literal(text: str) -> ResolvedExpression:
    raw = bytes.fromhex(text[2:-1])
    return ValueLiteral(raw, logical.BinaryType(len(raw), nullable=False))


LITERALS: dict[int, Callable[[str], ResolvedExpression]] = {
    1: lambda text: ValueLiteral(float(text), logical.DoubleType(nullable=False)),
    2: decimal_literal,
    3: whole_literal,
    4: bytes_literal,
    5: text_literal,
}


def clock(word: str, text: str) -> ResolvedExpression:
    if word == "DATE":
        return ValueLiteral(date.fromisoformat(text), logical.DateType(nullable=False))
    if word == "TIME":
        digits = min(len(text.partition(".")[2]), 3)
        value = time.fromisoformat(
            f"{text}.000"[:12] if not digits else text[:9] + text[9:12].ljust(3, "0")
        )
        return ValueLiteral(value, logical.TimeType(digits, nullable=False))
    digits = len(text.partition(".")[2])
    if digits > 6:
        return ValueLiteral(
            nanoseconds(datetime.fromisoformat(text[:19]), text[20:]),
            logical.TimestampType(digits, nullable=False),
        )
    return ValueLiteral(
        datetime.fromisoformat(text.ljust(len(text) - digits + 6, "0") if digits else text),
        logical.TimestampType(digits, nullable=False),
    )


def interval(text: str, first: str, last: str) -> ResolvedExpression:
    numbers = [float(part) for part in re.split(r"[ :-]", text)]
    if first in ("YEAR", "MONTH"):
        months = numbers[0] * (12 if first == "YEAR" else 1) + sum(numbers[1:])
        return ValueLiteral(int(months), logical.YearMonthIntervalType(nullable=False))
    order = ("DAY", "HOUR", "MINUTE", "SECOND")
    parts = order[order.index(first) : order.index(last) + 1]
    amounts = {f"{part.lower()}s": number for part, number in zip(parts, numbers, strict=True)}
    return ValueLiteral(timedelta(**amounts), logical.DayTimeIntervalType(nullable=False))


def read_expression(text: str) -> ResolvedExpression:
    reader = Reader(text)
    made = reader.expression()
    if reader.at != len(reader.tokens):
        raise NotImplementedError(text)
    return made


@pytest.fixture(scope="session")
def read() -> Callable[[str], ResolvedExpression]:
    """Makes a resolved expression of a text of SQL."""
    return read_expression
