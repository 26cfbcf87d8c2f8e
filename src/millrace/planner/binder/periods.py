"""Predicates of periods, such as ``(begin, end) OVERLAPS (begin, length)`` and ``PRECEDES``."""

from __future__ import annotations

from typing import Protocol

from sqlglot import exp

from millrace.common.types.logical import logical_type as logical
from millrace.expressions import built_in
from millrace.expressions.function_definition import FunctionDefinition
from millrace.expressions.resolved import ResolvedExpression
from millrace.planner.binder.context import BindingContext
from millrace.sql.dialect import nodes

__all__ = ["bind_period_predicate"]

_LENGTHS = (logical.DayTimeIntervalType, logical.YearMonthIntervalType)
_CONDITIONS = {
    "OVERLAPS": (
        ("begin", built_in.LESS_THAN_OR_EQUAL, "end"),
        ("end", built_in.GREATER_THAN_OR_EQUAL, "begin"),
    ),
    "CONTAINS": (
        ("begin", built_in.LESS_THAN_OR_EQUAL, "begin"),
        ("end", built_in.GREATER_THAN_OR_EQUAL, "end"),
    ),
    "EQUALS": (("begin", built_in.EQUALS, "begin"), ("end", built_in.EQUALS, "end")),
    "PRECEDES": (("end", built_in.LESS_THAN_OR_EQUAL, "begin"),),
    "SUCCEEDS": (("begin", built_in.GREATER_THAN_OR_EQUAL, "end"),),
    "IMMEDIATELY PRECEDES": (("end", built_in.EQUALS, "begin"),),
    "IMMEDIATELY SUCCEEDS": (("begin", built_in.EQUALS, "end"),),
}
"""Which ends of the left and the right period are compared, and how."""


class PeriodBinder(Protocol):
    """Interface of the expression binder, as far as predicates of periods need it."""

    context: BindingContext

    def bind(self, node: exp.Expr) -> ResolvedExpression:
        """A resolved expression."""
        ...

    def call(
        self, node: exp.Expr, function: FunctionDefinition, *arguments: ResolvedExpression
    ) -> ResolvedExpression:
        """A call of a built-in function."""
        ...


def bind_period_predicate(binder: PeriodBinder, node: exp.Expr) -> ResolvedExpression:
    """The comparisons that a predicate of two periods means.

    A period is a pair of its begin and its end, or of its begin and its length; one whose end is
    before its begin is meant the other way round.
    """
    kind = "OVERLAPS" if isinstance(node, nodes.Overlaps) else node.args["kind"]
    left, right = _period(binder, node.this), _period(binder, node.expression)
    comparisons = [
        binder.call(node, operator, left[one], right[other])
        for one, operator, other in _CONDITIONS[kind]
    ]
    return (
        comparisons[0] if len(comparisons) == 1 else binder.call(node, built_in.AND, *comparisons)
    )


def _period(binder: PeriodBinder, node: exp.Expr) -> dict[str, ResolvedExpression]:
    if len(node.expressions) != 2:
        raise binder.context.refusal(
            node, "a period is a pair in brackets: of its begin and its end, or its length"
        )
    begin, end = (binder.bind(part) for part in node.expressions)
    if isinstance(end.output_type, _LENGTHS):
        end = binder.call(node, built_in.PLUS, begin, end)
    return {
        "begin": binder.call(node, built_in.LEAST, begin, end),
        "end": binder.call(node, built_in.GREATEST, begin, end),
    }
