"""SQL's JSON paths such as ``lax $.a[0].b`` over parsed JSON, with the semantics of the library
JsonPath (Jayway), which Flink uses.

A path is definite if it leads to one value: by names, and by one place in an array. Any other leads
to a list. In strict mode, which is the default, a definite path, and the definite beginning of
another, must lead somewhere.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from itertools import islice
from typing import Any

from millrace.expressions.evaluation_error import EvaluationError
from millrace.expressions.functions.json_filters import JsonPathSyntaxError, Test, parse_filter

__all__ = ["PathMissingError", "is_strict", "walk"]

_MODE = re.compile(r"\s*(strict|lax)\s+(.+)$", re.IGNORECASE | re.DOTALL)
_NAME = re.compile(r"\*|[^.\[\s(]+")
_CALL = re.compile(r"([a-zA-Z]+)\(\s*\)")
_PLACES = re.compile(r"\[\s*(-?\d{1,9}(?:\s*,\s*-?\d{1,9})*)\s*\]")
_SLICE = re.compile(r"\[\s*(-?\d{1,9})?\s*:\s*(-?\d{1,9})?\s*\]")
_EVERY = re.compile(r"\[\s*\*\s*\]")
_QUOTED = re.compile(r"\s*(?:'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\")\s*([,\]])", re.DOTALL)
_FILTER = re.compile(r"\[\s*\?")


class PathMissingError(EvaluationError):
    """A path in strict mode leads to no value."""


class Step:
    """A step of a path."""

    definite = False
    """Whether it leads to one value."""

    def taken(self, value: Any, root: Any, must: bool) -> list[Any]:
        """Values to which the step leads from the given value.

        Args:
            root: the whole document, for filters.
            must: whether a value of the wrong kind is an error.

        Raises:
            PathMissingError: the step does not apply to the value, and ``must`` is set.
        """
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Names(Step):
    """Step to members of an object by name. Several names at the end of a path give an object with
    these members.
    """

    names: tuple[str, ...]
    last: bool = False

    @property
    def definite(self) -> bool:  # type: ignore[override]
        return len(self.names) == 1 or self.last

    def taken(self, value: Any, root: Any, must: bool) -> list[Any]:
        if not isinstance(value, dict):
            return _nowhere(must, f"{self.names[0]!r} of a value that is not an object")
        if len(self.names) > 1:
            members = {name: value[name] for name in self.names if name in value}
            return [members] if self.last else list(members.values())
        (name,) = self.names
        return [value[name]] if name in value else _nowhere(must, f"no member {name!r}")


class Every(Step):
    """Step to all members of an object, or to all items of an array."""

    def taken(self, value: Any, root: Any, must: bool) -> list[Any]:
        if isinstance(value, dict):
            return list(value.values())
        return value if isinstance(value, list) else []


@dataclass(frozen=True, slots=True)
class Places(Step):
    """Step to items of an array by position; negative positions count from the end."""

    places: tuple[int, ...]

    @property
    def definite(self) -> bool:  # type: ignore[override]
        return len(self.places) == 1

    def taken(self, value: Any, root: Any, must: bool) -> list[Any]:
        if not isinstance(value, list):
            return _nowhere(must, "a position in a value that is not an array")
        return [value[place] for place in self.places if -len(value) <= place < len(value)]


@dataclass(frozen=True, slots=True)
class Slice(Step):
    """Step to items of an array from one position up to, but not including, another. A negative
    bound counts from the end if it is the only bound.
    """

    first: int | None
    last: int | None

    def taken(self, value: Any, root: Any, must: bool) -> list[Any]:
        if not isinstance(value, list):
            return _nowhere(must, "positions in a value that is not an array")
        if self.first is None or self.last is None:
            return value[self.first : self.last]
        places = range(self.first, min(self.last, len(value)))
        return [value[place] for place in places if place >= -len(value)]


@dataclass(frozen=True, slots=True)
class ItemFilter(Step):
    """Step to the items of an array that pass a test, or to an object if it passes the test."""

    test: Test

    def taken(self, value: Any, root: Any, must: bool) -> list[Any]:
        if isinstance(value, list):
            return [item for item in value if self.test(item, root)]
        if isinstance(value, dict):
            return [value] if self.test(value, root) else []
        return _nowhere(must, "a filter of a value that is neither an array nor an object")


@dataclass(frozen=True, slots=True)
class Deep(Step):
    """Step that applies another step to every object and every array, at any depth."""

    step: Step

    def taken(self, value: Any, root: Any, must: bool) -> list[Any]:
        takes_objects = isinstance(self.step, (Names, Every, ItemFilter))
        takes_arrays = isinstance(self.step, (Places, Slice, Every))
        return [
            item
            for container in _containers(value)
            if (takes_objects if isinstance(container, dict) else takes_arrays)
            for item in self.step.taken(container, root, False)
        ]


@dataclass(frozen=True, slots=True)
class PathCall(Step):
    """Step at the end of a path that calls a function."""

    name: str
    definite = True

    def taken(self, value: Any, root: Any, must: bool) -> list[Any]:
        return [PATH_FUNCTIONS[self.name](value)]


def _nowhere(must: bool, what: str) -> list[Any]:
    if must:
        raise PathMissingError(f"the JSON path leads nowhere: {what}")
    return []


def _containers(value: Any) -> Iterator[Any]:
    """Objects and arrays at any depth, outer ones first; uses a list instead of recursion."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, (dict, list)):
            yield item
            parts = list(item.values()) if isinstance(item, dict) else item
            waiting.extend(reversed(parts))


