"""Lateral joins with table functions such as UNNEST. Flink: ``Correlate``."""

from __future__ import annotations

from functools import partial

from millrace.common.types.logical.logical_type import RowType
from millrace.expressions.resolved import FieldReference, OuterReference, ResolvedExpression
from millrace.expressions.session_settings import SessionSettings
from millrace.job_graph.transformation import Transformation
from millrace.planner.execution.state_digest import digest
from millrace.planner.execution.state_signature import Provenance
from millrace.planner.execution.translation import Translator
from millrace.planner.relational.rel_node import (
    Join,
    JoinKind,
    TableFunctionKind,
    TableFunctionScan,
)
from millrace.planner.relational.rewriting import conjunction
from millrace.table_runtime.correlate import (
    CorrelateOperator,
    CorrelateSpec,
    MadeOfRows,
    TableFunction,
    replicate_rows,
    unnest,
)

__all__ = ["correlate"]

FUNCTIONS: dict[TableFunctionKind, TableFunction] = {
    TableFunctionKind.UNNEST: unnest,
    TableFunctionKind.REPLICATE_ROWS: replicate_rows,
}


def correlate(
    node: Join,
    scan: TableFunctionScan,
    columns: list[ResolvedExpression],
    conditions: list[ResolvedExpression],
    translator: Translator,
) -> Transformation:
    """The operator of a lateral join with a table function; it runs in the subtasks of its left
    input.

    Args:
        columns: the output columns, over the left row followed by the function's row.
        conditions: over the same, of the rows that count.
    """
    spec = CorrelateSpec(
        node.left.row_type,
        FUNCTIONS[scan.function],
        tuple(map(_own, scan.arguments)),
        scan.ordinality,
        node.kind is JoinKind.LEFT,
        node.row_type,
        _made(node, scan, columns, conditions),
    )
    given, rows = ", ".join(map(str, spec.arguments)), translator.input(node.left)
    return translator.stateless(
        "Correlate",
        partial(CorrelateOperator, spec, translator.settings.session or SessionSettings()),
        [rows],
        _gives(scan, spec, translator.provenance(rows)),
        f"Correlate(invocation=[{scan.function.value}({given})], joinType=[{node.kind.value}])",
    )


def _made(
    node: Join,
    scan: TableFunctionScan,
    columns: list[ResolvedExpression],
    conditions: list[ResolvedExpression],
) -> MadeOfRows | None:
    """Projection and filter over the function's rows; None if they are used as they are."""
    if node.right is scan:
        return None
    joined = (*node.left.row_type.fields, *scan.row_type.fields)
    return MadeOfRows(
        RowType.of(*((f"f{index}", field.type) for index, field in enumerate(joined))),
        tuple(columns),
        conjunction(conditions) if conditions else None,
    )


def _gives(scan: TableFunctionScan, spec: CorrelateSpec, rows: Provenance) -> Provenance:
    """Meaning of the result: one row per row of the function, with NULLs if it returns none."""
    call = digest(
        scan.function.value,
        spec.ordinality,
        [rows.column(argument) for argument in spec.arguments],
        spec.pads,
    )
    added = (digest(call, index) for index in range(len(scan.row_type)))
    joined = rows.with_columns((*rows.columns, *added), call)
    if spec.made is None:
        return joined
    made = map(joined.column, spec.made.columns)
    return joined.with_columns((*rows.columns, *made), joined.expression(spec.made.condition))


def _own(expression: ResolvedExpression) -> ResolvedExpression:
    """Rewrite an outer reference to the left row into a field of that row."""
    if isinstance(expression, OuterReference):
        return FieldReference(expression.index, expression.type, expression.name)
    return expression.with_children(tuple(map(_own, expression.children())))
