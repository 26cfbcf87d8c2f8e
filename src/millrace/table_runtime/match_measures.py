"""`Measures`: computes the result rows of all matches of a batch together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.logical_type import RowField, RowType
from millrace.expressions.evaluation import compiled
from millrace.expressions.pattern_expressions import (
    MatchRowtime,
    PatternAggregate,
    PatternFieldReference,
    RowsOf,
)
from millrace.expressions.resolved import FieldReference, ResolvedExpression
from millrace.runtime.cep.partial_match import MatchedEntry
from millrace.table_runtime.match_aggregate import MatchAggregate
from millrace.table_runtime.match_rows import MatchedRow, RowColumns, column_of

__all__ = ["CompleteMatch", "Measures"]


@dataclass(frozen=True, slots=True)
class CompleteMatch:
    """A complete match, whose result row is to be computed.

    Attributes:
        time: time at which the match was certain, in ms since 1970.
        key: value of the partition's column, or a tuple of the values of several columns.
        rows: rows with the names of their variables, in order.
    """

    time: int
    key: Any
    rows: list[MatchedEntry]


class Measures:
    """Computes the MEASURES of matches.

    Args:
        measures: expressions of the measures.
        columns: values of the rows. Missing ones are added.
    """

    def __init__(self, measures: Sequence[ResolvedExpression], columns: RowColumns) -> None:
        self._columns = columns
        self._leaves: dict[ResolvedExpression, int] = {}
        made = [self._over_leaves(measure) for measure in measures]
        self._places: dict[ResolvedExpression, int] = {}
        self._aggregates: dict[ResolvedExpression, MatchAggregate] = {}
        for leaf in self._leaves:
            if isinstance(leaf, PatternFieldReference):
                field = FieldReference(leaf.index, columns.input_type.fields[leaf.index].type)
                self._places[leaf] = columns.place(field)
            elif isinstance(leaf, PatternAggregate):
                self._aggregates[leaf] = MatchAggregate(leaf, columns)
        fields = [RowField(f"f{place}", leaf.output_type) for leaf, place in self._leaves.items()]
        row_type = RowType(tuple(fields))
        self._evaluators = [compiled(expression, row_type, columns.session) for expression in made]

    def __call__(self, matches: Sequence[CompleteMatch]) -> list[pa.Array]:
        """One column per measure, with one row per match."""
        rows: dict[RowsOf, list[list[MatchedRow]]] = {}
        made = [self._leaf(leaf, matches, rows) for leaf in self._leaves]
        made = made or [pa.nulls(len(matches))]  # a batch needs a column to have rows
        batch = pa.record_batch(made, [f"f{number}" for number in range(len(made))])
        return [evaluate(batch, self._columns.instant) for evaluate in self._evaluators]

    def _over_leaves(self, expression: ResolvedExpression) -> ResolvedExpression:
        """The expression, with its leaves replaced by columns of matches."""
        if isinstance(expression, PatternFieldReference | PatternAggregate | MatchRowtime):
            place = self._leaves.setdefault(expression, len(self._leaves))
            return FieldReference(place, expression.type)
        children = expression.children()
        if not children:
            return expression
        return expression.with_children(tuple(map(self._over_leaves, children)))

    def _leaf(
        self,
        leaf: ResolvedExpression,
        matches: Sequence[CompleteMatch],
        known: dict[RowsOf, list[list[MatchedRow]]],
    ) -> pa.Array:
        kind = arrow_type(leaf.output_type)
        if isinstance(leaf, MatchRowtime):
            times = pa.array([match.time for match in matches], pa.int64())
            return times.view(pa.timestamp("ms", getattr(kind, "tz", None))).cast(kind)
        assert isinstance(leaf, PatternFieldReference | PatternAggregate)
        groups = known.get(leaf.rows)
        if groups is None:
            groups = known[leaf.rows] = [_rows_of(match, leaf.rows) for match in matches]
        if isinstance(leaf, PatternAggregate):
            return self._aggregates[leaf].values(groups)
        place, offset = self._places[leaf], leaf.offset
        at = offset if leaf.first else -1 - offset
        values = [group[at][place] if len(group) > offset else None for group in groups]
        return column_of(values, kind)


def _rows_of(match: CompleteMatch, rows: RowsOf) -> list[MatchedRow]:
    names = rows.variables
    return [entry.event.value for entry in match.rows if not names or entry.name in names]
