"""Text of a condition for people: its own text, the source of a lambda, or a name."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator
from copy import deepcopy
from functools import lru_cache, partial
from inspect import getclosurevars
from pathlib import PurePath
from types import CodeType
from typing import Any

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


Span = tuple[int, int, int, int]
"""First line, first column, last line, last column; columns in bytes, as the compiler counts."""
CLASS_PREFIX = re.compile(r"^_+[^_]\w*?(?=__)")
"""The class name that the compiler puts before a private name: ``_Job`` in ``_Job__name``."""


def body_of(function: Any) -> ast.expr | None:
    """Syntax tree of a lambda's body.

    None: the source is not available, or has changed since the lambda was compiled.
    """
    code: CodeType = function.__code__
    lines = linecache.getlines(code.co_filename, getattr(function, "__globals__", None))
    spans = _spans(code)
    candidates = [
        node
        for node in _lambdas("".join(lines))
        if any(_covers(node.body, span) for span in spans) and _compiles_to(node, code)
    ]
    # of nested lambdas that match, the innermost
    return max(candidates, key=_begin).body if candidates else None


def location_of(function: Any) -> str:
    """File, line and, where known, column of a lambda's body."""
    code: CodeType = function.__code__
    name = PurePath(code.co_filename).name
    first = min(_spans(code), default=None)
    return f"{name}:{code.co_firstlineno}" if first is None else f"{name}:{first[0]}:{first[1] + 1}"


def _begin(node: ast.Lambda) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _spans(code: CodeType) -> set[Span]:
    """Source positions of the code's instructions; some have none."""
    return {
        (first_line, first, last_line, last)
        for first_line, last_line, first, last in code.co_positions()
        if first_line is not None and last_line is not None and first is not None and last
    }


def _covers(body: ast.expr, span: Span) -> bool:
    begin = (body.lineno, body.col_offset)
    end = (body.end_lineno or 0, body.end_col_offset or 0)
    return begin <= span[:2] and span[2:] <= end


@lru_cache(maxsize=8)
def _lambdas(source: str) -> list[ast.Lambda]:
    try:
        nodes = ast.walk(ast.parse(source))
    except (SyntaxError, ValueError):  # typed in a shell, or not Python source
        return []
    return [node for node in nodes if isinstance(node, ast.Lambda)]


def _compiles_to(node: ast.Lambda, code: CodeType) -> bool:
    """Whether compiling the lambda gives this code: the file may have changed since."""
    # the free variables are parameters of a function around it: the compiler must see them as such
    module = ast.parse(f"def wrapper({', '.join(code.co_freevars)}): pass")
    wrapper = module.body[0]
    assert isinstance(wrapper, ast.FunctionDef)
    wrapper.body = [ast.copy_location(ast.Return(node), node)]
    try:
        compiled = compile(module, code.co_filename, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    wrapper_code = next(_nested_codes(compiled))
    return any(
        _comparable(candidate) == _comparable(code) for candidate in _nested_codes(wrapper_code)
    )


def _nested_codes(code: CodeType) -> Iterator[CodeType]:
    return (constant for constant in code.co_consts if isinstance(constant, CodeType))


def _comparable(code: CodeType) -> Any:
    """A value that is equal for code objects compiled from the same source at different places."""
    constants = [
        _comparable(constant) if isinstance(constant, CodeType) else (type(constant), constant)
        for constant in code.co_consts
    ]
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return (
        code.co_code,
        constants,
        [[CLASS_PREFIX.sub("", name) for name in kind] for kind in names],
    )
