"""SQL's JSON paths: ``lax $.a[0].b`` over parsed JSON."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from millrace.expressions.evaluation_error import EvaluationError

__all__ = ["PathMissingError", "is_strict", "walk"]

_STEP = re.compile(
    r"\.\s*(\*|[\w\-@$]+)|\.?\[\s*(?:(\*)|(-?\d+(?:\s*,\s*-?\d+)*)|(-?\d*)\s*:\s*(-?\d*)"
    r"|'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\")\s*\]|\.\.([\w\-]+)"
)
Step = tuple[str, Any]


class PathMissingError(EvaluationError):
    """In strict mode, the path leads nowhere."""


@lru_cache(maxsize=512)
def _steps(path: str) -> tuple[bool, tuple[Step, ...]]:
    text = path.strip()
    mode, _, rest = text.partition(" ")
    lax = mode.lower() == "lax"
    if mode.lower() in ("lax", "strict"):
        text = rest.strip()
    if not text.startswith("$"):
        raise EvaluationError(f"the JSON path {path!r} does not begin with $")
    position, steps = 1, list[Step]()
    while position < len(text):
        found = _STEP.match(text.rstrip(), position if text[position] != " " else position + 1)
        if not found:
            raise EvaluationError(f"the JSON path {path!r} is wrong at {text[position:]!r}")
        steps.append(_step(found))
        position = found.end()
    return lax, tuple(steps)


def _step(found: re.Match[str]) -> Step:
    name, star, places, first, last, single, double, deep = found.groups()
    if star or name == "*":
        return "every", None
    if places is not None:
        return "places", tuple(map(int, places.split(",")))
    if first is not None:
        return "slice", (int(first) if first else None, int(last) if last else None)
    if deep is not None:
        return "deep", deep
    return "name", next(each for each in (name, single, double) if each is not None)


def is_strict(path: str) -> bool:
    """Whether a path that leads nowhere is an error, as it is unless it begins with ``lax``."""
    return not _steps(path)[0]


def walk(text: str, path: str, parse: Callable[[str], Any]) -> Any:
    """The value that a path leads to: a list of all if there may be several, None if there is none.

    Args:
        text: of JSON.
        path: with ``lax`` or ``strict`` before it; strict where there is neither.
        parse: makes values of the text.

    Raises:
        PathMissingError: the path is strict and leads nowhere, or to null.
        ValueError: the path is strict and the text is no JSON.
    """
    lax, steps = _steps(path)
    try:
        values = [parse(text)]
    except ValueError:
        if lax:
            return None
        raise
    for kind, what in steps:
        values = [made for value in values for made in _taken(value, kind, what)]
    if any(_is_of_several(step) for step in steps):
        return values
    value = next(iter(values), None)
    if value is None and not lax:
        raise PathMissingError(f"no results for the JSON path {path!r}")
    return value


def _is_of_several(step: Step) -> bool:
    kind, what = step
    return len(what) > 1 if kind == "places" else kind != "name"


def _taken(value: Any, kind: str, what: Any) -> list[Any]:
    if kind == "name":
        return [value[what]] if isinstance(value, dict) and what in value else []
    if kind == "deep":
        return _deep(value, what)
    if kind == "every" and isinstance(value, dict):
        return list(value.values())
    if not isinstance(value, list):
        return []
    if kind == "every":
        return value
    if kind == "slice":
        return value[what[0] : what[1]]
    return [value[place] for place in what if -len(value) <= place < len(value)]


def _deep(value: Any, name: str) -> list[Any]:
    found = []
    if isinstance(value, dict):
        found = [value[name]] if name in value else []
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return found + [each for part in parts for each in _deep(part, name)]
