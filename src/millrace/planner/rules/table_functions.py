"""Puts table functions directly on the right of a lateral join, and expressions over their rows
above it.

Flink: ``Correlate`` with its calc.
"""

from __future__ import annotations

from dataclasses import replace

from millrace.common.types.logical.logical_type import IntType, RowField, RowType
from millrace.expressions.resolved import (
    FieldReference,
    OuterReference,
    ResolvedExpression,
    ValueLiteral,
)
from millrace.planner.binder.names import unique_names
from millrace.planner.relational.rel_node import (
    Filter,
    Join,
    JoinKind,
    Project,
    RelNode,
    TableFunctionScan,
    Values,
)
from millrace.planner.relational.rewriting import conjunction, conjuncts, filtered

__all__ = ["function_rows", "with_table_functions"]

_ONE = IntType(nullable=False)
_ONE_ROW = Values(((ValueLiteral(1, _ONE),),), RowType((RowField("$one", _ONE),), nullable=False))


def with_table_functions(rows: RelNode) -> RelNode:
    """The tree with each table function directly below a lateral join."""
    if isinstance(rows, TableFunctionScan):
        names = rows.row_type.names
        join = Join(_ONE_ROW, rows, JoinKind.INNER, conjunction(()), ("$one", *names), lateral=True)
        return Project(join, tuple(join.field(1 + index) for index in range(len(names))), names)
    if isinstance(rows, Join) and rows.lateral and _function(rows.right) is not None:
        return _flat(replace(rows, left=with_table_functions(rows.left)))
    inputs = tuple(map(with_table_functions, rows.inputs))
    if all(new is old for new, old in zip(inputs, rows.inputs, strict=True)):
        return rows
    return rows.with_inputs(inputs)


def _function(rows: RelNode) -> TableFunctionScan | None:
    while isinstance(rows, Project | Filter):
        rows = rows.input
    return rows if isinstance(rows, TableFunctionScan) else None


def _flat(node: Join) -> RelNode:
    scan = _function(node.right)
    assert scan is not None
    if node.kind not in (JoinKind.INNER, JoinKind.LEFT):
        raise node.refusal(
            f"a table function is not allowed on the right side of {node.kind.value}"
        )
    left = len(node.left.row_type)
    outputs, conditions = _above(node.right, left)
    only_renamed = not conditions and _are_renamed(outputs, left, scan)
    if only_renamed:
        # its columns have the names that the query gives them
        scan = replace(scan, result_type=node.right.row_type)
    names = unique_names((*node.left.row_type.names, *scan.row_type.names))
    join = Join(node.left, scan, node.kind, conjunction(()), names, lateral=True, place=node.place)
    row: list[ResolvedExpression] = [join.field(index) for index in range(left)]
    row += [_typed(output, join) for output in outputs]
    conditions += [_over(part, row) for part in conjuncts(node.condition)]
    if node.kind is JoinKind.LEFT and (
        conditions or not all(isinstance(output, FieldReference) for output in outputs)
    ):
        return _padded(node, scan, outputs, conditions)
    if only_renamed:
        return filtered(replace(join, names=node.names), conditions)
    return Project(filtered(join, conditions), tuple(row), node.names)


def _padded(
    node: Join,
    scan: TableFunctionScan,
    outputs: list[ResolvedExpression],
    conditions: list[ResolvedExpression],
) -> Join:
    """A left join that keeps the expressions over the function's rows on its right side, so that
    NULLs replace their values where the function returns no rows."""
    left = len(node.left.row_type)
    right = filtered(scan, [_of_the_right(condition, left) for condition in conditions])
    made = tuple(_of_the_right(output, left) for output in outputs)
    right = Project(right, made, node.right.row_type.names)
    return replace(node, right=right, condition=conjunction(()))


def _of_the_right(expression: ResolvedExpression, left: int) -> ResolvedExpression:
    """Rewrite an expression over the left row and the function's row into one over the
    function's row."""
    if isinstance(expression, FieldReference):
        if expression.index < left:
            return OuterReference(1, expression.index, expression.type, expression.name)
        return replace(expression, index=expression.index - left)
    children = expression.children()
    return expression.with_children(tuple(_of_the_right(child, left) for child in children))


def function_rows(
    rows: RelNode, left: int
) -> tuple[TableFunctionScan, list[ResolvedExpression], list[ResolvedExpression]] | None:
    """The function below a join's right side, with the output columns and conditions over its
    rows, as expressions over the left row and the function's row; None if there is no function."""
    scan = _function(rows)
    return None if scan is None else (scan, *_above(rows, left))


def _are_renamed(outputs: list[ResolvedExpression], left: int, scan: TableFunctionScan) -> bool:
    """Whether the outputs are the function's columns in order."""
    places = [output.index if isinstance(output, FieldReference) else -1 for output in outputs]
    return places == list(range(left, left + len(scan.row_type)))


def _above(rows: RelNode, left: int) -> tuple[list[ResolvedExpression], list[ResolvedExpression]]:
    """The output columns and conditions over a function's rows, as expressions over the left row
    and the function's row."""
    if isinstance(rows, Filter):
        outputs, conditions = _above(rows.input, left)
        return outputs, [*conditions, *_moved(conjuncts(rows.condition), outputs)]
    if isinstance(rows, Project):
        outputs, conditions = _above(rows.input, left)
        return _moved(rows.expressions, outputs), conditions
    fields = [rows.field(index) for index in range(len(rows.row_type))]
    return [replace(field, index=left + field.index) for field in fields], []


def _moved(
    expressions: list[ResolvedExpression] | tuple[ResolvedExpression, ...],
    outputs: list[ResolvedExpression],
) -> list[ResolvedExpression]:
    return [_over(expression, outputs) for expression in expressions]


def _over(expression: ResolvedExpression, row: list[ResolvedExpression]) -> ResolvedExpression:
    """Rewrite an expression over columns into one over the expressions that compute them."""
    if isinstance(expression, FieldReference):
        return row[expression.index]
    if isinstance(expression, OuterReference) and expression.level == 1:
        return FieldReference(expression.index, expression.type, expression.name)
    return expression.with_children(tuple(_over(child, row) for child in expression.children()))


def _typed(expression: ResolvedExpression, join: Join) -> ResolvedExpression:
    """The column with its type in the join: nullable if the join pads it."""
    if isinstance(expression, FieldReference):
        return replace(join.field(expression.index), name=expression.name)
    return expression
