"""Source code of a lambda: the syntax tree of its body, and its location."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import PurePath
from types import CodeType
from typing import Any

__all__ = ["body_of", "location_of"]

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
    return any(_comparable(found) == _comparable(code) for found in _nested_codes(wrapper_code))


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
