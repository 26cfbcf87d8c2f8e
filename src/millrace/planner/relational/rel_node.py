"""`RelNode`: a node of the relational tree, and the nodes of plain relational algebra.

The binder of SQL and the Table API make these; rules rewrite them; `millrace.planner.execution`
turns them into transformations. Nodes that only streams have are in `stream_rel_nodes`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import Any

from millrace.common.types.logical.logical_type import BooleanType, LogicalType, RowField, RowType
from millrace.expressions import built_in
from millrace.expressions.function_definition import FunctionDefinition
from millrace.expressions.resolved import (
    AggregateCall,
    FieldReference,
    ResolvedExpression,
    SortKey,
    SqlPosition,
)
from millrace.planner.relational.unsupported_query import UnsupportedQueryError

__all__ = [
    "Aggregate",
    "Filter",
    "Join",
    "JoinKind",
    "Project",
    "RelNode",
    "SetKind",
    "SetOperation",
    "SingleRel",
    "Sort",
    "Subquery",
    "SubqueryKind",
    "TableFunctionKind",
    "TableFunctionScan",
    "TableScan",
    "Values",
]


@dataclass(frozen=True, eq=False)
class RelNode:
    """A node that produces rows. Nodes are frozen, and compare by identity.

    Attributes:
        place: position in the statement that asks for the node; None if there is no such text.
    """

    place: SqlPosition | None = field(default=None, kw_only=True, compare=False, repr=False)

    @property
    def row_type(self) -> RowType:
        """Names and types of the node's columns; names are unique."""
        raise NotImplementedError

    @property
    def inputs(self) -> tuple[RelNode, ...]:
        """The nodes that this node reads."""
        return ()

    def with_inputs(self, inputs: tuple[RelNode, ...]) -> RelNode:
        """The same node with other inputs."""
        assert not inputs
        return self

    def field(self, index: int) -> FieldReference:
        """A reference to one of the node's columns."""
        column = self.row_type.fields[index]
        return FieldReference(index, column.type, column.name)

    def refusal(self, reason: str, place: SqlPosition | None = None) -> UnsupportedQueryError:
        """The error that this node is not supported.

        Args:
            place: position of the refused part; None for the position of the whole node.
        """
        return UnsupportedQueryError(reason, place or self.place)


@dataclass(frozen=True, eq=False)
class SingleRel(RelNode):
    """Base of nodes with one input; their columns are the input's by default."""

    input: RelNode

    @property
    def row_type(self) -> RowType:
        return self.input.row_type

    @property
    def inputs(self) -> tuple[RelNode, ...]:
        return (self.input,)

    def with_inputs(self, inputs: tuple[RelNode, ...]) -> RelNode:
        return replace(self, input=inputs[0])


@dataclass(frozen=True, eq=False)
class TableScan(RelNode):
    """Rows of a table of the catalog.

    Attributes:
        path: catalog, database and name.
        table: the catalog's resolved table (its schema, options, watermark and computed columns);
            the planner above this node adds computed columns and the watermark assigner.
        options: options of an OPTIONS hint.
        columns: columns to read; None for all physical and metadata columns.
        pushed_filter: filter that the source applies.
    """

    path: tuple[str, ...]
    table: Any
    scan_type: RowType
    options: tuple[tuple[str, str], ...] = ()
    pushed_filter: ResolvedExpression | None = None
    limit: int | None = None

    @cached_property
    def row_type(self) -> RowType:
        return self.scan_type


@dataclass(frozen=True, eq=False)
class Values(RelNode):
    """Constant rows, of literals or of expressions without fields."""

    rows: tuple[tuple[ResolvedExpression, ...], ...]
    values_type: RowType

    @cached_property
    def row_type(self) -> RowType:
        return self.values_type


@dataclass(frozen=True, eq=False)
class Project(SingleRel):
    """Rows with one column per expression."""

    expressions: tuple[ResolvedExpression, ...]
    names: tuple[str, ...]

    @cached_property
    def row_type(self) -> RowType:
        pairs = zip(self.names, self.expressions, strict=True)
        return RowType(tuple(RowField(name, expression.output_type) for name, expression in pairs))


@dataclass(frozen=True, eq=False)
class Filter(SingleRel):
    """The rows for which a condition is TRUE."""

    condition: ResolvedExpression


@dataclass(frozen=True, eq=False)
class Aggregate(SingleRel):
    """One row per group: the group's columns, then one aggregate per call.

    Attributes:
        groups: positions of the grouping columns; if empty, all rows are one group.
        grouping_sets: subsets of ``groups`` (GROUPING SETS, ROLLUP, CUBE); None if ``groups`` is
            the only set. A column that a set lacks is NULL.
        calls: the aggregates.
        state_ttl: ms after which a group without new rows expires; None for the session's setting.
    """

    groups: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    grouping_sets: tuple[tuple[int, ...], ...] | None = None
    state_ttl: int | None = None

    @cached_property
    def row_type(self) -> RowType:
        columns = [self.input.row_type.fields[index] for index in self.groups]
        if self.grouping_sets is not None:
            columns = [
                column
                if all(index in grouping for grouping in self.grouping_sets)
                else RowField(column.name, column.type.with_nullable(True))
                for index, column in zip(self.groups, columns, strict=True)
            ]
        return RowType((*columns, *(RowField(call.name, call.type) for call in self.calls)))


