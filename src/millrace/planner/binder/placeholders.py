"""Placeholders for aggregates and OVER in bound expressions; a SELECT moves them into nodes.

An expression of a SELECT is bound once over the rows of FROM. Then `millrace.planner.binder.select`
replaces the placeholders by columns of the Aggregate and OverAggregate below it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions.call_options import CallOptions
from millrace.expressions.function_definition import FunctionDefinition
from millrace.expressions.resolved import ResolvedExpression, SqlPosition

__all__ = ["AggregatePlaceholder", "GroupingPlaceholder", "OrderItem", "OverPlaceholder", "has"]


@dataclass(frozen=True, slots=True)
class OrderItem:
    """An expression of ORDER BY."""

    expression: ResolvedExpression
    ascending: bool = True
    nulls_first: bool = True
    place: SqlPosition | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AggregatePlaceholder(ResolvedExpression):
    """Placeholder for ``SUM(DISTINCT x) FILTER (WHERE y)``."""

    function: FunctionDefinition
    arguments: tuple[ResolvedExpression, ...]
    type: LogicalType
    distinct: bool = False
    filter: ResolvedExpression | None = None
    options: CallOptions | None = None
    place: SqlPosition | None = field(default=None, compare=False, repr=False)

    def children(self) -> tuple[ResolvedExpression, ...]:
        return self.arguments

    def with_children(self, children: tuple[ResolvedExpression, ...]) -> ResolvedExpression:
        return replace(self, arguments=children)

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.arguments)) or '*'})"


@dataclass(frozen=True, slots=True)
class GroupingPlaceholder(ResolvedExpression):
    """Placeholder for ``GROUPING(a, b)``: one bit per column, set if the grouping set lacks the
    column."""

    arguments: tuple[ResolvedExpression, ...]
    type: LogicalType

    def __str__(self) -> str:
        return f"GROUPING({', '.join(map(str, self.arguments))})"


@dataclass(frozen=True, slots=True)
class OverPlaceholder(ResolvedExpression):
    """Placeholder for ``SUM(x) OVER (PARTITION BY y ORDER BY z ROWS BETWEEN ... AND ...)``.

    Attributes:
        rows: ROWS, else RANGE.
        preceding, following: see `OverGroup`.
    """

    function: FunctionDefinition
    arguments: tuple[ResolvedExpression, ...]
    type: LogicalType
    partition: tuple[ResolvedExpression, ...] = ()
    order: tuple[OrderItem, ...] = ()
    rows: bool = False
    preceding: int | None = None
    following: int | None = 0
    distinct: bool = False
    filter: ResolvedExpression | None = None
    options: CallOptions | None = None
    place: SqlPosition | None = field(default=None, compare=False, repr=False)

    def children(self) -> tuple[ResolvedExpression, ...]:
        orders = tuple(item.expression for item in self.order)
        filters = () if self.filter is None else (self.filter,)
        return (*self.arguments, *self.partition, *orders, *filters)

    def with_children(self, children: tuple[ResolvedExpression, ...]) -> ResolvedExpression:
        first, second = len(self.arguments), len(self.arguments) + len(self.partition)
        third = second + len(self.order)
        order = tuple(
            replace(item, expression=child)
            for item, child in zip(self.order, children[second:third], strict=True)
        )
        return replace(
            self,
            arguments=children[:first],
            partition=children[first:second],
            order=order,
            filter=children[third] if self.filter is not None else None,
        )

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.arguments))}) OVER (...)"


def has(expression: ResolvedExpression, kind: type[ResolvedExpression]) -> bool:
    """Whether the expression contains a placeholder of the given class."""
    return isinstance(expression, kind) or any(has(child, kind) for child in expression.children())
