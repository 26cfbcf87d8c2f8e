"""Removes unused columns, so that sources do not read them.

Flink: ``PushProjectIntoTableSourceScanRule``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from millrace.common.types.logical.logical_type import RowType
from millrace.common.types.row import INSERT_ONLY
from millrace.expressions.pattern_expressions import PatternFieldReference
from millrace.expressions.resolved import (
    FieldReference,
    ResolvedExpression,
    SortKey,
    fields_of,
    rewritten,
)
from millrace.planner.relational.model_predict import ModelPredict
from millrace.planner.relational.rel_node import (
    Filter,
    Join,
    JoinKind,
    Project,
    RelNode,
    Sort,
    TableScan,
)
from millrace.planner.relational.rewriting import moved
from millrace.planner.relational.stream_rel_nodes import (
    ChangelogNormalize,
    Deduplicate,
    Match,
    Rank,
    WatermarkAssigner,
)

__all__ = ["pruned"]

Pruned = tuple[RelNode, dict[int, int]]
"""A node with fewer columns, and where those that were asked for are now."""


def pruned(rows: RelNode) -> RelNode:
    """The tree with the columns of its root, and below it only the required columns."""
    node, places = _pruned(rows, range(len(rows.row_type)))
    assert list(places.values()) == list(range(len(rows.row_type)))
    return node


def _pruned(node: RelNode, needed: Iterable[int]) -> Pruned:
    columns = sorted(set(needed))
    if isinstance(node, TableScan):
        return _scan(node, columns)
    if isinstance(node, Project):
        return _project(node, columns)
    if isinstance(node, Filter):
        inner, places = _pruned(node.input, [*columns, *fields_of(node.condition)])
        return Filter(inner, moved(node.condition, places)), places
    if isinstance(node, Sort):
        inner, places = _pruned(node.input, [*columns, *(key.index for key in node.keys)])
        keys = tuple(
            SortKey(places[key.index], key.ascending, key.nulls_first) for key in node.keys
        )
        return replace(node, input=inner, keys=keys), places
    if isinstance(node, WatermarkAssigner):
        read = [*columns, node.rowtime, *fields_of(node.watermark)]
        inner, places = _pruned(node.input, read)
        watermark = moved(node.watermark, places)
        return WatermarkAssigner(inner, places[node.rowtime], watermark), places
    if isinstance(node, ChangelogNormalize):
        inner, places = _pruned(node.input, [*columns, *node.keys])
        return ChangelogNormalize(inner, tuple(places[key] for key in node.keys)), places
    if isinstance(node, Join) and not node.lateral:
        return _join(node, columns)
    if isinstance(node, Rank):
        return _rank(node, columns)
    if isinstance(node, Deduplicate):
        return _deduplicate(node, columns)
    if isinstance(node, ModelPredict):
        return _model_predict(node, columns)
    if isinstance(node, Match):
        return _match(node), {index: index for index in range(len(node.row_type))}
    inputs = tuple(pruned(child) for child in node.inputs)
    same = all(new is old for new, old in zip(inputs, node.inputs, strict=True))
    made = node if same else node.with_inputs(inputs)
    return made, {index: index for index in range(len(node.row_type))}


def _model_predict(node: ModelPredict, columns: list[int]) -> Pruned:
    """The node with the input columns that the model reads or that are required above."""
    width = len(node.input.row_type)
    inner, places = _pruned(
        node.input, [*(index for index in columns if index < width), *node.features]
    )
    moved_to = tuple(places[index] for index in node.features)
    made = replace(node, input=inner, features=moved_to)
    added = {width + place: len(inner.row_type) + place for place in range(len(node.names))}
    return made, places | added


def _rank(node: Rank, columns: list[int]) -> Pruned:
    """The node without its rank column if no node above reads the column. Then a row whose rank
    changes is not emitted again."""
    number = len(node.input.row_type)
    read = [*columns, *node.partition, *(key.index for key in node.order), *(node.window or ())]
    inner, places = _pruned(node.input, [index for index in read if index != number])
    made = replace(
        node,
        input=inner,
        partition=tuple(places[index] for index in node.partition),
        order=tuple(replace(key, index=places[key.index]) for key in node.order),
        rank_name=node.rank_name if number in columns else None,
        window=_at(node.window, places),
    )
    return made, places | {number: len(inner.row_type)}


def _deduplicate(node: Deduplicate, columns: list[int]) -> Pruned:
    read = [*columns, *node.keys, node.time, *(node.window or ())]
    inner, places = _pruned(node.input, read)
    return replace(
        node,
        input=inner,
        keys=tuple(places[key] for key in node.keys),
        time=places[node.time],
        window=_at(node.window, places),
    ), places


def _at(window: tuple[int, int] | None, places: dict[int, int]) -> tuple[int, int] | None:
    return None if window is None else (places[window[0]], places[window[1]])


def _match(node: Match) -> Match:
    """The node over the columns that it reads."""
    expressions = [expression for _, expression in (*node.definitions, *node.measures)]
    read = {index for expression in expressions for index in _matched_fields(expression)}
    order = [key.index for key in node.order]
    inner, places = _pruned(node.input, [*read, *node.partition, *order])

    def change(expression: ResolvedExpression) -> ResolvedExpression:
        if isinstance(expression, FieldReference | PatternFieldReference):
            return replace(expression, index=places[expression.index])
        return expression

    return replace(
        node,
        input=inner,
        partition=tuple(places[index] for index in node.partition),
        order=tuple(replace(key, index=places[key.index]) for key in node.order),
        definitions=tuple(
            (name, rewritten(expression, change)) for name, expression in node.definitions
        ),
        measures=tuple((name, rewritten(expression, change)) for name, expression in node.measures),
    )


def _matched_fields(expression: ResolvedExpression) -> Iterator[int]:
    """Columns of matched rows that an expression reads."""
    if isinstance(expression, FieldReference | PatternFieldReference):
        yield expression.index
    for child in expression.children():
        yield from _matched_fields(child)


def _scan(node: TableScan, columns: list[int]) -> Pruned:
    if len(columns) == len(node.scan_type):
        return node, {index: index for index in columns}
    if node.table.changes != INSERT_ONLY:  # changes are told apart by the key
        names = node.scan_type.names
        columns = sorted({*columns, *(names.index(key) for key in node.table.primary_key)})
    columns = columns or [0]  # rows without columns could not be counted
    fields = tuple(node.scan_type.fields[index] for index in columns)
    kind = RowType(fields, nullable=node.scan_type.is_nullable)
    places = {old: new for new, old in enumerate(columns)}
    # the filter that was pushed is above, too: its columns are among them
    known = node.pushed_filter
    return replace(
        node, scan_type=kind, pushed_filter=None if known is None else moved(known, places)
    ), places


def _project(node: Project, columns: list[int]) -> Pruned:
    columns = columns or [0]
    expressions = [node.expressions[index] for index in columns]
    inner, places = _pruned(
        node.input, [i for expression in expressions for i in fields_of(expression)]
    )
    names = tuple(node.names[index] for index in columns)
    made = Project(inner, tuple(moved(expression, places) for expression in expressions), names)
    return made, {old: new for new, old in enumerate(columns)}


def _join(node: Join, columns: list[int]) -> Pruned:
    width = len(node.left.row_type)
    read = [*columns, *fields_of(node.condition)]
    left, lefts = _narrowed(node.left, {index for index in read if index < width})
    right, rights = _narrowed(node.right, {index - width for index in read if index >= width})
    new_width = len(left.row_type)
    places = lefts | {width + old: new_width + new for old, new in rights.items()}
    condition = moved(node.condition, places)
    kept = {new: old for old, new in places.items()}
    one_side = node.kind in (JoinKind.SEMI, JoinKind.ANTI)
    count = new_width if one_side else new_width + len(right.row_type)
    names = tuple(node.names[kept[index]] for index in range(count))
    made = replace(node, left=left, right=right, condition=condition, names=names)
    return made, {old: new for old, new in places.items() if new < count}


def _narrowed(node: RelNode, needed: set[int]) -> Pruned:
    """One side of a join without columns that only a filter or watermark below reads, since all
    its columns are sent to other subtasks and kept there."""
    rows, places = _pruned(node, needed)
    columns = sorted(needed)
    if not columns or len(rows.row_type) == len(columns):
        return rows, places
    kept = tuple(rows.field(places[index]) for index in columns)
    names = tuple(rows.row_type.names[field.index] for field in kept)
    return Project(rows, kept, names), {old: new for new, old in enumerate(columns)}
