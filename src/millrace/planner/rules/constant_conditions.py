"""Removes constant conditions: a filter by FALSE reads no rows.

Flink: ``ReduceExpressionsRule``, ``PruneEmptyRules``. It is told when the query is planned, so an
endless source does not run for nothing.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from millrace.common.types.logical.logical_type import (
    BooleanType,
    CharType,
    DecimalType,
    DoubleType,
    IntegralType,
    IntType,
    LogicalType,
    RowType,
    VarCharType,
)
from millrace.expressions import built_in
from millrace.expressions.evaluation import compiled
from millrace.expressions.evaluation_error import EvaluationError
from millrace.expressions.resolved import Call, Cast, ResolvedExpression, ValueLiteral
from millrace.planner.relational.rel_node import Aggregate, Filter, Project, RelNode, Values
from millrace.planner.relational.rewriting import bottom_up, conjuncts, filtered
from millrace.planner.rules.empty_groups import value_of_nothing

__all__ = ["without_constant_conditions"]

_PLAIN = (BooleanType, IntegralType, DecimalType, DoubleType, CharType, VarCharType)
"""Types whose values mean the same in every session."""
_FUNCTIONS = {
    *(built_in.AND, built_in.OR, built_in.NOT),
    *built_in.SWAPPED_COMPARISONS,
    *(built_in.PLUS, built_in.MINUS, built_in.TIMES),
}
_FAILS = object()
_ONE_ROW = pa.record_batch({"x": pa.array([0], pa.int32())})
_ROW_TYPE = RowType.of(("x", IntType()))


def without_constant_conditions(rows: RelNode) -> RelNode:
    """The tree without conditions that are always true, and without inputs whose condition is never
    true.
    """
    return bottom_up(rows, _changed)


def _changed(node: RelNode) -> RelNode:
    if isinstance(node, Aggregate) and isinstance(node.input, Values) and not node.input.rows:
        return _of_no_rows(node)
    if isinstance(node, Project) and isinstance(node.input, Values) and not node.input.rows:
        return Values((), node.row_type)
    if not isinstance(node, Filter):
        return node
    kept = []
    for part in conjuncts(node.condition):
        value = _value(part) if _is_constant(part) else _FAILS
        if value is None or value is False:
            return Values((), node.row_type)
        if value is not True:
            kept.append(part)
    return filtered(node.input, kept)


def _of_no_rows(node: Aggregate) -> RelNode:
    """The aggregate of no rows: no groups or, without GROUP BY, a single row, whose counts are
    0."""
    if node.groups or node.grouping_sets is not None:
        return Values((), node.row_type)
    row = tuple(value for value in map(value_of_nothing, node.calls) if value is not None)
    return Values((row,), node.row_type) if len(row) == len(node.calls) else node


def _is_constant(expression: ResolvedExpression) -> bool:
    kind: LogicalType = expression.output_type
    if isinstance(expression, ValueLiteral):
        return isinstance(kind, _PLAIN) or expression.value is None
    known = isinstance(expression, Cast) or (
        isinstance(expression, Call) and expression.function in _FUNCTIONS
    )
    return known and isinstance(kind, _PLAIN) and all(map(_is_constant, expression.children()))


def _value(condition: ResolvedExpression) -> Any:
    try:
        return compiled(condition, _ROW_TYPE)(_ONE_ROW)[0].as_py()
    except (ArithmeticError, ValueError, pa.ArrowException, EvaluationError):
        return _FAILS  # for the first row, if there is one