_MOST_VALUES = 100_000


@dataclass(frozen=True, slots=True)
class Path:
    """A parsed path."""

    lax: bool
    steps: tuple[Step, ...]

    def read(self, document: Any, missing: Any = None) -> Any:
        """The value to which the path leads in a document; `missing` if the path can lead to only
        one value, and it does not exist.

        Raises:
            PathMissingError: the path is strict and leads nowhere.
            EvaluationError: the path leads to more values than `_MOST_VALUES`, as ``$..*..*..*``
                may.
        """
        values, definite = [document], True
        for step in self.steps:
            if isinstance(step, PathCall) and not definite:
                values, definite = step.taken(values, document, False), True
                continue
            must = definite and not self.lax
            reached = (made for value in values for made in step.taken(value, document, must))
            values = list(islice(reached, _MOST_VALUES + 1))
            if len(values) > _MOST_VALUES:
                raise EvaluationError(f"the JSON path leads to more than {_MOST_VALUES:,} values")
            definite = definite and step.definite
        return (values[0] if values else missing) if definite else values


@lru_cache(maxsize=512)
def _path(text: str) -> Path:
    match = _MODE.match(text)
    mode, rest = (match[1].lower(), match[2]) if match else ("strict", text)
    try:
        steps = tuple(_PathText(rest.strip()).steps())
    except RecursionError:
        raise EvaluationError(f"the JSON path {text[:100]!r} is nested too deep") from None
    except JsonPathSyntaxError as error:
        raise EvaluationError(f"the JSON path {text!r} is wrong at {error.at!r}") from None
    return Path(mode == "lax", steps)


