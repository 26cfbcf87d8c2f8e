"""Calls of temporal table functions: ``LATERAL TABLE (rates(o.ts))``.

Flink: ``LogicalCorrelateToJoinFromTemporalTableFunctionRule``.
"""

from __future__ import annotations

from millrace.expressions.function_definition import FunctionDefinition
from millrace.expressions.resolved import OuterReference
from millrace.planner.binder.from_context import FromContext
from millrace.planner.binder.scope import Scope
from millrace.planner.relational.rel_node import RelNode
from millrace.planner.relational.stream_rel_nodes import LogicalSnapshot
from millrace.planner.relational.temporal_tables import TemporalTable
from millrace.sql.dialect import nodes

__all__ = ["bind_temporal_table"]


def bind_temporal_table(
    binder: FromContext,
    call: nodes.FunctionCall,
    definition: FunctionDefinition,
    left: Scope | None,
) -> RelNode:
    """The versions of the function's table as of a time of the left row.

    Raises:
        SqlValidationError: the argument is no column of the tables before it.
    """
    table: TemporalTable = definition.temporal
    name = call.name
    if len(call.arguments) != 1:
        raise binder.context.refusal(
            call,
            f"{name} is a temporal table function: it takes one argument, the time attribute of "
            f"the left table, not {len(call.arguments)}",
        )
    scope = Scope(parent=left or binder.outer)
    period = binder.expressions(scope, "LATERAL TABLE").bind(call.arguments[0])
    if left is None or not isinstance(period, OuterReference) or period.level != 1:
        raise binder.context.refusal(
            call,
            f"{name} is a temporal table function: its argument is a column of a table before it "
            "in FROM, the time attribute of its rows: FROM orders AS o, "
            f"LATERAL TABLE({name}(o.ts))",
        )
    rows = LogicalSnapshot(table.rows, period, definition.name, table.versions)
    return binder.context.placed(rows, call)
