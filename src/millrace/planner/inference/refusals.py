"""`require_supported`: refuses queries that streams cannot run, with Flink's reasons.

Flink: ``FlinkChangelogModeInferenceProgram`` and the translations of ``StreamPhysicalRel``.
"""

from __future__ import annotations

from dataclasses import replace

from millrace.common.types.row import RowKind
from millrace.expressions import built_in
from millrace.expressions.process_table_functions import ArgumentTrait
from millrace.expressions.resolved import Call, FieldReference, ResolvedExpression
from millrace.planner.inference.changelog_mode import ChangelogModes, RowChanges, changes_of
from millrace.planner.inference.time_attributes import (
    joins_by_time,
    ordered_by_time,
    time_attributes,
)
from millrace.planner.relational.changelog import FromChangelog, ToChangelog
from millrace.planner.relational.model_predict import ModelPredict
from millrace.planner.relational.process_table import ProcessTable
from millrace.planner.relational.rel_node import Filter, Join, Project, RelNode, Sort
from millrace.planner.relational.sink_nodes import LogicalSink
from millrace.planner.relational.stream_rel_nodes import (
    CountWindowAggregate,
    Deduplicate,
    Match,
    OverAggregate,
    OverGroup,
    Rank,
    TimeAttribute,
    WindowAggregate,
    WindowingStrategy,
    WindowTableFunction,
)
from millrace.planner.relational.unsupported_query import UnsupportedQueryError
from millrace.planner.relational.windows import window_join_columns, windows_of
from millrace.planner.rules.ranking import rank_without_end

__all__ = ["require_supported"]

INSERTS_ONLY = (
    *(OverAggregate, WindowTableFunction, WindowAggregate, CountWindowAggregate),
    *(Deduplicate, Match, ModelPredict, FromChangelog),
)


def require_supported(root: RelNode, modes: ChangelogModes) -> None:
    """Check that a tree can run over streams.

    Raises:
        UnsupportedQueryError: a node gets changes that it cannot take, an order is not of
            time, or a table cannot be written so.
    """
    seen: set[RelNode] = set()
    pending = [root]
    while pending:
        node = pending.pop()
        if node in seen:
            continue
        seen.add(node)
        pending += node.inputs
        _changes(node, modes)
        _time(node)
        if isinstance(node, Project | Filter):
            _watermarks(node)
        if isinstance(node, Filter):
            _rank(node)
        if isinstance(node, Rank):
            _rank_end(node)
        if isinstance(node, Join):
            _windows(node)
        if isinstance(node, ProcessTable):
            _process_table(node, modes)
        if isinstance(node, ToChangelog | FromChangelog):
            _on_time(node)
        if isinstance(node, LogicalSink):
            _sink(node, modes)


def _changes(node: RelNode, modes: ChangelogModes) -> None:
    asks = isinstance(node, INSERTS_ONLY) or (
        isinstance(node, Join) and not node.lateral and joins_by_time(node)
    )
    if not asks or (isinstance(node, OverAggregate) and not ordered_by_time(node)):
        return
    for source in node.inputs:
        changes = modes.changes(source)
        if changes:
            raise _refused_changes(node, _name(node), source, changes, modes)


def _refused_changes(
    node: RelNode,
    name: str,
    source: RelNode,
    refused: RowChanges,
    modes: ChangelogModes,
    hint: str = "",
) -> UnsupportedQueryError:
    """The error that a node does not support some changes of its input, naming the node that
    makes them."""
    maker = _maker(source, refused, modes)
    shown = f"{_kind(maker)}({', '.join(maker.row_type.names)})"
    kinds = _words(refused)
    return UnsupportedQueryError(
        f"{name} doesn't support consuming {kinds} changes which is produced by node {shown}{hint}",
        node.place,
        None if maker.place is None else (f"{shown} produces {kinds} changes", maker.place),
    )


def _maker(node: RelNode, refused: RowChanges, modes: ChangelogModes) -> RelNode:
    """The uppermost node that emits such changes even if its inputs only insert rows."""
    alone = changes_of(node, [RowChanges.NONE for _ in node.inputs])
    if not alone & refused:
        for child in node.inputs:
            if modes.changes(child) & refused:
                return _maker(child, refused, modes)
    return node


