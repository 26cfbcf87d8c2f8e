"""Turns an aggregate grouped by window_start and window_end into one that emits each window once,
when it is complete.

Flink: ``StreamPhysicalWindowAggregateRule`` and
``PullUpWindowTableFunctionIntoWindowAggregateRule``.
"""

from __future__ import annotations

from dataclasses import replace

from millrace.common.types.logical.logical_type import LogicalType, RowField
from millrace.expressions import built_in
from millrace.expressions.resolved import (
    AggregateCall,
    Cast,
    FieldReference,
    ResolvedExpression,
    ValueLiteral,
)
from millrace.planner.binder.names import unique_names
from millrace.planner.relational.rel_node import (
    Aggregate,
    Project,
    RelNode,
    SetKind,
    SetOperation,
)
from millrace.planner.relational.rewriting import bottom_up
from millrace.planner.relational.stream_rel_nodes import (
    WindowAggregate,
    WindowKind,
    WindowTableFunction,
)
from millrace.planner.relational.windows import WindowColumns, windows_of
from millrace.table_runtime.group_accumulators import GroupAccumulators

__all__ = ["with_window_aggregates"]


def with_window_aggregates(rows: RelNode) -> RelNode:
    """The tree with window aggregates in place of aggregates over windows."""
    return bottom_up(rows, _changed)


def _changed(node: RelNode) -> RelNode:
    if not isinstance(node, Aggregate):
        return node
    columns = windows_of(node.input)
    if columns is None:
        return node
    sets = (node.groups,) if node.grouping_sets is None else node.grouping_sets
    if not all(set(grouping) & columns.start and set(grouping) & columns.end for grouping in sets):
        return node  # a group aggregate over rows that have windows: never complete
    if node.grouping_sets is None:
        return _aggregate(node, columns)
    parts = tuple(_of_set(node, grouping, columns) for grouping in sets)
    return SetOperation(SetKind.UNION, True, parts, node.row_type)


def _of_set(node: Aggregate, members: tuple[int, ...], columns: WindowColumns) -> RelNode:
    """The window aggregate of one grouping set, with NULL in the columns that the set lacks."""
    kept = tuple(index for index in node.groups if index in members)
    calls = tuple(call for call in node.calls if not _is_flag(call))
    made = _aggregate(Aggregate(node.input, kept, calls, place=node.place), columns)
    results = iter(range(len(kept), len(kept) + len(calls)))
    kinds = [field.type for field in node.row_type.fields]
    outputs: list[ResolvedExpression] = []
    for index, kind in zip(node.groups, kinds, strict=False):
        known = index in members
        outputs.append(
            _as(made.field(kept.index(index)), kind) if known else ValueLiteral(None, kind)
        )
    for call in node.calls:
        flags = "".join(str(int(index not in members)) for index in call.arguments)
        is_flag = _is_flag(call)
        outputs.append(
            ValueLiteral(int(flags, 2), call.type) if is_flag else made.field(next(results))
        )
    return Project(made, tuple(outputs), node.row_type.names)


def _is_flag(call: AggregateCall) -> bool:
    return call.function is built_in.GROUPING


def _as(field: ResolvedExpression, kind: LogicalType) -> ResolvedExpression:
    return field if field.output_type == kind else Cast(field, kind)


def _aggregate(node: Aggregate, columns: WindowColumns) -> RelNode:
    keys = [index for index in node.groups if index not in columns.all]
    fused = _fused(node, columns, keys)
    if fused is None and columns.window.kind is WindowKind.SESSION:
        # sessions may end at the same time that began at different ones
        keys = [
            index for index in node.groups if index in columns.start or index not in columns.all
        ]
    kinds = {
        index: "start" if index in columns.start else "end" if index in columns.end else "time"
        for index in node.groups
        if index in columns.all and index not in keys
    }
    made = _attached(node, columns, keys) if fused is None else fused
    names = [made.input.row_type.names[index] for index in made.groups]
    calls = [call.name for call in made.calls]
    titles = {"start": "window_start", "end": "window_end", "time": "window_time"}
    named = unique_names((*names, *calls, *(titles[kind] for kind in kinds.values())))
    first = len(names) + len(calls)
    properties = tuple(
        RowField(name, node.input.row_type.fields[index].type)
        for name, index in zip(named[first:], kinds, strict=True)
    )
    made = replace(made, properties=properties, property_kinds=tuple(kinds.values()))
    places = {index: place for place, index in enumerate(keys)}
    places |= {index: first + place for place, index in enumerate(kinds)}
    order = [places[index] for index in node.groups]
    order += range(len(keys), len(keys) + len(calls))
    fields = tuple(made.field(index) for index in order)
    return Project(made, fields, node.row_type.names)


def _moved_call(call: AggregateCall, positions: dict[int, int]) -> AggregateCall:
    return replace(
        call,
        arguments=tuple(positions[index] for index in call.arguments),
        filter=None if call.filter is None else positions[call.filter],
    )


def _fused(node: Aggregate, columns: WindowColumns, keys: list[int]) -> WindowAggregate | None:
    """The window function and the aggregate as one node; None if a node between them reads the
    window."""
    project = node.input
    if not isinstance(project, Project) or not isinstance(project.input, WindowTableFunction):
        return None
    function = project.input
    width = len(function.input.row_type)
    kept = [place for place in range(len(project.expressions)) if place not in columns.all]
    expressions = [project.expressions[place] for place in kept]
    if any(index >= width for expression in expressions for index in _fields(expression)):
        return None
    read = {index for call in node.calls for index in _read(call)}
    if read & columns.all:
        return None
    names: list[str] = [project.names[place] for place in kept]

    def position(index: int) -> int:
        field: ResolvedExpression = function.input.field(index)
        for place, expression in enumerate(expressions):
            if isinstance(expression, FieldReference) and expression.index == index:
                return place
        expressions.append(field)
        names.append(function.input.row_type.names[index])
        return len(expressions) - 1

    time = position(function.time)
    window = replace(function.window, partition=tuple(map(position, function.window.partition)))
    positions = {old: new for new, old in enumerate(kept)}
    if window.kind is WindowKind.SESSION and (
        {positions[key] for key in keys} != set(window.partition) or not _mergeable(node)
    ):
        return None
    below = Project(function.input, tuple(expressions), unique_names(names))
    return WindowAggregate(
        below,
        tuple(positions[key] for key in keys),
        tuple(_moved_call(call, positions) for call in node.calls),
        window,
        time,
        None,
        place=function.place,
    )


def _mergeable(node: Aggregate) -> bool:
    """Whether the accumulators of two sessions can be merged."""
    return not GroupAccumulators(node.calls, node.input.row_type, False).unmergeable


def _read(call: AggregateCall) -> list[int]:
    filters = [] if call.filter is None else [call.filter]
    return [*call.arguments, *filters]


def _fields(expression: ResolvedExpression) -> list[int]:
    if isinstance(expression, FieldReference):
        return [expression.index]
    return [index for child in expression.children() for index in _fields(child)]


def _attached(node: Aggregate, columns: WindowColumns, keys: list[int]) -> WindowAggregate:
    """A cascaded window aggregate: its input's rows already have windows. Without window_time,
    window_end is used."""
    groups = set(node.groups)
    start, end = min(columns.start & groups), min(columns.end & groups)
    time = min(columns.time, default=end)
    return WindowAggregate(
        *(node.input, tuple(keys), node.calls, columns.window, None, (start, end, time)),
        place=node.place,
    )
