"""Positions of the nodes of syntax trees."""

from __future__ import annotations

from sqlglot import exp

from millrace.common.statement_position import (
    NamePositions,
    OptionPosition,
    StatementPosition,
    TextPosition,
    excerpt,
)

__all__ = [
    "NamePositions",
    "OptionPosition",
    "StatementPosition",
    "TextPosition",
    "excerpt",
    "position_of",
    "source_text",
]


def position_of(node: exp.Expr) -> TextPosition | None:
    """Position of a node of a syntax tree; None if the tree was not parsed.

    A node that has no position of its own, because a rule has made it, stands where its parent
    does.
    """
    ancestor: exp.Expr | None = node
    while ancestor is not None:
        line = ancestor.meta_get("line")
        if line is not None:
            return TextPosition(
                line, ancestor.meta_get("col"), ancestor.meta_get("start"), ancestor.meta_get("end")
            )
        ancestor = ancestor.parent
    return None


def source_text(node: exp.Expr, text: str) -> str:
    """Text of a node in the statement from which it was parsed."""
    position = position_of(node)
    return "" if position is None else text[position.start : position.end]
