"""Queries in expressions: scalar, EXISTS, IN, and comparisons with SOME and ALL."""

from __future__ import annotations

from typing import Protocol

from sqlglot import exp

from millrace.common.types.logical.logical_type import RowType
from millrace.expressions import built_in
from millrace.expressions.function_definition import FunctionDefinition
from millrace.expressions.resolved import ResolvedExpression
from millrace.planner.binder.context import BindingContext
from millrace.planner.relational.rel_node import RelNode, Subquery, SubqueryKind

__all__ = ["bind_exists", "bind_in_query", "bind_quantified", "bind_scalar"]


class QueryContext(Protocol):
    """Interface of the expression binder, as far as queries in expressions need it."""

    context: BindingContext

    def bind(self, node: exp.Expr) -> ResolvedExpression: ...

    def query(self, node: exp.Expr) -> RelNode: ...

    def call(
        self, node: exp.Expr, function: FunctionDefinition, *arguments: ResolvedExpression
    ) -> ResolvedExpression: ...


def bind_scalar(binder: QueryContext, node: exp.Expr) -> ResolvedExpression:
    """A scalar query such as ``(SELECT MAX(a) FROM t)``: one column, at most one row."""
    relation = binder.query(node.this if isinstance(node, exp.Subquery) else node)
    count = len(relation.row_type)
    if count != 1:
        raise binder.context.refusal(node, f"a query as a value has one column, this has {count}")
    return Subquery(SubqueryKind.SCALAR, relation)


def bind_exists(binder: QueryContext, node: exp.Expr) -> ResolvedExpression:
    """``EXISTS (SELECT ...)``."""
    inner = node.this.this if isinstance(node.this, exp.Subquery) else node.this
    return Subquery(SubqueryKind.EXISTS, binder.query(inner))


def bind_in_query(binder: QueryContext, node: exp.Expr, query: exp.Expr) -> ResolvedExpression:
    """``a IN (SELECT b ...)``, ``(a, b) IN (SELECT c, d ...)``."""
    left = binder.bind(node.this)
    relation = binder.query(query.this if isinstance(query, exp.Subquery) else query)
    row = isinstance(left.output_type, RowType) and bool(left.children())
    operands = left.children() if row else (left,)
    fields = relation.row_type.fields
    if len(operands) != len(fields):
        raise binder.context.refusal(
            node, f"IN compares {len(operands)} values with a query of {len(fields)} columns"
        )
    for index, operand in enumerate(operands):  # refuses types that cannot be compared
        binder.call(node, built_in.EQUALS, operand, relation.field(index))
    return Subquery(SubqueryKind.IN, relation, operands)


def bind_quantified(
    binder: QueryContext, node: exp.Expr, comparison: FunctionDefinition
) -> ResolvedExpression:
    """``a > ALL (SELECT b ...)``, ``a = SOME (SELECT b ...)``."""
    every = isinstance(node.expression, exp.All)
    inner = node.expression.this
    relation = binder.query(inner.this if isinstance(inner, exp.Subquery) else inner)
    operand = binder.bind(node.this)
    if len(relation.row_type) != 1:
        raise binder.context.refusal(node, "ALL and SOME take a query of one column")
    binder.call(node, comparison, operand, relation.field(0))
    if not every and comparison is built_in.EQUALS:
        return Subquery(SubqueryKind.IN, relation, (operand,))
    if every and comparison is built_in.NOT_EQUALS:
        return binder.call(node, built_in.NOT, Subquery(SubqueryKind.IN, relation, (operand,)))
    kind = SubqueryKind.ALL if every else SubqueryKind.SOME
    return Subquery(kind, relation, (operand,), comparison)