def _kind(node: RelNode) -> str:
    return node.kind.value if isinstance(node, Join) else type(node).__name__


def _name(node: RelNode) -> str:
    if isinstance(node, Join):
        return "IntervalJoin" if window_join_columns(node) is None else "WindowJoin"
    return type(node).__name__


def _windows(node: Join) -> None:
    """Refuse a window join whose sides have different windows."""
    windows = window_join_columns(node)
    if windows is None:
        return
    if windows.left.window.processing or windows.right.window.processing:
        raise node.refusal("Processing time Window Join is not supported yet.")
    left, right = (replace(side.window, partition=()) for side in (windows.left, windows.right))
    if left != right:
        raise node.refusal(
            "Currently, window join doesn't support different window table function of left and "
            f"right inputs: the left one is {_shown(left)}, the right one {_shown(right)}"
        )


def _shown(window: WindowingStrategy) -> str:
    slide = f", slide {window.slide} ms" if window.slide else ""
    offset = f", offset {window.offset} ms" if window.offset else ""
    local = ", of TIMESTAMP_LTZ" if window.local else ""
    return f"{window.kind.value} (size {window.size} ms{slide}{offset}{local})"


def _words(changes: RowChanges) -> str:
    if changes == RowChanges.UPDATE | RowChanges.DELETE:
        return "update and delete"
    return "update" if changes is RowChanges.UPDATE else "delete"


def _time(node: RelNode) -> None:
    if isinstance(node, OverAggregate):
        _over(node)
    elif isinstance(node, WindowTableFunction | WindowAggregate) and node.time is not None:
        _windowed(node, node.time)
    elif isinstance(node, Rank | Deduplicate) and node.window is not None:
        windows = windows_of(node.input)
        if windows is not None and windows.window.processing:
            kind = "TopN" if isinstance(node, Rank) else "Deduplication"
            raise node.refusal(f"Processing time Window {kind} is not supported yet.")
    elif isinstance(node, Match):
        place = node.order[0].index
        if place not in time_attributes(node.input):
            raise node.refusal(
                "You must specify either rowtime or proctime for order by as the first one: "
                f"{node.input.row_type.names[place]!r} of MATCH_RECOGNIZE's ORDER BY is not a "
                "time attribute",
                node.order[0].place,
            )
    elif isinstance(node, Sort) and node.fetch is None:
        times = time_attributes(node.input)
        for key in node.keys[:1]:
            if key.index in times and key.ascending:
                continue
            raise node.refusal(
                "Sort on a non-time-attribute field is not supported: the first field of ORDER BY "
                "is a time attribute ascending, or there is a LIMIT",
                key.place,
            )


def _process_table(node: ProcessTable, modes: ChangelogModes) -> None:
    for rows, table in zip(node.operands, node.tables, strict=True):
        argument, times = node.argument(table), time_attributes(rows)
        if argument is None:
            continue
        changes = modes.changes(rows)
        takes_updates = ArgumentTrait.SUPPORT_UPDATES in argument.traits and not table.order
        if changes and not takes_updates:
            raise node.refusal(
                f"{node.function.name} doesn't support consuming {_words(changes)} changes, which "
                f"its argument {argument.name!r} has: declare it with "
                "ArgumentTrait.SUPPORT_UPDATES (and no ORDER BY)"
            )
        used = [("on_time", table.time)] + [("ORDER BY", key.index) for key in table.order[:1]]
        for what, index in used:
            if index is not None and times.get(index) is not TimeAttribute.ROWTIME:
                field = rows.row_type.fields[index]
                raise node.refusal(
                    f"{node.function.name}: {what} requires a time attribute, but {field.name!r} "
                    f"is {field.type}: declare a WATERMARK for it in the table"
                )


def _on_time(node: ToChangelog | FromChangelog) -> None:
    times = time_attributes(node.input)
    if node.time is not None and times.get(node.time) is not TimeAttribute.ROWTIME:
        field = node.input.row_type.fields[node.time]
        raise node.refusal(
            f"{_name(node)}: on_time requires a time attribute, but {field.name!r} is "
            f"{field.type}: declare a WATERMARK for it in the table"
        )


