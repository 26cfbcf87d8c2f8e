"""`FromContext`: the surroundings of a FROM clause, in which its parts are bound."""

from __future__ import annotations

from sqlglot import exp

from millrace.planner.binder.context import BindingContext, CommonTables
from millrace.planner.binder.expression import ExpressionBinder
from millrace.planner.binder.scope import Scope
from millrace.planner.binder.tables import bind_table
from millrace.planner.relational.rel_node import RelNode
from millrace.sql.dialect import nodes

__all__ = ["FromContext"]


class FromContext:
    """The statement, the query around this one, and the tables of WITH.

    Args:
        outer: scope of the query around this one.
    """

    def __init__(self, context: BindingContext, outer: Scope | None, common: CommonTables) -> None:
        self.context = context
        self.outer = outer
        self.common = common

    def expressions(self, scope: Scope, clause: str) -> ExpressionBinder:
        """An expression binder over a scope."""
        return ExpressionBinder(self.context, scope, self.common, clause)

    def table_rows(self, data: nodes.TableArgument) -> RelNode:
        """Rows of ``TABLE t`` or ``TABLE (SELECT ...)``, a function's argument."""
        if isinstance(data.this, exp.Table):
            return bind_table(self.context, data.this, self.common)
        return self.context.bind_query(data.this.this, self.outer, self.common)
