"""Printer of MATCH_RECOGNIZE patterns as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from millrace.sql.dialect import nodes
from millrace.sql.dialect.plain_text import identifier_text

__all__ = ["pattern_text"]


def pattern_text(node: exp.Expr) -> str:
    """Text of a pattern, as it stands in ``PATTERN (...)``."""
    return _PRINTERS[type(node)](node)


def _permutation(node: nodes.PatternPermutation) -> str:
    return f"PERMUTE({', '.join(map(pattern_text, node.expressions))})"


def _quantifier(node: nodes.PatternQuantifier) -> str:
    least, most = node.args["least"], node.args.get("most")
    signs = {(0, None): "*", (1, None): "+", (0, 1): "?"}
    sign = signs.get((least, most))
    if sign is None:
        sign = f"{{{least}}}" if least == most else f"{{{least},{'' if most is None else most}}}"
    reluctant = "?" if node.args.get("reluctant") else ""
    return f"{_in_brackets(node.this)}{sign}{reluctant}"


def _in_brackets(node: exp.Expr) -> str:
    """Text of a pattern's operand, in brackets if it is more than one variable."""
    text = pattern_text(node)
    whole = nodes.PatternVariable | nodes.PatternExclusion | nodes.PatternPermutation
    return text if isinstance(node, whole) else f"({text})"


def _concatenation(node: nodes.PatternConcatenation) -> str:
    nested = nodes.PatternAlternation | nodes.PatternConcatenation
    return " ".join(
        f"({pattern_text(part)})" if isinstance(part, nested) else pattern_text(part)
        for part in node.expressions
    )


def _alternation(node: nodes.PatternAlternation) -> str:
    return " | ".join(
        f"({pattern_text(part)})"
        if isinstance(part, nodes.PatternAlternation)
        else pattern_text(part)
        for part in node.expressions
    )


_PRINTERS: dict[type[exp.Expr], Callable[[Any], str]] = {
    nodes.PatternVariable: lambda node: identifier_text(node.this),
    nodes.PatternConcatenation: _concatenation,
    nodes.PatternAlternation: _alternation,
    nodes.PatternPermutation: _permutation,
    nodes.PatternExclusion: lambda node: f"{{- {pattern_text(node.this)} -}}",
    nodes.PatternQuantifier: _quantifier,
}
