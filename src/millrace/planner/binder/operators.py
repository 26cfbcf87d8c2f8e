"""Operators of the language: how the registry of functions calls what a node of syntax means."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from millrace.sql.dialect import nodes

__all__ = ["BINARY", "COMPARISONS", "NEGATED_COMPARISONS", "SWAPPED_COMPARISONS"]

COMPARISONS: Final[dict[type[exp.Expr], str]] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
BINARY: Final[dict[type[exp.Expr], str]] = {
    **COMPARISONS,
    exp.Add: "+",
    nodes.Plus: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.DPipe: "||",
    exp.And: "AND",
    exp.Or: "OR",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM",
    exp.NullSafeNEQ: "IS DISTINCT FROM",
    exp.Like: "LIKE",
    exp.SimilarTo: "SIMILAR TO",
}
NEGATED_COMPARISONS: Final = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
SWAPPED_COMPARISONS: Final = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""With the operands changed over."""
