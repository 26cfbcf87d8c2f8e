"""A value in a JSON document that knows where it is, so that errors can say so."""

from __future__ import annotations

import math
from difflib import get_close_matches
from typing import Any, NoReturn

from millrace.cep.rules.rule_error import RuleError

__all__ = ["JsonPlace"]

MOST_LEVELS = 40
"""Deeper nesting is refused: nobody reads it, and Python's own limits are not far."""
MOST_DIGITS = 100
"""Of a constant; nobody counts further, and calculating with thousands of digits takes long."""
LARGEST = 2**53
"""Of versions, times and positions: what every reader of JSON knows exactly."""


class JsonPlace:
    """A value and where it is.

    Example:
        >>> place = JsonPlace({"parts": [{"name": 5}]}, "pattern")
        >>> place["parts"].items()[0]["name"].text()
        Traceback (most recent call last):
        ...
        millrace.cep.rules.rule_error.RuleError: pattern.parts[0].name: expected text, got 5
    """

    def __init__(self, value: Any, path: str = "", level: int = 0) -> None:
        self.value = value
        self.path = path
        self._level = level
        if level > MOST_LEVELS:
            self.fail(f"is nested more than {MOST_LEVELS} levels deep")

    def fail(self, problem: str) -> NoReturn:
        """Raise RuleError for this place."""
        raise RuleError(f"{self.path}: {problem}" if self.path else f"the rule: {problem}")

    def expected(self, what: str) -> NoReturn:
        """Raise RuleError: there is something else here."""
        self.fail(f"expected {what}, got {_short(self.value)}")

    # -- objects ---------------------------------------------------------------------------------

    def only(self, *names: str) -> None:
        """Refuse everything but an object with no other names than these."""
        if not isinstance(self.value, dict):
            self.expected("an object")
        for name in self.value:
            if name not in names:
                close = get_close_matches(str(name), names, 1)
                hint = f"; did you mean {close[0]!r}?" if close else f"; known: {', '.join(names)}"
                self.fail(f"there is no {_short(name)} here{hint}")

    def __contains__(self, name: str) -> bool:
        return isinstance(self.value, dict) and name in self.value

    def __getitem__(self, name: str) -> JsonPlace:
        if name not in self:
            self.fail(f"{name!r} is missing")
        return self._inner(self.value[name], f"{self.path}.{name}" if self.path else name)

    # -- values ----------------------------------------------------------------------------------

    def items(self, least: int = 1) -> list[JsonPlace]:
        """What is in a list."""
        if not isinstance(self.value, (list, tuple)):
            self.expected("a list")
        if len(self.value) < least:
            self.fail(f"expected a list of {least} or more, got one of {len(self.value)}")
        return [self._inner(v, f"{self.path}[{n}]") for n, v in enumerate(self.value)]

    def text(self) -> str:
        """Text that is not empty."""
        if not isinstance(self.value, str):
            self.expected("text")
        if not self.value:
            self.fail("is empty")
        try:
            self.value.encode()
        except UnicodeEncodeError:
            self.fail("has half a character (a lone surrogate), which cannot be written anywhere")
        return self.value

    def whole(self, least: int) -> int:
        """A whole number."""
        if type(self.value) is not int or self.value < least:
            self.expected(f"a whole number of {least} or more")
        if self.value > LARGEST:
            self.expected(f"a whole number of {LARGEST} or less")
        return self.value

    def flag(self) -> bool:
        """True or false."""
        if not isinstance(self.value, bool):
            self.expected("true or false")
        return self.value

    def one_of(self, *words: str) -> str:
        """One of a few words."""
        if self.value not in words:
            self.expected(f"one of {', '.join(words)}")
        return str(self.value)

    def constant(self) -> Any:
        """Text, a number, true or false."""
        value = self.value
        if type(value) not in (str, int, float, bool):
            self.expected("text, a number, true or false")
        if type(value) is float and not math.isfinite(value):
            self.fail(f"{value} is no number that can be compared")
        if type(value) is int and abs(value) >= 10**MOST_DIGITS:
            self.fail(f"a number has at most {MOST_DIGITS} digits")
        return value

    def check_depth(self) -> None:
        """Refuse what is nested too deep anywhere inside."""
        if isinstance(self.value, dict):
            for name, value in self.value.items():
                self._inner(value, f"{self.path}.{str(name)[:60]}").check_depth()
        elif isinstance(self.value, (list, tuple)):
            for place in self.items(0):
                place.check_depth()

    def _inner(self, value: Any, path: str) -> JsonPlace:
        return JsonPlace(value, path, self._level + 1)


def _short(value: Any) -> str:
    if isinstance(value, (dict, list, tuple)):
        return "an object" if isinstance(value, dict) else "a list"
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if isinstance(value, int) and abs(value) >= 10**MOST_DIGITS:
        return f"a number of more than {MOST_DIGITS} digits"  # Python writes out only some thousand
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
