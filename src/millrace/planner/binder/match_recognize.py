"""``t MATCH_RECOGNIZE (...)`` in FROM (Flink docs, "Pattern Recognition")."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from sqlglot import exp

from millrace.expressions.resolved import (
    FieldReference,
    ResolvedExpression,
    SortKey,
    ValueLiteral,
)
from millrace.planner.binder.from_context import FromContext
from millrace.planner.binder.pattern_expression import PatternExpressionBinder
from millrace.planner.binder.row_pattern import RowPattern, bind_pattern, bind_skip
from millrace.planner.binder.scope import Scope
from millrace.planner.relational.rel_node import RelNode
from millrace.planner.relational.stream_rel_nodes import Match
from millrace.sql.dialect import nodes

__all__ = ["bind_match"]


def bind_match(
    binder: FromContext, node: nodes.MatchRecognize, rows: RelNode, scope: Scope
) -> Match:
    """The bound node of MATCH_RECOGNIZE over the rows of a table.

    Raises:
        SqlValidationError: the clause is wrong, or has what Flink refuses.
    """
    context = binder.context
    if node.args.get("rows") == "ALL":
        raise context.refusal(node, "All rows per match mode is not supported yet.")
    partition = _positions(binder, scope, node.args.get("partition_by") or (), "PARTITION BY")
    order = _order(binder, scope, node)
    pattern = bind_pattern(context, node)
    after, skip_to = bind_skip(context, node.args.get("after"), pattern)
    measures = _measures(binder, rows, node, pattern)
    _check_names(binder, rows, node, partition)
    made = Match(
        rows,
        partition,
        order,
        pattern.variables,
        _definitions(binder, rows, node, pattern),
        measures,
        after,
        skip_to,
        _within(binder, node.args.get("within")),
    )
    return context.placed(made, node)


def _positions(
    binder: FromContext, scope: Scope, given: Sequence[exp.Expr], clause: str
) -> tuple[int, ...]:
    """Positions of the columns that a clause names."""
    made = []
    for column in given:
        bound = binder.expressions(scope, clause).bind(column)
        if not isinstance(bound, FieldReference):
            raise binder.context.refusal(
                column, f"{clause} of MATCH_RECOGNIZE takes columns, not expressions"
            )
        made.append(bound.index)
    return tuple(made)


def _order(binder: FromContext, scope: Scope, node: nodes.MatchRecognize) -> tuple[SortKey, ...]:
    items = node.args.get("order") or ()
    if not items:
        raise binder.context.refusal(
            node, "You must specify either rowtime or proctime for order by."
        )
    positions = _positions(binder, scope, [item.this for item in items], "ORDER BY")
    keys = []
    for index, item in zip(positions, items, strict=True):
        ascending = not item.args.get("desc")
        first = item.args.get("nulls_first")
        nulls_first = ascending if first is None else first
        keys.append(SortKey(index, ascending, nulls_first, binder.context.place(item)))
    if not keys[0].ascending:
        raise binder.context.refusal(
            items[0], "Primary sort order of a streaming table must be ascending on time."
        )
    return tuple(keys)


def _measures(
    binder: FromContext, rows: RelNode, node: nodes.MatchRecognize, pattern: RowPattern
) -> tuple[tuple[str, ResolvedExpression], ...]:
    measures = PatternExpressionBinder(binder.context, rows.row_type, binder.common, pattern)
    given = node.args.get("measures")
    if not given:
        raise binder.context.refusal(
            node, "MATCH_RECOGNIZE needs MEASURES: they are the columns of a match"
        )
    return tuple((measure.alias, measures.bind(measure.this)) for measure in given)


def _check_names(
    binder: FromContext, rows: RelNode, node: nodes.MatchRecognize, partition: tuple[int, ...]
) -> None:
    """Refuse a measure with the name of a partition column or of another measure."""
    names = [rows.row_type.names[index] for index in partition]
    for measure in node.args["measures"]:
        if measure.alias in names:
            raise binder.context.refusal(measure, f"Columns ambiguously defined: {measure.alias!r}")
        names.append(measure.alias)


def _definitions(
    binder: FromContext, rows: RelNode, node: nodes.MatchRecognize, pattern: RowPattern
) -> tuple[tuple[str, ResolvedExpression], ...]:
    context = binder.context
    made: dict[str, ResolvedExpression] = {}
    for definition in node.args["define"]:
        name = definition.alias
        if name not in pattern.names:
            raise context.refusal(definition, pattern.unknown(name))
        if name in made:
            raise context.refusal(definition, f"Pattern variable {name!r} has already been defined")
        bound = PatternExpressionBinder(context, rows.row_type, binder.common, pattern, name)
        made[name] = bound.condition(definition.this)
    return tuple(made.items())


def _within(binder: FromContext, node: exp.Expr | None) -> int | None:
    if node is None:
        return None
    value = binder.expressions(Scope(), "WITHIN").bind(node)
    given = value.value if isinstance(value, ValueLiteral) else None
    if isinstance(given, timedelta) and given >= timedelta(milliseconds=1):
        return given // timedelta(milliseconds=1)
    raise binder.context.refusal(
        node,
        "Only constant intervals with millisecond resolution are supported as time constraints of "
        "patterns: WITHIN INTERVAL '1' HOUR",
    )
