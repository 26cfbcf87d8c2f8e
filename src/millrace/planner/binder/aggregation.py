"""`Aggregation`: moves aggregates and keys from bound expressions into an Aggregate node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from millrace.common.types.logical.logical_type import BooleanType, LogicalType
from millrace.expressions import built_in
from millrace.expressions.resolved import (
    AggregateCall,
    Call,
    FieldReference,
    OuterReference,
    ResolvedExpression,
    ValueLiteral,
)
from millrace.planner.binder.grouping import GroupKeys
from millrace.planner.binder.names import unique_names
from millrace.planner.binder.placeholders import AggregatePlaceholder, GroupingPlaceholder
from millrace.planner.relational.outer_references import map_outer
from millrace.planner.relational.rel_node import Aggregate, Project, RelNode, Subquery

__all__ = ["Aggregation", "UngroupedError"]


_Position = Callable[[ResolvedExpression], int]


class UngroupedError(Exception):
    """A column is neither a grouping key nor inside an aggregate."""


class Aggregation:
    """The Aggregate node of a SELECT: the keys first, then each distinct aggregate once."""

    def __init__(self, keys: GroupKeys) -> None:
        self.keys = keys
        self.placeholders: dict[AggregatePlaceholder | GroupingPlaceholder, int] = {}
        simple = keys.sets == [tuple(range(len(keys.expressions)))]
        self.sets = None if simple else tuple(keys.sets)

    def over(self, expression: ResolvedExpression) -> ResolvedExpression:
        """Rewrite an expression over the rows of FROM into one over the aggregate's result rows.

        Raises:
            UngroupedError: a column is neither a key nor in an aggregate.
        """
        if expression in self.keys.expressions:
            index = self.keys.expressions.index(expression)
            name = getattr(expression, "name", "")
            return FieldReference(index, self._key_type(index), name)
        if isinstance(expression, AggregatePlaceholder | GroupingPlaceholder):
            number = self.placeholders.setdefault(expression, len(self.placeholders))
            place = len(self.keys.expressions) + number
            return FieldReference(place, self._value_type(expression))
        if isinstance(expression, FieldReference):
            raise UngroupedError(expression.name)
        children = expression.children()
        if children:
            changed = tuple(self.over(child) for child in children)
            nullable = any(
                new.output_type.is_nullable and not old.output_type.is_nullable
                for new, old in zip(changed, children, strict=True)
            )
            expression = expression.with_children(changed)
            if nullable and isinstance(expression, Call):
                expression = replace(expression, type=expression.type.with_nullable(True))
        if isinstance(expression, Subquery):
            expression = replace(expression, relation=self._subquery(expression.relation))
        return expression

    def _subquery(self, relation: RelNode) -> RelNode:
        """Let a correlated query in SELECT or HAVING refer to the aggregate's rows."""

        def change(reference: OuterReference) -> ResolvedExpression:
            field = FieldReference(reference.index, reference.type, reference.name)
            column = self.over(field)
            assert isinstance(column, FieldReference)
            return OuterReference(reference.level, column.index, column.type, reference.name)

        return map_outer(relation, 1, change)

    def _key_type(self, index: int) -> LogicalType:
        kind = self.keys.expressions[index].output_type
        missing = self.sets is not None and not all(index in grouping for grouping in self.sets)
        return kind.with_nullable(True) if missing else kind

    def _value_type(self, placeholder: AggregatePlaceholder | GroupingPlaceholder) -> LogicalType:
        """Type of an aggregate's value. Without GROUP BY it is nullable, since there may be no
        rows; with GROUP BY it may be NOT NULL, since each group has rows."""
        kind = placeholder.output_type
        if isinstance(placeholder, GroupingPlaceholder):
            return kind
        if not self.keys.expressions:
            return kind if placeholder.function is built_in.COUNT else kind.with_nullable(True)
        whole = placeholder.function.built_in and self.sets is None and placeholder.filter is None
        return kind.not_null() if whole and _never_null(placeholder) else kind

    def node(self, rows: RelNode, state_ttl: int | None = None) -> RelNode:
        """The Aggregate node over a projection of the columns that it reads. Call this method
        after all expressions have been rewritten."""
        keys = len(self.keys.expressions)
        needed = list(self.keys.expressions)
        positions = {expression: index for index, expression in reversed(list(enumerate(needed)))}

        def position(expression: ResolvedExpression) -> int:
            index = positions.setdefault(expression, len(needed))
            if index == len(needed):
                needed.append(expression)
            return index

        calls = [self._call(placeholder, position) for placeholder in self.placeholders]
        if not needed:  # COUNT(*): rows without columns could not be counted
            needed.append(ValueLiteral(True, BooleanType(nullable=False)))
        key_names = [
            expression.name if isinstance(expression, FieldReference) else f"$f{index}"
            for index, expression in enumerate(needed)
        ]
        below = Project(rows, tuple(needed), unique_names(key_names))
        names = _call_names(below.row_type.names[:keys], len(calls))
        named = tuple(replace(call, name=name) for call, name in zip(calls, names, strict=True))
        place = named[0].place if named else None
        return Aggregate(below, tuple(range(keys)), named, self.sets, state_ttl, place=place)

    def _call(
        self, placeholder: AggregatePlaceholder | GroupingPlaceholder, position: _Position
    ) -> AggregateCall:
        if isinstance(placeholder, GroupingPlaceholder):
            positions = []
            for argument in placeholder.arguments:
                if argument not in self.keys.expressions:
                    raise UngroupedError(str(argument))
                positions.append(self.keys.expressions.index(argument))
            return AggregateCall(built_in.GROUPING, tuple(positions), placeholder.type)
        return AggregateCall(
            placeholder.function,
            tuple(position(argument) for argument in placeholder.arguments),
            self._value_type(placeholder),
            placeholder.distinct,
            None if placeholder.filter is None else position(placeholder.filter),
            placeholder.options,
            place=placeholder.place,
        )


_OF_EACH_GROUP = frozenset(
    (
        *(built_in.SUM, built_in.AVG, built_in.MIN, built_in.MAX),
        *(built_in.FIRST_VALUE, built_in.LAST_VALUE),
        *(built_in.STDDEV_POP, built_in.VAR_POP, built_in.COLLECT),
    )
)
"""Aggregates that have a value for every group, COLLECT also of values that are all NULL."""


def _never_null(placeholder: AggregatePlaceholder) -> bool:
    if placeholder.function not in _OF_EACH_GROUP:
        return False
    return (
        placeholder.function is built_in.COLLECT
        or not placeholder.arguments[0].output_type.is_nullable
    )


def _call_names(taken: Sequence[str], count: int) -> tuple[str, ...]:
    names = (f"EXPR${index}" for index in range(count))
    return unique_names((*taken, *names))[len(taken) :]
