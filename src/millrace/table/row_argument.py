"""The single argument of a function over whole rows, as `Table.map` calls it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from millrace.common.types.logical.logical_type import RowField, RowType
from millrace.expressions import built_in
from millrace.expressions.call_options import FieldPosition
from millrace.expressions.resolved import Call, ResolvedExpression
from millrace.sql.dialect import nodes
from millrace.table.expression import Expression

__all__ = ["row_argument"]


def row_argument(
    kind: RowType, columns: Sequence[ResolvedExpression], flat: bool = False
) -> Expression:
    """All columns as one row.

    Args:
        kind: names and types of the columns.
        flat: whether the fields of columns that are rows stand in their places, as in a DataFrame,
            which has no columns in its columns.
    """
    named = zip(kind.names, columns, strict=True)
    parts = list(_flat(named) if flat else named)
    fields = tuple(RowField(name, column.output_type) for name, column in parts)
    row = RowType(fields, nullable=False)
    made = Call(built_in.ROW, tuple(column for _, column in parts), row)
    return Expression(nodes.Bound(this=made))


def _flat(
    named: Iterator[tuple[str, ResolvedExpression]],
) -> Iterator[tuple[str, ResolvedExpression]]:
    for name, column in named:
        kind = column.output_type
        if not isinstance(kind, RowType):
            yield name, column
            continue
        for position, field in enumerate(kind.fields):
            inner = field.type.with_nullable(field.type.is_nullable or kind.is_nullable)
            yield field.name, Call(built_in.GET, (column,), inner, FieldPosition(position))
