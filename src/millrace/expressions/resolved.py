"""Resolved expressions: trees with resolved names and known types.

The SQL binder and the Table API make them, rules rewrite them, and operators evaluate them over
columns. Names and meaning are those of Flink's ``ResolvedExpression``. They are
frozen, compare by structure, and can be pickled.

    >>> from millrace.common.types.logical.logical_type import BigIntType, BooleanType
    >>> price = FieldReference(0, BigIntType(), "price")
    >>> from millrace.expressions.built_in import GREATER_THAN
    >>> five = ValueLiteral(5, BigIntType(nullable=False))
    >>> print(Call(GREATER_THAN, (price, five), BooleanType()))
    >(price, 5)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions.call_options import CallOptions
from millrace.expressions.function_definition import FunctionDefinition
from millrace.expressions.resolved_expression import ResolvedExpression

__all__ = [
    "AggregateCall",
    "Call",
    "Cast",
    "FieldReference",
    "OuterReference",
    "SqlPosition",
    "ResolvedExpression",
    "SortKey",
    "ValueLiteral",
    "fields_of",
    "place_of",
    "rewritten",
]


class SqlPosition(Protocol):
    """Position of an expression in a statement."""

    def shown(self, reason: str) -> str:
        """Error text about the expression, with its position and its SQL text."""
        ...


@dataclass(frozen=True, slots=True)
class FieldReference(ResolvedExpression):
    """A column of the input row. The row of a join has the left columns, then the right ones.

    Attributes:
        index: position in the input row.
        name: to be shown; it decides nothing.
    """

    index: int
    type: LogicalType
    name: str = ""

    def __str__(self) -> str:
        return self.name or f"${self.index}"


@dataclass(frozen=True, slots=True)
class OuterReference(ResolvedExpression):
    """A column of an outer query's row. Rules replace such references by joins.

    Attributes:
        level: number of query levels from the expression's query out to the row's query; 1 for the
            directly enclosing query.
    """

    level: int
    index: int
    type: LogicalType
    name: str = ""

    def __str__(self) -> str:
        return f"$cor{self.level}.{self.name or self.index}"


@dataclass(frozen=True, slots=True)
class ValueLiteral(ResolvedExpression):
    """A constant: None, or a Python value that Arrow accepts for the type (`arrow_type`):
    Decimal, date, time, datetime, timedelta, or an int of months for YEAR TO MONTH."""

    value: Any
    type: LogicalType

    def __str__(self) -> str:
        return f"'{self.value}'" if isinstance(self.value, str) else str(self.value)


@dataclass(frozen=True, slots=True)
class Call(ResolvedExpression):
    """A call of a scalar function or operator.

    Attributes:
        function: the called function; `millrace.expressions.built_in` has those that rules need.
        arguments: implicit casts are made already.
        options: parts that are not expressions, such as EXTRACT's unit or JSON's ON EMPTY clause.
        place: position for errors; None if there is no statement.
    """

    function: FunctionDefinition
    arguments: tuple[ResolvedExpression, ...]
    type: LogicalType
    options: CallOptions | None = None
    place: SqlPosition | None = field(default=None, compare=False, repr=False)

    def children(self) -> tuple[ResolvedExpression, ...]:
        return self.arguments

    def with_children(self, children: tuple[ResolvedExpression, ...]) -> Call:
        return replace(self, arguments=children)

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.arguments))})"


@dataclass(frozen=True, slots=True)
class Cast(ResolvedExpression):
    """CAST, or TRY_CAST, which returns NULL for values that cannot be cast."""

    operand: ResolvedExpression
    type: LogicalType
    safe: bool = False
    place: SqlPosition | None = field(default=None, compare=False, repr=False)

    def children(self) -> tuple[ResolvedExpression, ...]:
        return (self.operand,)

    def with_children(self, children: tuple[ResolvedExpression, ...]) -> Cast:
        return replace(self, operand=children[0])

    def __str__(self) -> str:
        return f"{'TRY_CAST' if self.safe else 'CAST'}({self.operand} AS {self.type})"


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """A call of an aggregate function over input columns, for groups, windows or OVER.

    Attributes:
        function: the called function.
        arguments: positions of columns in the input row (a projection below computes them).
        filter: position of a BOOLEAN column; only rows where it is TRUE count. None if all rows
            count.
        options: parts that are not columns, such as IGNORE of ARRAY_AGG's IGNORE NULLS.
        place: position for errors; None if there is no statement.
    """

    function: FunctionDefinition
    arguments: tuple[int, ...]
    type: LogicalType
    distinct: bool = False
    filter: int | None = None
    options: CallOptions | None = None
    name: str = ""
    place: SqlPosition | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        arguments = ", ".join(f"${index}" for index in self.arguments) or "*"
        distinct = "DISTINCT " if self.distinct else ""
        condition = "" if self.filter is None else f" FILTER ${self.filter}"
        return f"{self.function}({distinct}{arguments}){condition} AS {self.name}"


@dataclass(frozen=True, slots=True)
class SortKey:
    """A column that determines the order of rows."""

    index: int
    ascending: bool = True
    nulls_first: bool = True
    """Flink: nulls are the smallest values, unless NULLS FIRST or LAST says otherwise."""
    place: SqlPosition | None = field(default=None, compare=False, repr=False)
    """For errors; None: it stands in no statement."""

    def __str__(self) -> str:
        return f"${self.index} {'ASC' if self.ascending else 'DESC'}"


def rewritten(
    expression: ResolvedExpression,
    change: Callable[[ResolvedExpression], ResolvedExpression],
) -> ResolvedExpression:
    """The tree with ``change`` applied to each node, from the leaves up."""
    children = expression.children()
    if children:
        changed = tuple(rewritten(child, change) for child in children)
        if any(new is not old for new, old in zip(changed, children, strict=True)):
            expression = expression.with_children(changed)
    return change(expression)


def place_of(expression: ResolvedExpression) -> SqlPosition | None:
    """Position of an expression; None if it is in no statement, or is a column or a constant."""
    return expression.place if isinstance(expression, Call | Cast) else None


def fields_of(expression: ResolvedExpression) -> Iterator[int]:
    """Positions of the input columns that an expression reads. A position is repeated if the
    expression reads the column several times.
    """
    if isinstance(expression, FieldReference):
        yield expression.index
    for child in expression.children():
        yield from fields_of(child)
