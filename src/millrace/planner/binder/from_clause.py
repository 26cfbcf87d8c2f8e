"""`FromBinder`: tables, queries, joins, windows and table functions of FROM."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlglot import exp

from millrace.common.similar_names import did_you_mean
from millrace.common.types.logical.logical_type import BooleanType
from millrace.expressions import built_in
from millrace.expressions.resolved import ResolvedExpression, ValueLiteral
from millrace.planner.binder.context import BindingContext, CommonTables
from millrace.planner.binder.from_context import FromContext
from millrace.planner.binder.match_recognize import bind_match
from millrace.planner.binder.names import unique_names
from millrace.planner.binder.scope import Scope, ScopeTable, table_of
from millrace.planner.binder.state_ttl import StateTtlHint
from millrace.planner.binder.table_functions import bind_function_table, bind_unnest
from millrace.planner.binder.tables import bind_table, path_of, renamed
from millrace.planner.relational.outer_references import has_any_outer
from millrace.planner.relational.rel_node import Join, JoinKind, RelNode
from millrace.planner.relational.stream_rel_nodes import LogicalSnapshot
from millrace.sql.dialect import nodes

__all__ = ["FromBinder", "true"]

KINDS = {
    "INNER": JoinKind.INNER,
    "CROSS": JoinKind.INNER,
    "COMMA": JoinKind.INNER,
    "LEFT": JoinKind.LEFT,
    "RIGHT": JoinKind.RIGHT,
    "FULL": JoinKind.FULL,
    "LEFT SEMI": JoinKind.SEMI,
    "LEFT ANTI": JoinKind.ANTI,
}
Bound = tuple[RelNode, Scope]


def _sees_left(node: exp.Expr) -> bool:
    """Whether the right table of a join is bound with the left table's columns in scope."""
    lateral = isinstance(node, exp.Lateral | nodes.TableFunctionCall | nodes.CollectionTable)
    return lateral or node.args.get("version") is not None


def _is_lateral(node: exp.Expr, rows: RelNode) -> bool:
    """Whether the right table of a join depends on the left row."""
    return node.args.get("version") is not None or (_sees_left(node) and has_any_outer(rows))


def true() -> ValueLiteral:
    """TRUE: the condition of a join that is written without a condition."""
    return ValueLiteral(True, BooleanType(nullable=False))


