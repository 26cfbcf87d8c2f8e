"""`snapshot_side`: splits the right side of a join with FOR SYSTEM_TIME AS OF into its parts."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.expressions.evaluation import is_deterministic
from millrace.expressions.resolved import FieldReference, ResolvedExpression
from millrace.planner.relational.join_conditions import equal_sides
from millrace.planner.relational.rel_node import Filter, Join, Project, RelNode
from millrace.planner.relational.rewriting import conjuncts, substituted
from millrace.planner.relational.stream_rel_nodes import LogicalSnapshot

__all__ = ["SnapshotSide", "snapshot_side"]


@dataclass(frozen=True)
class SnapshotSide:
    """Rows of a table, and the columns and conditions over them that are joined.

    Attributes:
        rows: the table.
        columns: columns of the right side, as expressions over a row of the table.
        conditions: without which a row of the table is not there; over it, too.
    """

    rows: RelNode
    columns: tuple[ResolvedExpression, ...]
    conditions: tuple[ResolvedExpression, ...]

    def below(self) -> SnapshotSide | None:
        """The same side over the input of its top node; None if the top node is neither a
        projection nor a filter.
        """
        rows = self.rows
        if isinstance(rows, Project):
            expressions = rows.expressions

            def within(expression: ResolvedExpression) -> ResolvedExpression:
                return substituted(expression, lambda field: expressions[field.index])

            return SnapshotSide(
                rows.input,
                tuple(within(column) for column in self.columns),
                tuple(within(condition) for condition in self.conditions),
            )
        if isinstance(rows, Filter):
            conditions = (*self.conditions, *conjuncts(rows.condition))
            return SnapshotSide(rows.input, self.columns, conditions)
        return None

    def over(self, rows: RelNode) -> SnapshotSide:
        """The same side over other rows, which have the same columns."""
        return SnapshotSide(rows, self.columns, self.conditions)

    def lowest(self) -> SnapshotSide:
        """The same side over the rows below all its projections and filters."""
        side = self
        while (below := side.below()) is not None:
            side = below
        return side

    def computed_by(self, keys: tuple[int, ...]) -> SnapshotSide:
        """The same side, but a column that repeats the expression of a key refers to this key.
        Example: a view that has the expression in SELECT and in PARTITION BY.
        """
        rows = self.rows
        if not isinstance(rows, Project):
            return self
        made = {
            _nameless(rows.expressions[key]): rows.field(key)
            for key in keys
            if is_deterministic(rows.expressions[key])
        }

        def within(expression: ResolvedExpression) -> ResolvedExpression:
            if isinstance(expression, FieldReference):
                return expression
            below = substituted(expression, lambda field: rows.expressions[field.index])
            return made.get(_nameless(below), expression)

        return SnapshotSide(rows, tuple(map(within, self.columns)), self.conditions)

    def equalities(
        self, join: Join
    ) -> tuple[dict[int, ResolvedExpression], tuple[ResolvedExpression, ...]]:
        """The join's conditions over the joined row, split in two: expressions of the left row that
        table columns must equal, by column; and all other conditions.
        """
        width = len(join.left.row_type)
        equal: dict[int, ResolvedExpression] = {}
        others = []
        for part in conjuncts(join.condition):
            sides = equal_sides(part, width)
            column: ResolvedExpression | None = None
            if sides is not None and isinstance(sides[1], FieldReference):
                column = self.columns[sides[1].index - width]
            if sides is None or not isinstance(column, FieldReference) or column.index in equal:
                others.append(part)
            else:
                equal[column.index] = sides[0]
        return equal, tuple(others)


def _nameless(expression: ResolvedExpression) -> ResolvedExpression:
    return substituted(expression, lambda field: FieldReference(field.index, field.type))


def snapshot_side(join: Join) -> tuple[SnapshotSide, LogicalSnapshot] | None:
    """The part of a join's right side above its LogicalSnapshot, over the snapshot's input; None if
    there is no LogicalSnapshot.
    """
    rows = join.right
    columns = tuple(rows.field(index) for index in range(len(rows.row_type)))
    side = SnapshotSide(rows, columns, ()).lowest()
    if not isinstance(side.rows, LogicalSnapshot):
        return None
    return side.over(side.rows.input), side.rows
