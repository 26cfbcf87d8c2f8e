"""Text of a condition for people: its own text, the source of a lambda, or a name."""

from __future__ import annotations

import ast
from copy import deepcopy
from functools import partial
from inspect import getclosurevars
from typing import Any

from millrace.cep.lambda_source import body_of, location_of
from millrace.common.functions.pattern_conditions import Condition

PLAIN = (str, int, float, bool, type(None))
"""Types of values that stand in the text of a lambda where it names them."""


def text_of(condition: Condition | None) -> str:
    """One-line text of a condition.

    Example:
        >>> from millrace.common.functions.pattern_conditions import any_of, condition_of
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
    """Whether a text is an expression that binds less tightly than `and` and `or`."""
    try:
        body = ast.parse(text, mode="eval").body
    except SyntaxError:
        return False
    return isinstance(body, (ast.BoolOp, ast.IfExp, ast.Lambda, ast.NamedExpr))


def _source_text(source: Any) -> str:
    positional: tuple[Any, ...] = ()
    keywords: dict[str, Any] = {}
    while isinstance(source, partial):
        positional, keywords = (*source.args, *positional), {**source.keywords, **keywords}
        source = source.func
    name = getattr(source, "__name__", "")
    if name == "<lambda>":
        return _lambda_text(source, positional, keywords)
    return (name or type(source).__name__) + _given_text(positional, keywords)


def _given_text(positional: tuple[Any, ...], keywords: dict[str, Any]) -> str:
    """The arguments that a partial callable already has: ``(3, ...)``."""
    texts = [*map(_shown, positional), *(f"{name}={_shown(v)}" for name, v in keywords.items())]
    return f"({', '.join([*texts, '...'])})" if texts else ""


def _shown(value: Any) -> str:
    return repr(value) if type(value) in PLAIN else type(value).__name__


def _lambda_text(function: Any, positional: tuple[Any, ...], keywords: dict[str, Any]) -> str:
    body = body_of(function)
    if body is None:
        return f"lambda ({location_of(function)})"
    code = function.__code__
    known = {
        **_around(function),
        **_defaults(function),
        **dict(zip(code.co_varnames[: code.co_argcount], positional, strict=False)),
        **keywords,
    }
    bound = _bound(body)
    plain = {name: v for name, v in known.items() if type(v) in PLAIN and name not in bound}
    return _one_line(ast.unparse(_Known(plain).visit(deepcopy(body))))


class _Known(ast.NodeTransformer):
    """Replaces names by their values: ``value > limit`` becomes ``value > 3``."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and node.id in self._values:
            return ast.Constant(self._values[node.id])
        return node


def _around(function: Any) -> dict[str, Any]:
    """Variables of the enclosing functions that a lambda uses, with their values."""
    try:
        return dict(getclosurevars(function).nonlocals)
    except ValueError:  # not set yet
        return {}


def _defaults(function: Any) -> dict[str, Any]:
    defaults = function.__defaults__ or ()
    code = function.__code__
    names = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
    return {**dict(zip(names, defaults, strict=True)), **(function.__kwdefaults__ or {})}


def _bound(body: ast.expr) -> set[str]:
    """Names that the body binds itself, in its loops and lambdas."""
    nodes = list(ast.walk(body))
    stored = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return stored | {n.arg for n in nodes if isinstance(n, ast.arg)}


def _one_line(text: str) -> str:
    return " ".join(text.split())