class FromBinder(FromContext):
    """Binds the table tree of FROM to rows and to a scope of their names.

    Args:
        outer: scope of the query around this one.
        hints: hints of the SELECT, for its joins.
        state_ttl: time to live of the rows that joins keep, by table.
    """

    def __init__(
        self,
        context: BindingContext,
        outer: Scope | None,
        common: CommonTables,
        hints: tuple[tuple[str, Any], ...] = (),
        state_ttl: StateTtlHint | None = None,
    ) -> None:
        super().__init__(context, outer, common)
        self.hints = hints
        self._state_ttl = state_ttl or StateTtlHint()

    def bind(self, node: exp.Expr, left: Scope | None = None) -> Bound:
        """The rows and the scope of a table tree; ``left`` holds the tables before it, which a
        lateral table may refer to."""
        if isinstance(node, nodes.JoinedTables):
            return self._join(node)
        if isinstance(node, exp.Table):
            return self._table(node, left)
        if isinstance(node, exp.Subquery):
            return self._query(node, self.outer)
        if isinstance(node, exp.Lateral):
            return self._query(node, left or self.outer)
        if isinstance(node, nodes.MatchRecognize):
            return self._aliased(node, bind_match(self, node, *self.bind(node.this)), ())
        if isinstance(node, nodes.TableFunctionCall):
            rows, path = bind_function_table(self, node, left)
            return self._aliased(node, rows, path)
        if isinstance(node, nodes.CollectionTable):
            return self._aliased(node, bind_unnest(self, node, left), ())
        raise self.context.refusal(node, f"{type(node).__name__} cannot stand in FROM")

    def _aliased(self, node: exp.Expr, rows: RelNode, path: tuple[str, ...]) -> Bound:
        alias = node.args.get("alias")
        written = self.context.written_names.get(rows)
        if alias is not None:
            columns = tuple(column.name for column in alias.args.get("columns") or ())
            count = len(rows.row_type)
            if columns and len(columns) != count:
                reason = f"{alias.name!r} names {len(columns)} columns, but the table has {count}"
                raise self.context.refusal(alias, reason)
            rows = renamed(rows, columns) if columns else rows
            written = None if columns else written
            path = (alias.name,)
        table = table_of(path, rows.row_type)
        if written is not None:
            table = table.called(written)
        return rows, Scope((table,), parent=self.outer)

    def _table(self, node: exp.Table, left: Scope | None) -> Bound:
        rows = bind_table(self.context, node, self.common)
        path = path_of(node)
        version = node.args.get("version")
        if version is not None:
            if left is None:
                raise self.context.refusal(
                    version, "FOR SYSTEM_TIME AS OF is allowed only on the right side of a join"
                )
            empty = Scope(parent=left)
            period = self.expressions(empty, "FOR SYSTEM_TIME AS OF").bind(version.this)
            alias = node.args.get("alias")
            name = path[-1] if alias is None else alias.name
            rows = self.context.placed(LogicalSnapshot(rows, period, name), version)
        catalog = self.context.catalog
        if len(path) < 3 and path[-1:] != () and path[0] not in self.common:
            before = (catalog.current_catalog, catalog.current_database)
            path = (*before[: 3 - len(path)], *path)
        return self._aliased(node, rows, path)

    def _query(self, node: exp.Expr, around: Scope | None) -> Bound:
        inner = node.this
        while isinstance(inner, exp.Subquery) and inner.args.get("alias") is None:
            inner = inner.this
        if isinstance(inner, nodes.JoinedTables | exp.Table):
            rows, scope = self.bind(inner)
            if node.args.get("alias") is None:
                return rows, scope
        else:
            rows = self.context.bind_query(inner, around, self.common)
        return self._aliased(node, rows, ())

    def _join(self, node: nodes.JoinedTables) -> Bound:
        kind = KINDS[str(node.args["kind"])]
        left, left_scope = self.bind(node.this)
        right, right_scope = self.bind(node.expression, left_scope)
        width = len(left.row_type)
        left_tables, right_tables = left_scope.tables, right_scope.tables
        right_tables = tuple(table.shifted(width) for table in right_tables)
        if kind in (JoinKind.RIGHT, JoinKind.FULL):
            left_tables = tuple(table.nullable() for table in left_tables)
        inner = Scope(left_scope.tables + right_tables, parent=self.outer)
        if kind in (JoinKind.LEFT, JoinKind.FULL):
            right_tables = tuple(table.nullable() for table in right_tables)
        one_side = kind in (JoinKind.SEMI, JoinKind.ANTI)
        tables = left_tables if one_side else left_tables + right_tables
        scope = Scope(tables, left_scope.merged, self.outer)
        shared = self._shared(node, left_scope, right_scope)
        if shared:
            condition = self._equal(node, shared, left_scope, right_tables)
            merged = self._merged(node, kind, shared, scope, len(left_tables))
            scope = replace(scope, merged={**scope.merged, **merged})
        elif node.args.get("on") is not None:
            condition = self.expressions(inner, "ON").condition(node.args["on"])
        else:
            condition = true()
        fields = left.row_type.names + (() if one_side else right.row_type.names)
        join = Join(
            left,
            right,
            kind,
            condition,
            unique_names(fields),
            lateral=_is_lateral(node.expression, right),
            hints=self.hints,
            state_ttl=(self._state_ttl.of(left_scope), self._state_ttl.of(right_scope)),
        )
        return self.context.placed(join, node.expression), scope

    def _shared(self, node: nodes.JoinedTables, left: Scope, right: Scope) -> list[str]:
        """Names of the columns joined by USING or NATURAL."""
        rights = {column.name for table in right.tables for column in table.columns}
        if node.args.get("natural"):
            return [name for name, _ in left.star() if name in rights]
        using = node.args.get("using") or ()
        lefts = {name for name, _ in left.star()}
        for column in using:
            for side, names in (("left", lefts), ("right", rights)):
                if column.name not in names:
                    hint = did_you_mean(column.name, names)
                    reason = f"USING: the {side} side has no column {column.name!r}{hint}"
                    raise self.context.refusal(column, reason)
        return [column.name for column in using]

    def _equal(
        self,
        node: exp.Expr,
        shared: list[str],
        left: Scope,
        right: tuple[ScopeTable, ...],
    ) -> ResolvedExpression:
        binder = self.expressions(left, "USING")
        parts = []
        for name in shared:
            one = left.find((name,))
            two = Scope(right).find((name,))
            assert one is not None
            assert two is not None
            parts.append(binder.call(node, built_in.EQUALS, one.expression, two.expression))
        return parts[0] if len(parts) == 1 else binder.call(node, built_in.AND, *parts)

    def _merged(
        self, node: exp.Expr, kind: JoinKind, shared: list[str], scope: Scope, lefts: int
    ) -> dict[str, ResolvedExpression]:
        """Merged columns of USING by name: the column of the side that is never missing, or
        COALESCE of both."""
        left, right = Scope(scope.tables[:lefts], scope.merged), Scope(scope.tables[lefts:])
        made: dict[str, ResolvedExpression] = {}
        for name in shared:
            one, two = left.find((name,)), right.find((name,))
            assert one is not None
            if two is None or kind in (JoinKind.INNER, JoinKind.LEFT):
                made[name] = one.expression
            elif kind is JoinKind.RIGHT:
                made[name] = two.expression
            else:
                binder = self.expressions(scope, "USING")
                made[name] = binder.call(node, built_in.COALESCE, one.expression, two.expression)
        return made
