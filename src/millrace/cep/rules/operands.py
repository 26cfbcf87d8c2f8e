"""Operands of conditions: constants, fields, values of matched events, and calculations.

Each operand can be evaluated, and gives Python source that does the same faster; in that
source every name, constant and function is a variable (see `source_names`), never pasted text.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

from millrace.cep.rules.source_names import SourceNames
from millrace.runtime.cep.event_field import FieldPath, read_path, read_step

__all__ = ["ARITHMETIC", "WHICH", "Arithmetic", "Constant", "Field", "Matched", "Operand"]

NUMBERS = frozenset({int, float, Decimal})
LARGEST = 10**1_000
"""Whole numbers beyond this are no result: what is multiplied often enough takes all the time."""
ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


@dataclass(frozen=True, slots=True)
class Constant:
    """A text, a number, true or false."""

    value: Any
    iterative = False

    def of(self, value: Any, ctx: Any) -> Any:
        """The value of the constant, whatever the event is."""
        return self.value

    def source(self, names: SourceNames) -> str:
        return names.of(self.value)

    def __str__(self) -> str:
        return str(self.value).lower() if isinstance(self.value, bool) else repr(self.value)


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the event."""

    path: FieldPath
    iterative = False

    def of(self, value: Any, ctx: Any) -> Any:
        """Value of the field in an event; None if the event does not have the field."""
        return read_path(value, self.path)

    def source(self, names: SourceNames) -> str:
        if not self.path:
            return "value"
        if len(self.path) > 1:
            return f"{names.of(read_path)}(value, {names.of(self.path)})"
        step = names.of(self.path[0])
        read = f"{names.of(read_step)}(value, {step})"
        if isinstance(self.path[0], int):
            return read
        return f"(value.get({step}) if type(value) is dict else {read})"

    def __str__(self) -> str:
        return ".".join(map(str, self.path)) or "the event"


@dataclass(frozen=True, slots=True)
class Matched:
    """A value of the events that were matched for a part of the pattern."""

    part: str
    which: str
    """One of `WHICH`."""
    path: FieldPath
    iterative = True

    def of(self, value: Any, ctx: Any) -> Any:
        """The value, computed from the events matched so far; None if there are none."""
        events = ctx.get_events_for_pattern(self.part)
        return WHICH[self.which](events, self.path)

    def source(self, names: SourceNames) -> str:
        return f"{names.of(self.of)}(value, ctx)"

    def __str__(self) -> str:
        named = str(Field(self.path))
        return f"{self.which} {named if self.path else 'event'} of {self.part}"


def _chosen(number: int) -> Callable[[list[Any], FieldPath], Any]:
    return lambda events, path: read_path(events[number], path) if events else None


def _gathered(function: Callable[[list[Any]], Any]) -> Callable[[list[Any], FieldPath], Any]:
    def gather(events: list[Any], path: FieldPath) -> Any:
        values = [value for e in events if (value := read_path(e, path)) is not None]
        try:
            return function(values) if values else None
        except Exception:  # not numbers, or not of one kind
            return None

    return gather


WHICH: dict[str, Callable[[list[Any], FieldPath], Any]] = {
    "first": _chosen(0),
    "last": _chosen(-1),
    "count": lambda events, path: len(events),
    "sum": _gathered(sum),
    "avg": _gathered(lambda values: sum(values) / len(values)),
    "min": _gathered(min),
    "max": _gathered(max),
}
"""Which of the matched events, or what of all of them."""


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Addition, subtraction, multiplication or division of numbers, from left to right."""

    word: str
    operands: tuple[Operand, ...]

    @property
    def iterative(self) -> bool:
        """Whether the calculation needs events that were already matched."""
        return any(operand.iterative for operand in self.operands)

    def of(self, value: Any, ctx: Any) -> Any:
        """The result; None if an operand is not a number or there is no result."""
        return calculated(self.word, *(operand.of(value, ctx) for operand in self.operands))

    def source(self, names: SourceNames) -> str:
        operands = ", ".join(operand.source(names) for operand in self.operands)
        return f"{names.of(calculated)}({names.of(self.word)}, {operands})"

    def __str__(self) -> str:
        return f"({f' {self.word} '.join(map(str, self.operands))})"


def calculated(word: str, first: Any, *others: Any) -> Any:
    """The result of an operation on numbers; None if there is none, or an operand is not a
    number."""
    function = ARITHMETIC[word]
    try:
        result = _as_number(first)
        for other in others:
            number = _as_number(other)
            if result is None or number is None:
                return None
            result = function(*_of_one_kind(result, number))
            if type(result) is int and not -LARGEST < result < LARGEST:
                return None
    except Exception:  # division by zero, an overflow, and whatever numbers of others may raise
        return None
    return result


def _as_number(value: Any) -> Any:
    """The value as a Python number, which raises where NumPy's would warn or wrap; None if it is
    not a number. Booleans are not numbers."""
    if type(value) in NUMBERS or isinstance(value, Decimal):
        return value
    if isinstance(value, bool):
        return None
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, Real) else None


def _of_one_kind(left: Any, right: Any) -> tuple[Any, Any]:
    """The two numbers in types that can be combined: if the other number is a Decimal, a float
    becomes the Decimal with the same text."""
    if isinstance(left, Decimal) and isinstance(right, float):
        return left, Decimal(repr(right))
    if isinstance(left, float) and isinstance(right, Decimal):
        return Decimal(repr(left)), right
    return left, right


Operand = Constant | Field | Matched | Arithmetic
