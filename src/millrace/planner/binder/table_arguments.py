"""`table_rows_of`: rows of ``TABLE t`` or ``TABLE (SELECT ...)`` as a function's argument."""

from __future__ import annotations

from typing import Protocol

from sqlglot import exp

from millrace.planner.binder.context import BindingContext, CommonTables
from millrace.planner.binder.expression import ExpressionBinder
from millrace.planner.binder.scope import Scope
from millrace.planner.binder.tables import bind_table
from millrace.planner.relational.rel_node import RelNode
from millrace.sql.dialect import nodes

__all__ = ["FromContext", "table_rows_of"]


class FromContext(Protocol):
    """Interface of the FROM binder, as far as functions in FROM need it."""

    context: BindingContext
    outer: Scope | None
    common: CommonTables

    def expressions(self, scope: Scope, clause: str) -> ExpressionBinder: ...


def table_rows_of(binder: FromContext, data: nodes.TableArgument) -> RelNode:
    """Rows of a table that is an argument of a function."""
    if isinstance(data.this, exp.Table):
        return bind_table(binder.context, data.this, binder.common)
    return binder.context.bind_query(data.this.this, binder.outer, binder.common)
