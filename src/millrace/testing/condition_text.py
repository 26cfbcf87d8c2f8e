"""Conditions as people read them: as they are written in the program, where that can be found."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import Any

from millrace.common.pattern_conditions import Condition

__all__ = ["condition_text"]

SHORT = 40
"""Longest text of a value that is shown."""


def condition_text(condition: Condition) -> str:
    """What is asked.

    Example:
        >>> from millrace.common.pattern_conditions import any_of, condition_of
        >>> condition_text(condition_of(str.isdigit, "where"))
        'str.isdigit'
        >>> condition_text(Condition(str.isdigit, text="a number"))
        'a number'
    """
    if condition.text:
        return condition.text
    if condition.parts:
        return f" {condition.word} ".join(f"({condition_text(part)})" for part in condition.parts)
    return _source_text(condition.source)


def _source_text(source: Any) -> str:
    if getattr(source, "__name__", "") == "<lambda>":
        return (_lambda_text(source) or "a lambda") + _closure_text(source)
    name = getattr(source, "__qualname__", "") or type(source).__qualname__
    return str(name).rpartition("<locals>.")[2]


def _lambda_text(function: Callable[..., Any]) -> str:
    """The body of a lambda; empty if its source is not there."""
    try:
        lines, _ = inspect.findsource(function)
        tree = ast.parse("".join(lines))
    except (OSError, TypeError, SyntaxError):
        return ""
    # what a lambda returns stands where its body stands: several may be on one line
    places = set(function.__code__.co_positions())
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda):
            body = node.body
            place = (body.lineno, body.end_lineno, body.col_offset, body.end_col_offset)
            if place in places:
                return ast.unparse(body)
    return ""


def _closure_text(function: Callable[..., Any]) -> str:
    """What a lambda knows from the function around it, if it is short: `` [limit=3]``."""
    try:
        known = inspect.getclosurevars(function).nonlocals
    except ValueError:
        return ""
    texts = [f"{name}={value!r}" for name, value in known.items() if len(repr(value)) <= SHORT]
    return f" [{', '.join(texts)}]" if texts else ""
