"""Expressions of MATCH_RECOGNIZE, over the rows of a match (Flink docs, "Pattern Recognition",
section Pattern Navigation).

In DEFINE a `FieldReference` is a column of the row that is being looked at; what looks at rows
taken before is here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions.call_options import CallOptions
from millrace.expressions.function_definition import FunctionDefinition
from millrace.expressions.resolved import ResolvedExpression

__all__ = ["MatchRowtime", "PatternAggregate", "PatternFieldReference", "RowsOf"]


@dataclass(frozen=True, slots=True)
class RowsOf:
    """A selection of the rows of a match, in order.

    Attributes:
        variables: variables whose rows are selected; empty for all variables.
        current: whether the selection ends with the row that is being evaluated.
    """

    variables: tuple[str, ...] = ()
    current: bool = False

    def __str__(self) -> str:
        return "|".join(self.variables) or "*"


@dataclass(frozen=True, slots=True)
class PatternFieldReference(ResolvedExpression):
    """A column of one row of a match; NULL if there is no such row. Calcite:
    ``RexPatternFieldRef``.

    Attributes:
        rows: rows from which the row is selected.
        first: whether ``offset`` counts from the first row of ``rows``, or else from the last one.
        offset: number of rows from the first row on, or from the last row back.
        index: position of the column in the input row.
    """

    rows: RowsOf
    first: bool
    offset: int
    index: int
    type: LogicalType
    name: str = ""

    def __str__(self) -> str:
        word = "FIRST" if self.first else "LAST"
        return f"{word}({self.rows}.{self.name or self.index}, {self.offset})"


@dataclass(frozen=True, slots=True)
class PatternAggregate(ResolvedExpression):
    """An aggregate over rows of a match.

    Attributes:
        arguments: expressions over each of those rows.
    """

    function: FunctionDefinition
    rows: RowsOf
    arguments: tuple[ResolvedExpression, ...]
    type: LogicalType
    options: CallOptions | None = None

    def children(self) -> tuple[ResolvedExpression, ...]:
        return self.arguments

    def with_children(self, children: tuple[ResolvedExpression, ...]) -> ResolvedExpression:
        return replace(self, arguments=children)

    def __str__(self) -> str:
        given = (
            ", ".join(f"{self.rows}.{argument}" for argument in self.arguments) or f"{self.rows}.*"
        )
        return f"{self.function}({given})"


@dataclass(frozen=True, slots=True)
class MatchRowtime(ResolvedExpression):
    """MATCH_ROWTIME(): the event time of a match."""

    type: LogicalType

    def __str__(self) -> str:
        return "MATCH_ROWTIME()"