class JoinKind(Enum):
    """Kinds of joins."""

    INNER = "InnerJoin"
    LEFT = "LeftOuterJoin"
    RIGHT = "RightOuterJoin"
    FULL = "FullOuterJoin"
    SEMI = "LeftSemiJoin"
    ANTI = "LeftAntiJoin"


@dataclass(frozen=True, eq=False)
class Join(RelNode):
    """Pairs of rows for which a condition is TRUE; SEMI and ANTI return left rows only.

    Attributes:
        condition: over the left row followed by the right one.
        lateral: the right side has `OuterReference`s (level 1) to the left row: a correlated
            subquery, LATERAL TABLE, UNNEST, or a look-up; rules remove them if possible.
        names: unique names of the result's columns.
        hints: options of LOOKUP, BROADCAST and so on, by name.
        state_ttl: ms after which rows of the left and the right side expire; None: the session's
            setting.
    """

    left: RelNode
    right: RelNode
    kind: JoinKind
    condition: ResolvedExpression
    names: tuple[str, ...]
    lateral: bool = False
    hints: tuple[tuple[str, Any], ...] = ()
    state_ttl: tuple[int | None, int | None] = (None, None)

    @cached_property
    def row_type(self) -> RowType:
        left, right = self.left.row_type.fields, self.right.row_type.fields
        if self.kind in (JoinKind.RIGHT, JoinKind.FULL):
            left = tuple(RowField(column.name, column.type.with_nullable(True)) for column in left)
        if self.kind in (JoinKind.LEFT, JoinKind.FULL):
            right = tuple(
                RowField(column.name, column.type.with_nullable(True)) for column in right
            )
        columns = left if self.kind in (JoinKind.SEMI, JoinKind.ANTI) else left + right
        pairs = zip(self.names, columns, strict=True)
        return RowType(tuple(RowField(name, column.type) for name, column in pairs))

    @property
    def inputs(self) -> tuple[RelNode, ...]:
        return self.left, self.right

    def with_inputs(self, inputs: tuple[RelNode, ...]) -> RelNode:
        return replace(self, left=inputs[0], right=inputs[1])


class SetKind(Enum):
    """Kinds of set operations on the rows of several queries."""

    UNION = "Union"
    INTERSECT = "Intersect"
    EXCEPT = "Minus"


@dataclass(frozen=True, eq=False)
class SetOperation(RelNode):
    """UNION, INTERSECT or EXCEPT of inputs whose columns have the same types (casts are made)."""

    kind: SetKind
    all: bool
    operands: tuple[RelNode, ...]
    result_type: RowType

    @cached_property
    def row_type(self) -> RowType:
        return self.result_type

    @property
    def inputs(self) -> tuple[RelNode, ...]:
        return self.operands

    def with_inputs(self, inputs: tuple[RelNode, ...]) -> RelNode:
        return replace(self, operands=inputs)


@dataclass(frozen=True, eq=False)
class Sort(SingleRel):
    """Sorted rows, or a part of them: ORDER BY, OFFSET, LIMIT and FETCH."""

    keys: tuple[SortKey, ...]
    offset: int = 0
    fetch: int | None = None


class TableFunctionKind(Enum):
    """Table functions that belong to the language or are used by rules."""

    UNNEST = "UNNEST"
    """A row per element of its arguments."""
    REPLICATE_ROWS = "$REPLICATE_ROWS$"
    """Gives as many rows without columns as its argument says."""


@dataclass(frozen=True, eq=False)
class TableFunctionScan(RelNode):
    """The rows that a table function returns for its arguments.

    Its arguments have `OuterReference`s if it stands on the right of a lateral join.

    Attributes:
        ordinality: whether the last column has the number of the row, from 1 (WITH ORDINALITY).
    """

    function: TableFunctionKind
    arguments: tuple[ResolvedExpression, ...]
    result_type: RowType
    ordinality: bool = False

    @cached_property
    def row_type(self) -> RowType:
        return self.result_type


class SubqueryKind(Enum):
    """Kinds of queries in expressions."""

    SCALAR = "SCALAR"
    EXISTS = "EXISTS"
    IN = "IN"
    SOME = "SOME"
    ALL = "ALL"


@dataclass(frozen=True, slots=True)
class Subquery(ResolvedExpression):
    """A query within an expression; rules replace it by a join before anything is evaluated.

    Attributes:
        operands: the left side of IN, SOME and ALL.
        comparison: the operator of SOME and ALL.
    """

    kind: SubqueryKind
    relation: RelNode
    operands: tuple[ResolvedExpression, ...] = ()
    comparison: FunctionDefinition = built_in.EQUALS

    def children(self) -> tuple[ResolvedExpression, ...]:
        return self.operands

    def with_children(self, children: tuple[ResolvedExpression, ...]) -> ResolvedExpression:
        return replace(self, operands=children)

    def __str__(self) -> str:
        return f"{self.kind.value}({', '.join(map(str, self.operands))})"

    @property
    def type(self) -> LogicalType:
        """Type of the query's only column, or BOOLEAN."""
        if self.kind is SubqueryKind.SCALAR:
            return self.relation.row_type.fields[0].type.with_nullable(True)
        return BooleanType(nullable=self.kind is not SubqueryKind.EXISTS)
