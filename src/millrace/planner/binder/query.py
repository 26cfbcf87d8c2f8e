"""`bind_query`: turns a query's syntax into its relational tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from millrace.common.similar_names import did_you_mean
from millrace.common.types.logical.logical_type import RowField, RowType
from millrace.expressions.resolved import ResolvedExpression, SortKey, ValueLiteral
from millrace.expressions.type_merging import common_type
from millrace.planner.binder.casts import cast_rows, cast_to
from millrace.planner.binder.context import BindingContext, CommonTables
from millrace.planner.binder.expression import ExpressionBinder
from millrace.planner.binder.scope import Scope, table_of
from millrace.planner.binder.select import bind_select
from millrace.planner.binder.tables import renamed
from millrace.planner.catalog_reader import CatalogReader
from millrace.planner.relational.rel_node import (
    RelNode,
    SetKind,
    SetOperation,
    Sort,
    Values,
)
from millrace.sql.dialect import nodes
from millrace.sql.dialect.nodes import names_of

__all__ = ["bind_expression", "bind_query"]

SET_KINDS: dict[type[exp.Expr], SetKind] = {
    exp.Union: SetKind.UNION,
    exp.Intersect: SetKind.INTERSECT,
    exp.Except: SetKind.EXCEPT,
}


def bind_query(query: exp.Expr, catalog: CatalogReader, text: str | None = None) -> RelNode:
    """The typed relational tree of a query.

    Args:
        text: text from which the query was parsed, for errors.

    Raises:
        SqlValidationError: a name is unknown, or types do not fit.
    """
    return _QueryBinder(catalog, text).bind(query, None, {})


def bind_expression(
    expression: exp.Expr,
    row_type: RowType,
    catalog: CatalogReader,
    text: str | None = None,
    name: str = "",
) -> ResolvedExpression:
    """A bound expression over the columns of a row, for computed columns, watermarks, DELETE and
    UPDATE.

    Args:
        name: name of the table, with which the expression may qualify columns.
    """
    binder = _QueryBinder(catalog, text)
    scope = Scope((table_of((name,) if name else (), row_type),))
    return ExpressionBinder(binder.context, scope, {}).bind(expression)


def _bind_view(text: str, catalog: CatalogReader) -> RelNode:
    from millrace.sql.parser import parse_query  # programs without SQL need no parser

    return bind_query(parse_query(text), catalog, text)


class _QueryBinder:
    def __init__(self, catalog: CatalogReader, text: str | None) -> None:
        self.context = BindingContext(catalog, text, self.bind, _bind_view)

    def bind(self, node: exp.Expr, outer: Scope | None, common: CommonTables) -> RelNode:
        """The bound tree of a query with its WITH, ORDER BY, OFFSET and LIMIT."""
        if isinstance(node, nodes.Bound):
            rows: RelNode = node.args["this"]
            return rows
        common = self._with(node, outer, common)
        if isinstance(node, exp.Select):
            select = bind_select(self.context, node, outer, common)
            rows = select.shown(self._limited(node, select.rows))
            if len(set(select.names)) < len(select.names):
                self.context.written_names[rows] = select.names
            return rows
        if isinstance(node, exp.Subquery | exp.Paren):
            rows = self.bind(node.this, outer, common)
        elif isinstance(node, exp.Values):
            rows = self._values(node, outer, common)
        elif type(node) in SET_KINDS:
            rows = self._set_operation(node, outer, common)
        else:
            raise self.context.refusal(node, f"{type(node).__name__} is not a query")
        order = node.args.get("order")
        if order is not None:
            keys = tuple(self._sort_key(item, rows) for item in order.expressions)
            rows = self.context.placed(Sort(rows, keys), order)
        return self._limited(node, rows)

    def _with(self, node: exp.Expr, outer: Scope | None, common: CommonTables) -> CommonTables:
        given = node.args.get("with_")
        if given is None:
            return common
        known = dict(common)
        own: set[str] = set()
        for common_table in given.expressions:
            alias = common_table.args["alias"]
            if alias.name in own:
                raise self.context.refusal(alias, f"WITH names {alias.name!r} twice")
            own.add(alias.name)
            rows = self.bind(common_table.this, outer, known)
            columns = tuple(column.name for column in alias.args.get("columns") or ())
            if columns and len(columns) != len(rows.row_type):
                count = len(rows.row_type)
                reason = f"{alias.name!r} names {len(columns)} columns, but the query has {count}"
                raise self.context.refusal(alias, reason)
            known[alias.name] = renamed(rows, columns) if columns else rows
        return known

    def _limited(self, node: exp.Expr, rows: RelNode) -> RelNode:
        limit, offset = (self._count(node.args.get(word)) for word in ("limit", "offset"))
        if limit is None and not offset:
            return rows
        if isinstance(rows, Sort) and rows.fetch is None and not rows.offset:
            return replace(rows, offset=offset or 0, fetch=limit)
        clause = node.args.get("limit") or node.args["offset"]
        return self.context.placed(Sort(rows, (), offset or 0, limit), clause)

    def _count(self, node: exp.Expr | None) -> int | None:
        if node is None:
            return None
        bound = ExpressionBinder(self.context, Scope(), {}, "LIMIT").bind(node.expression)
        if not isinstance(bound, ValueLiteral) or not isinstance(bound.value, int):
            raise self.context.refusal(node, "LIMIT and OFFSET take a constant whole number")
        return bound.value

    def _sort_key(self, node: exp.Expr, rows: RelNode) -> SortKey:
        """Sort key of a set operation or VALUES: a column, given by name or position."""
        names = rows.row_type.names
        written = names_of(node.this)
        if isinstance(node.this, exp.Literal) and node.this.this.isdigit():
            index = int(node.this.this) - 1
        elif written is not None and written[-1] in names:
            index = names.index(written[-1])
        else:
            hint = did_you_mean(written[-1], names) if written else ""
            raise self.context.refusal(
                node, f"this ORDER BY takes only columns of the result{hint}"
            )
        if not 0 <= index < len(names):
            raise self.context.refusal(
                node, f"ORDER BY {index + 1}: the number of columns is {len(names)}"
            )
        ascending = not node.args.get("desc")
        first = node.args.get("nulls_first")
        nulls_first = ascending if first is None else first
        return SortKey(index, ascending, nulls_first, self.context.place(node))

    def _values(self, node: exp.Values, outer: Scope | None, common: CommonTables) -> RelNode:
        binder = ExpressionBinder(self.context, Scope(parent=outer), common, "VALUES")
        rows = [tuple(map(binder.bind, row.expressions)) for row in node.expressions]
        widths = {len(row) for row in rows}
        if len(widths) > 1:
            uneven = next(r for r in node.expressions if len(r.expressions) != len(rows[0]))
            raise self.context.refusal(
                uneven, "the rows of VALUES have different numbers of columns"
            )
        columns = list(zip(*rows, strict=True))
        kinds = []
        for index, column in enumerate(columns):
            kind = common_type(tuple(expression.output_type for expression in column))
            if kind is None:
                kinds_there = ", ".join(str(expression.output_type) for expression in column)
                reason = f"column {index + 1} of VALUES has no common type of {kinds_there}"
                raise self.context.refusal(node, reason)
            kinds.append(kind)
        cast = tuple(tuple(map(cast_to, row, kinds)) for row in rows)
        fields = (RowField(f"EXPR${index}", kind) for index, kind in enumerate(kinds))
        return Values(cast, RowType(tuple(fields), nullable=False))

    def _set_operation(self, node: exp.Expr, outer: Scope | None, common: CommonTables) -> RelNode:
        kind, every = SET_KINDS[type(node)], not node.args.get("distinct")
        operands: list[exp.Expr] = [node.expression]
        left = node.this
        while (  # a chain of UNION ALL is one node
            kind is not SetKind.EXCEPT
            and type(left) is type(node)
            and (not left.args.get("distinct")) == every
            and not any(left.args.get(part) for part in ("with_", "order", "limit", "offset"))
        ):
            operands.append(left.expression)
            left = left.this
        nodes_in_order = [left, *reversed(operands)]
        inputs = [self.bind(operand, outer, common) for operand in nodes_in_order]
        return self._united(node, nodes_in_order, inputs, kind, every)

    def _united(
        self,
        node: exp.Expr,
        written: Sequence[exp.Expr],
        inputs: Sequence[RelNode],
        kind: SetKind,
        every: bool,
    ) -> RelNode:
        first = inputs[0].row_type
        for operand, rows in zip(written, inputs, strict=True):
            if len(rows.row_type) != len(first):
                reason = (
                    f"{type(node).__name__.upper()}: the queries have {len(first)} and "
                    f"{len(rows.row_type)} columns"
                )
                raise self.context.refusal(operand, reason)
        fields = []
        for index, field in enumerate(first):
            kinds = tuple(rows.row_type.fields[index].type for rows in inputs)
            merged = common_type(kinds)
            if merged is None:
                shown = " and ".join(dict.fromkeys(map(str, kinds)))
                reason = f"column {index + 1} ({field.name!r}) has no common type of {shown}"
                raise self.context.refusal(node, f"{type(node).__name__.upper()}: {reason}")
            fields.append(RowField(field.name, merged))
        cast = [cast_rows(rows, [merged_field.type for merged_field in fields]) for rows in inputs]
        row_type = RowType(tuple(fields), nullable=False)
        return self.context.placed(SetOperation(kind, every, tuple(cast), row_type), node)
