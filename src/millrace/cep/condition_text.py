"""How people should read a condition: its own text, the source of a lambda, or a name."""

from __future__ import annotations

import ast
import linecache
from copy import deepcopy
from functools import lru_cache, partial
from inspect import getclosurevars
from pathlib import PurePath
from types import CodeType
from typing import Any

from millrace.common.pattern_conditions import Condition

PLAIN = (str, int, float, bool, type(None))
"""Types of values that stand in the text of a lambda where it names them."""
Span = tuple[int, int, int, int]
"""First line, first column, last line, last column; columns in bytes, as the compiler counts."""


def text_of(condition: Condition | None) -> str:
    """The condition in one line.

    Example:
        >>> from millrace.common.pattern_conditions import any_of, condition_of
        >>> small = condition_of(lambda value: value < 10, "where")
        >>> text_of(small)
        'value < 10'
        >>> text_of(any_of(small, condition_of(callable, "where")))
        'value < 10 or callable'
        >>> text_of(None)
        'any event'
    """
    if condition is None:
        return "any event"
    if condition.text:
        return _one_line(condition.text)
    if condition.parts:
        return f" {condition.word} ".join(_inner(part, condition) for part in condition.parts)
    return _source_text(condition.call if condition.source is None else condition.source)


def _inner(part: Condition, around: Condition) -> str:
    text = text_of(part)
    mixed = part.parts and part.word != around.word
    return f"({text})" if mixed or (not part.parts and _is_compound(text)) else text


def _is_compound(text: str) -> bool:
    """Whether a text is an expression that binds less than `and` and `or` do."""
    try:
        body = ast.parse(text, mode="eval").body
    except SyntaxError:
        return False
    return isinstance(body, (ast.BoolOp, ast.IfExp, ast.Lambda, ast.NamedExpr))


def _source_text(source: Any) -> str:
    while isinstance(source, partial):
        source = source.func
    name = getattr(source, "__name__", "")
    if name == "<lambda>":
        return _lambda_text(source)
    return name or type(source).__name__


def _lambda_text(function: Any) -> str:
    code: CodeType = function.__code__
    lines = linecache.getlines(code.co_filename, getattr(function, "__globals__", None))
    spans = _spans(code)
    lambdas = _lambdas("".join(lines))
    around = [node for node in lambdas if any(_covers(node.body, span) for span in spans)]
    if not around:
        return f"lambda ({PurePath(code.co_filename).name}:{code.co_firstlineno})"
    innermost = max(around, key=lambda node: (node.lineno, node.col_offset))
    body = _Known(_constants(function)).visit(deepcopy(innermost.body))
    return _one_line(ast.unparse(body))


class _Known(ast.NodeTransformer):
    """Puts values where their names are: ``value > limit`` is ``value > 3``."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and node.id in self._values:
            return ast.Constant(self._values[node.id])
        return node


def _constants(function: Any) -> dict[str, Any]:
    """What a lambda knows from the functions around it, as far as it can be written down."""
    try:
        known = getclosurevars(function).nonlocals
    except ValueError:  # not set yet
        return {}
    return {name: value for name, value in known.items() if type(value) in PLAIN}


def _spans(code: CodeType) -> set[Span]:
    """Where the instructions of the code were written, as far as they say so."""
    return {
        (first_line, first, last_line, last)
        for first_line, last_line, first, last in code.co_positions()
        if first_line is not None and last_line is not None and first is not None and last
    }


def _covers(body: ast.expr, place: Span) -> bool:
    begin = (body.lineno, body.col_offset)
    end = (body.end_lineno or 0, body.end_col_offset or 0)
    return begin <= place[:2] and place[2:] <= end


@lru_cache(maxsize=8)
def _lambdas(source: str) -> list[ast.Lambda]:
    try:
        nodes = ast.walk(ast.parse(source))
    except (SyntaxError, ValueError):  # a line of a shell, or no source at all
        return []
    return [node for node in nodes if isinstance(node, ast.Lambda)]


def _one_line(text: str) -> str:
    return " ".join(text.split())