def _rank(node: Filter) -> None:
    ranked = rank_without_end(node)
    if ranked is None:
        return
    call = ranked.over[0].calls[0]
    raise node.refusal(
        "Rank end is not specified. Currently rank only support TopN, which means the rank end "
        f"must be specified: bound {call.function} from above, too, as in r > 2 AND r <= 10",
        call.place,
    )


def _rank_end(node: Rank) -> None:
    if node.end < 1:
        raise node.refusal(
            f"Rank end should not less than zero, but now is {node.end}: ranks begin with 1, and "
            "the condition lets none through"
        )


def _watermarks(node: Project | Filter) -> None:
    times = time_attributes(node.input)

    def visit(expression: ResolvedExpression) -> None:
        if isinstance(expression, Call) and expression.function is built_in.CURRENT_WATERMARK:
            (argument,) = expression.arguments
            index = argument.index if isinstance(argument, FieldReference) else -1
            if times.get(index) is not TimeAttribute.ROWTIME:
                raise node.refusal(
                    "The argument of CURRENT_WATERMARK() must be a rowtime attribute, but "
                    f"{argument} is {argument.output_type}: give it a column with a WATERMARK",
                    expression.place,
                )
        for child in expression.children():
            visit(child)

    for expression in node.expressions if isinstance(node, Project) else (node.condition,):
        visit(expression)


def _windowed(node: WindowTableFunction | WindowAggregate, time: int) -> None:
    if time not in time_attributes(node.input):
        field = node.input.row_type.fields[time]
        raise node.refusal(
            "The window function requires the timecol is a time attribute type, but "
            f"{field.name!r} is {field.type}: declare a WATERMARK for it in the table"
        )


def _over(node: OverAggregate) -> None:
    times = time_attributes(node.input)
    by_time = set()
    for group in node.over:
        if not group.order:
            raise node.refusal(
                "OVER windows in stream mode are ordered by a single column: add ORDER BY with one",
                group.calls[0].place,
            )
        first = group.order[0]
        name = node.input.row_type.names[first.index]
        if not first.ascending:
            raise node.refusal(
                f"The window can only be ordered in ASCENDING mode in streams, but {name!r} is "
                "DESC; for a Top-N, filter by the number of ROW_NUMBER, RANK or DENSE_RANK",
                first.place,
            )
        by_time.add(first.index in times)
        if first.index not in times:
            _non_time_order(group, name)
    if len(by_time) > 1:
        raise node.refusal(
            "Over Agg: all aggregates of a SELECT must be ordered by a time attribute, or none: "
            "put those that are not into a query of their own"
        )


def _non_time_order(group: OverGroup, name: str) -> None:
    if len(group.order) > 1:
        raise UnsupportedQueryError(
            f"OVER windows in stream mode are ordered by a single column, which is {name!r} here",
            group.order[1].place,
        )
    if group.preceding is not None or group.following != 0:
        raise UnsupportedQueryError(
            "Non-time attribute sort is not supported for bounded OVER window: "
            f"{name!r} is not a time attribute, so frames are UNBOUNDED PRECEDING to CURRENT ROW",
            group.calls[0].place,
        )


def _sink(node: LogicalSink, modes: ChangelogModes) -> None:
    accepts, changes = node.table.accepts, modes.changes(node.input)
    if not accepts:
        return
    updates = RowChanges.UPDATE in changes and RowKind.UPDATE_AFTER not in accepts
    deletes = RowChanges.DELETE in changes and RowKind.DELETE not in accepts
    if updates or deletes:
        refused = (RowChanges.UPDATE if updates else RowChanges.NONE) | (
            RowChanges.DELETE if deletes else RowChanges.NONE
        )
        name = f"Table sink '{'.'.join(node.table.path)}'"
        hint = "; write into a table that takes them, as one of 'upsert-kafka' or 'jdbc' with a "
        hint += "PRIMARY KEY does"
        raise _refused_changes(node, name, node.input, refused, modes, hint)
