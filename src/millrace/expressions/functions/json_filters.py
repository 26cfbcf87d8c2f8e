"""Filters of JSON paths such as ``?(@.price < 10 && @.name =~ /a.*/i)``, with the semantics of the
library JsonPath.

A number equals a text with its digits; a missing value equals nothing; other values of different
kinds have no order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from millrace.expressions.evaluation_error import EvaluationError

__all__ = ["JsonPathSyntaxError", "Test", "parse_filter"]

Test = Callable[[Any, Any], bool]
"""Whether an item passes; its second argument is the document."""
Operand = Callable[[Any, Any], Any]
Relative = Callable[[str], Callable[[Any, Any], Any]]
"""Makes of a path what reads it in a value; that gives its second argument where it leads
nowhere."""

_BLANKS = re.compile(r"\s*")
_OPERATOR = re.compile(
    r"\s*(===|!==|==|!=|<>|<=|>=|<|>|=~"
    r"|(?:in|nin|subsetof|anyof|noneof|contains|all|size|empty|type)\b)\s*",
    re.IGNORECASE,
)
_PATTERN = re.compile(r"/((?:[^/\\]|\\.)*)/([a-zA-Z]*)")
_TEXT = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"", re.DOTALL)
_NUMBER = re.compile(r"-?\d{1,400}(?:\.\d{1,400})?(?:[eE][+-]?\d{1,4})?")
_WORDS = {"true": True, "false": False, "null": None}
_WORD = re.compile("|".join(_WORDS))
_FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL, "x": re.VERBOSE}
_JSON = json.JSONDecoder(parse_float=Decimal)


class JsonPathSyntaxError(ValueError):
    """A text is not a valid path; the error shows the place."""

    def __init__(self, at: str) -> None:
        super().__init__(at)
        self.at = at


class _Missing:
    """Type of `missing`, the result of a path that leads to no value."""

    def __bool__(self) -> bool:
        return False


MISSING = _Missing()


def parse_filter(text: str, place: int, relative: Relative) -> tuple[Test, int]:
    """The test that a filter describes, and the position after its closing bracket.

    Args:
        text: text of the whole path.
        place: position after the question mark.
        relative: function that reads a path beginning with ``@`` or ``$``.

    Raises:
        JsonPathSyntaxError: it is no filter.
    """
    reader = _FilterText(text, place, relative)
    reader.require("(")
    test = reader.alternatives()
    reader.require(")")
    reader.require("]")
    return test, reader.place


class _FilterText:
    def __init__(self, text: str, place: int, relative: Relative) -> None:
        self._text, self.place, self._relative = text, place, relative

    def require(self, text: str) -> None:
        if not self._skipped(text):
            raise JsonPathSyntaxError(self._text[self.place :])

    def _skipped(self, text: str) -> bool:
        self._take(_BLANKS)
        present = self._text.startswith(text, self.place)
        self.place += len(text) if present else 0
        return present

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self._text, self.place)
        if match:
            self.place = match.end()
        return match

    def alternatives(self) -> Test:
        """Parse tests combined by ``||``."""
        tests = [self._conditions()]
        while self._skipped("||"):
            tests.append(self._conditions())
        return lambda item, root: any(test(item, root) for test in tests)

    def _conditions(self) -> Test:
        tests = [self._condition()]
        while self._skipped("&&"):
            tests.append(self._condition())
        return lambda item, root: all(test(item, root) for test in tests)

    def _condition(self) -> Test:
        if self._skipped("!"):
            test = self._condition()
            return lambda item, root: not test(item, root)
        if self._skipped("("):
            inner = self.alternatives()
            self.require(")")
            return inner
        left = self._operand()
        operator = self._take(_OPERATOR)
        if not operator:
            return lambda item, root: left(item, root) is not MISSING
        compare = _COMPARISONS[operator[1].lower()]
        right = self._operand()
        return lambda item, root: compare(left(item, root), right(item, root))

    def _operand(self) -> Operand:
        self._take(_BLANKS)
        if self._text[self.place : self.place + 1] in ("@", "$"):
            return self._path()
        value = self._constant()
        return lambda item, root: value

    def _constant(self) -> Any:
        text, place = self._text, self.place
        if match := self._take(_TEXT):
            quoted = match[1] if match[1] is not None else match[2]
            return re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL)
        if match := self._take(_NUMBER):
            return Decimal(match[0])
        if match := self._take(_WORD):
            return _WORDS[match[0]]
        if match := self._take(_PATTERN):
            return _pattern(match)
        if text.startswith(("[", "{"), place):
            return self._json()
        raise JsonPathSyntaxError(text[place:])

    def _json(self) -> Any:
        try:
            value, self.place = _JSON.raw_decode(self._text, self.place)
        except ValueError:
            # texts in single quotes, as in ['a','b']
            end = self._text.find("]", self.place) + 1
            try:
                value = _JSON.decode(self._text[self.place : end].replace("'", '"'))
            except ValueError:
                raise JsonPathSyntaxError(self._text[self.place :]) from None
            self.place = end
        return value

    def _path(self) -> Operand:
        end = _end_of_path(self._text, self.place)
        text = self._text[self.place : end]
        read, of_root = self._relative(text), text.startswith("$")
        self.place = end

        def operand(item: Any, root: Any) -> Any:
            try:
                return read(root if of_root else item, MISSING)
            except EvaluationError:
                return MISSING

        return operand


def _end_of_path(text: str, place: int) -> int:
    """Position of the end of a path within a filter."""
    depth, quote = 0, ""
    while place < len(text):
        letter = text[place]
        if quote:
            place += letter == "\\"
            quote = "" if letter == quote else quote
        elif letter in "'\"" and depth:
            quote = letter
        elif letter in "[(":
            depth += 1
        elif letter in "])" and depth:
            depth -= 1
        elif not depth and (letter in " )]=<>!&|~" or text.startswith(("&&", "||"), place)):
            break
        place += 1
    return place


def _pattern(match: re.Match[str]) -> re.Pattern[str]:
    flags = re.RegexFlag(0)
    for letter in match[2]:
        flags |= _FLAGS.get(letter, re.RegexFlag(0))
    try:
        return re.compile(match[1], flags)
    except (re.error, RecursionError, OverflowError):
        raise JsonPathSyntaxError(match[0]) from None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, Decimal)) and not isinstance(value, bool)


def _equal(left: Any, right: Any) -> bool:
    if left is MISSING or right is MISSING:
        return False
    if _is_number(left) and _is_number(right):
        return bool(left == right)
    if _is_number(left) and isinstance(right, str):
        return _equals_digits(left, right)
    if isinstance(left, str) and _is_number(right):
        return left == str(right)
    return type(left) is type(right) and bool(left == right)


def _equals_digits(number: Any, text: str) -> bool:
    match = _NUMBER.fullmatch(text)
    return match is not None and bool(Decimal(text) == number)


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def test(left: Any, right: Any) -> bool:
        numbers = _is_number(left) and _is_number(right)
        texts = isinstance(left, str) and isinstance(right, str)
        return (numbers or texts) and compare(left, right)

    return test


def _is_in(item: Any, items: Any) -> bool:
    return isinstance(items, list) and any(_equal(item, member) for member in items)


def _all_in(items: Any, others: Any) -> bool:
    return isinstance(items, list) and all(_is_in(item, others) for item in items)


def _any_in(items: Any, others: Any) -> bool:
    return isinstance(items, list) and any(_is_in(item, others) for item in items)


def _contains(whole: Any, part: Any) -> bool:
    if isinstance(whole, str):
        return isinstance(part, str) and part in whole
    return _is_in(part, whole)


def _matches(value: Any, pattern: Any) -> bool:
    if isinstance(value, re.Pattern):
        value, pattern = pattern, value
    if not isinstance(pattern, re.Pattern) or isinstance(value, (dict, list, _Missing)):
        return False
    text = value if isinstance(value, str) else str(value)
    return pattern.fullmatch(text) is not None


def _has_size(value: Any, size: Any) -> bool:
    return isinstance(value, (str, list)) and _is_number(size) and len(value) == size


def _is_empty(value: Any, wanted: Any) -> bool:
    if not isinstance(value, (str, list, dict)):
        return False
    return isinstance(wanted, bool) and (not value) is wanted


def _same_type(left: Any, right: Any) -> bool:
    return type(left) is type(right) and _equal(left, right)


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": _equal,
    "===": _same_type,
    "!=": lambda left, right: not _equal(left, right),
    "<>": lambda left, right: not _equal(left, right),
    "!==": lambda left, right: not _same_type(left, right),
    "<": _ordered(lambda left, right: left < right),
    "<=": _ordered(lambda left, right: left <= right),
    ">": _ordered(lambda left, right: left > right),
    ">=": _ordered(lambda left, right: left >= right),
    "=~": _matches,
    "in": _is_in,
    "nin": lambda left, right: not _is_in(left, right),
    "subsetof": _all_in,
    "anyof": _any_in,
    "noneof": lambda left, right: not _any_in(left, right),
    "contains": _contains,
    "all": lambda left, right: _all_in(right, left),
    "size": _has_size,
    "empty": _is_empty,
    "type": lambda left, right: False,
}
