"""The source of a lambda, if it can be found."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import PurePath
from types import CodeType
from typing import Any

__all__ = ["body_of", "place_of"]

Span = tuple[int, int, int, int]
"""First line, first column, last line, last column; columns in bytes, as the compiler counts."""
CLASS_OF = re.compile(r"^_+[^_]\w*?(?=__)")
"""What the compiler puts before private names in classes."""


def body_of(function: Any) -> ast.expr | None:
    """What a lambda returns; None: the source is gone, or no longer what was compiled."""
    code: CodeType = function.__code__
    lines = linecache.getlines(code.co_filename, getattr(function, "__globals__", None))
    spans = _spans(code)
    around = [
        node
        for node in _lambdas("".join(lines))
        if any(_covers(node.body, span) for span in spans) and _compiles_to(node, code)
    ]
    return max(around, key=_begin).body if around else None


def place_of(function: Any) -> str:
    """Where a lambda was written: file, line and column of what it returns, as far as known."""
    code: CodeType = function.__code__
    name = PurePath(code.co_filename).name
    first = min(_spans(code), default=None)
    return f"{name}:{code.co_firstlineno}" if first is None else f"{name}:{first[0]}:{first[1] + 1}"


def _begin(node: ast.Lambda) -> tuple[int, int]:
    return node.lineno, node.col_offset


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


def _compiles_to(node: ast.Lambda, code: CodeType) -> bool:
    """Whether a lambda is what the code was made of: the file may have changed since."""
    module = ast.parse(f"def around({', '.join(code.co_freevars)}): pass")
    around = module.body[0]
    assert isinstance(around, ast.FunctionDef)
    around.body = [ast.copy_location(ast.Return(node), node)]
    try:
        compiled = compile(module, code.co_filename, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    of_around = next(_codes(compiled))
    return any(_facts(found) == _facts(code) for found in _codes(of_around))


def _codes(code: CodeType) -> Iterator[CodeType]:
    return (constant for constant in code.co_consts if isinstance(constant, CodeType))


def _facts(code: CodeType) -> Any:
    """What two codes of the same source have in common, wherever it is."""
    constants = [
        _facts(constant) if isinstance(constant, CodeType) else (type(constant), constant)
        for constant in code.co_consts
    ]
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return (
        code.co_code,
        constants,
        [[CLASS_OF.sub("", name) for name in kind] for kind in names],
    )
