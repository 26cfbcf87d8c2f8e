"""Implicit casts, made where the columns of several queries meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from millrace.common.types.logical.logical_type import LogicalType, NullType
from millrace.expressions.resolved import Cast, ResolvedExpression, ValueLiteral
from millrace.planner.relational.rel_node import Project, RelNode, Values

__all__ = ["cast_rows", "cast_to"]


def cast_to(expression: ResolvedExpression, kind: LogicalType) -> ResolvedExpression:
    """The expression cast to a type; unchanged if only the nullability differs."""
    given = expression.output_type
    if given.with_nullable(True) == kind.with_nullable(True):
        return expression
    if isinstance(expression, ValueLiteral) and isinstance(given, NullType):
        return ValueLiteral(None, kind.with_nullable(True))
    return Cast(expression, kind.with_nullable(given.is_nullable))


def cast_rows(rows: RelNode, kinds: Sequence[LogicalType]) -> RelNode:
    """The rows with each column cast to a type."""
    if isinstance(rows, Project):  # casts of constants become constants of the type
        cast = tuple(map(cast_to, rows.expressions, kinds))
        return rows if cast == rows.expressions else replace(rows, expressions=cast)
    if isinstance(rows, Values) and len(rows.rows) == 1:
        values = tuple(map(cast_to, rows.rows[0], kinds))
        made = Project(rows, values, rows.row_type.names)
        return Values((values,), made.row_type)
    fields = [rows.field(index) for index in range(len(rows.row_type))]
    expressions = tuple(map(cast_to, fields, kinds))
    if all(
        isinstance(expression, type(field))
        for expression, field in zip(expressions, fields, strict=True)
    ):
        return rows
    return Project(rows, expressions, rows.row_type.names)
