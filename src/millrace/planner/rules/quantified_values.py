"""`quantified_value`: IN, SOME and ALL with a query as values, made from EXISTS and scalar queries.

In WHERE they are joins (`subquery_removal`); within CASE, OR or SELECT their third truth value
counts: ``a IN (q)`` is unknown if nothing of ``q`` equals ``a`` and a null might.
"""

from __future__ import annotations

from dataclasses import replace

from millrace.common.types.logical.logical_type import BooleanType, IntType
from millrace.expressions import built_in
from millrace.expressions.function_definition import FunctionDefinition
from millrace.expressions.registry import resolve_call
from millrace.expressions.resolved import (
    AggregateCall,
    FieldReference,
    ResolvedExpression,
    ValueLiteral,
)
from millrace.planner.relational.outer_references import from_inside
from millrace.planner.relational.rel_node import (
    Aggregate,
    Filter,
    Project,
    RelNode,
    Subquery,
    SubqueryKind,
)
from millrace.planner.relational.rewriting import conjunction

__all__ = ["quantified_value"]

_TRUE, _FALSE = (ValueLiteral(value, BooleanType(nullable=False)) for value in (True, False))
_UNKNOWN = ValueLiteral(None, BooleanType())
_EXTREMES = {
    built_in.GREATER_THAN: built_in.MIN,
    built_in.GREATER_THAN_OR_EQUAL: built_in.MIN,
    built_in.LESS_THAN: built_in.MAX,
    built_in.LESS_THAN_OR_EQUAL: built_in.MAX,
}
"""Aggregate that finds the deciding value for SOME; for ALL it is the other one."""


def quantified_value(query: Subquery) -> ResolvedExpression:
    """Truth value of IN, SOME or ALL with a query, as an expression over EXISTS and scalar queries
    only.
    """
    if query.kind is SubqueryKind.ALL:  # what holds for all has no counterexample
        opposite = built_in.NEGATED_COMPARISONS[query.comparison]
        some = replace(query, kind=SubqueryKind.SOME, comparison=opposite)
        return resolve_call(built_in.NOT, (quantified_value(some),))
    if query.kind is SubqueryKind.IN or query.comparison is built_in.EQUALS:
        is_matched: ResolvedExpression = _is_equal_to_any(query)
    elif query.comparison in _EXTREMES:
        is_matched = resolve_call(query.comparison, (query.operands[0], _extreme(query)))
        is_matched = resolve_call(built_in.IS_TRUE, (is_matched,))
    else:
        is_matched = _is_unequal_to_any(query)
    missing = [
        resolve_call(built_in.IS_NULL, (operand,))
        for operand in query.operands
        if _nullable(operand)
    ]
    if not missing and not any(map(_nullable, _columns(query))):
        return is_matched
    nulls = _nulls(query)
    unknown = (*missing, resolve_call(built_in.EQUALS, (nulls, _number(1))))
    empty = resolve_call(built_in.IS_NULL, (nulls,))
    whole = unknown[0] if len(unknown) == 1 else resolve_call(built_in.OR, unknown)
    return resolve_call(built_in.CASE, (is_matched, _TRUE, empty, _FALSE, whole, _UNKNOWN, _FALSE))


def _nullable(expression: ResolvedExpression) -> bool:
    return expression.output_type.is_nullable


def _columns(query: Subquery) -> list[FieldReference]:
    return [query.relation.field(index) for index in range(len(query.operands))]


def _number(value: int) -> ValueLiteral:
    return ValueLiteral(value, IntType(nullable=False))


def _is_equal_to_any(query: Subquery) -> Subquery:
    pairs = zip(query.operands, _columns(query), strict=True)
    equal = conjunction(
        [resolve_call(built_in.EQUALS, (from_inside(one), other)) for one, other in pairs]
    )
    return Subquery(SubqueryKind.EXISTS, Filter(query.relation, equal))


def _is_unequal_to_any(query: Subquery) -> ResolvedExpression:
    """Whether the operand differs from any value: if so, it differs from the least or the
    greatest value."""
    ends = [
        _aggregated(query, extreme, query.relation.field(0))
        for extreme in (built_in.MIN, built_in.MAX)
    ]
    unequal = [resolve_call(built_in.NOT_EQUALS, (query.operands[0], end)) for end in ends]
    return resolve_call(built_in.IS_TRUE, (resolve_call(built_in.OR, tuple(unequal)),))


def _extreme(query: Subquery) -> Subquery:
    return _aggregated(query, _EXTREMES[query.comparison], query.relation.field(0))


def _nulls(query: Subquery) -> Subquery:
    """1 if a row of the query has a NULL, 0 if no row has one, NULL if there is no row."""
    tests = [resolve_call(built_in.IS_NULL, (column,)) for column in _columns(query)]
    any_null = tests[0] if len(tests) == 1 else resolve_call(built_in.OR, tuple(tests))
    return _aggregated(
        query, built_in.MAX, resolve_call(built_in.CASE, (any_null, _number(1), _number(0)))
    )


def _aggregated(
    query: Subquery, function: FunctionDefinition, value: ResolvedExpression
) -> Subquery:
    column: RelNode = Project(query.relation, (value,), ("$f0",))
    call = AggregateCall(function, (0,), value.output_type.with_nullable(True), name="EXPR$0")
    return Subquery(SubqueryKind.SCALAR, Aggregate(column, (), (call,)))
