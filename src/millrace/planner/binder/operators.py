"""Operators of the language: the built-in function of each operator's syntax node."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from millrace.expressions import built_in
from millrace.expressions.function_definition import FunctionDefinition
from millrace.sql.dialect import nodes

__all__ = ["BINARY", "COMPARISONS"]

COMPARISONS: Final[dict[type[exp.Expr], FunctionDefinition]] = {
    exp.EQ: built_in.EQUALS,
    exp.NEQ: built_in.NOT_EQUALS,
    exp.LT: built_in.LESS_THAN,
    exp.LTE: built_in.LESS_THAN_OR_EQUAL,
    exp.GT: built_in.GREATER_THAN,
    exp.GTE: built_in.GREATER_THAN_OR_EQUAL,
}
BINARY: Final[dict[type[exp.Expr], FunctionDefinition]] = {
    **COMPARISONS,
    exp.Add: built_in.PLUS,
    nodes.Plus: built_in.PLUS,
    exp.Sub: built_in.MINUS,
    exp.Mul: built_in.TIMES,
    exp.Div: built_in.DIVIDE,
    exp.Mod: built_in.MOD,
    exp.DPipe: built_in.CONCAT_OPERATOR,
    exp.And: built_in.AND,
    exp.Or: built_in.OR,
    exp.NullSafeEQ: built_in.IS_NOT_DISTINCT_FROM,
    exp.NullSafeNEQ: built_in.IS_DISTINCT_FROM,
    exp.Like: built_in.LIKE,
    exp.SimilarTo: built_in.SIMILAR,
}