class _PathText:
    """Parses the steps of a path."""

    def __init__(self, text: str) -> None:
        if not text:
            raise JsonPathSyntaxError(text)
        self._text = text if text[0] in "$@" else f"$.{text}"
        self._place = 1

    def steps(self) -> Iterator[Step]:
        while self._place < len(self._text):
            yield self._step()

    def _step(self) -> Step:
        if self._text.startswith("..", self._place):
            self._place += 2
            return Deep(self._bracket() if self._at("[") else self._named())
        if self._at("."):
            self._place += 1
            return self._bracket() if self._at("[") else self._named()
        return self._bracket()

    def _at(self, text: str) -> bool:
        return self._text.startswith(text, self._place)

    def _taken(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self._text, self._place)
        if match:
            self._place = match.end()
        return match

    def _named(self) -> Step:
        call = self._taken(_CALL)
        if call and call[1] in PATH_FUNCTIONS:
            return PathCall(call[1])
        name = None if call else self._taken(_NAME)
        if not name:
            raise JsonPathSyntaxError(self._text[self._place :])
        return Every() if name[0] == "*" else Names((name[0],))

    def _bracket(self) -> Step:
        if places := self._taken(_PLACES):
            return Places(tuple(map(int, places[1].split(","))))
        if bounds := self._taken(_SLICE):
            first, last = (None if bound is None else int(bound) for bound in bounds.groups())
            if first is None and last is None:
                raise JsonPathSyntaxError(bounds[0])
            return Slice(first, last)
        if self._taken(_EVERY):
            return Every()
        if self._taken(_FILTER):
            test, self._place = parse_filter(self._text, self._place, _relative)
            return ItemFilter(test)
        if not self._at("["):
            raise JsonPathSyntaxError(self._text[self._place :])
        return self._quoted_names()

    def _quoted_names(self) -> Step:
        self._place += 1
        names: list[str] = []
        while True:
            match = self._taken(_QUOTED)
            if not match:
                raise JsonPathSyntaxError(self._text[self._place :])
            name = match[1] if match[1] is not None else match[2]
            names.append(re.sub(r"\\(.)", r"\1", name, flags=re.DOTALL))
            if match[3] == "]":
                return Names(tuple(names), self._place == len(self._text))


def _relative(text: str) -> Callable[[Any, Any], Any]:
    """Function that reads a path within a filter.

    Raises:
        JsonPathSyntaxError: the text is not a path.
    """
    return Path(False, tuple(_PathText(text).steps())).read


def is_strict(path: str) -> bool:
    """Whether a path that leads to no value is an error. It is one unless the path begins with
    ``lax``.
    """
    return not _path(path).lax


def walk(text: str, path: str, parse: Callable[[str], Any]) -> Any:
    """The value to which a path leads: a list of all values if there may be several, None if there
    is none.

    Args:
        text: JSON text.
        path: path with ``lax`` or ``strict`` in front; strict by default.
        parse: parses the text.

    Raises:
        PathMissingError: the path is strict and leads nowhere, or to null.
        ValueError: the path is strict and the text is not JSON.
        EvaluationError: the path is invalid.
    """
    read = _path(path)
    try:
        document = parse(text)
    except ValueError:
        if read.lax:
            return None
        raise
    value = read.read(document)
    if value is None and not read.lax:
        raise PathMissingError(f"no results for the JSON path {path!r}")
    return value


def _length(value: Any) -> int | None:
    return len(value) if isinstance(value, (dict, list)) else None


def _of_numbers(name: str, compute: Callable[[Sequence[float]], float]) -> Callable[[Any], float]:
    def call(value: Any) -> float:
        items = value if isinstance(value, list) else ()
        numbers = [float(item) for item in items if _is_number(item)]
        if not numbers:
            raise EvaluationError(f"{name}() of the JSON path has no numbers")
        return compute(numbers)

    return call


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, Decimal)) and not isinstance(value, bool)


def _item(value: Any, place: int) -> Any:
    return value[place] if isinstance(value, list) and value else None


PATH_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "length": _length,
    "size": _length,
    "keys": lambda value: list(value) if isinstance(value, dict) else None,
    "first": lambda value: _item(value, 0),
    "last": lambda value: _item(value, -1),
    "min": _of_numbers("min", min),
    "max": _of_numbers("max", max),
    "sum": _of_numbers("sum", sum),
    "avg": _of_numbers("avg", statistics.fmean),
    "stddev": _of_numbers("stddev", statistics.pstdev),
}
