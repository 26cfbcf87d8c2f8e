"""`leaves_lost_rows`: whether rows that a lost epoch has written could stay in a sink's table.

The sink writes by key and at least once. The epoch that follows reads the same rows, in another
order, together with more of them, and in other batches. The table is right again if it writes each
key that the lost one has written. So a key must depend on source rows alone, and not on what else
was there when they came: the result of an aggregation may be a number that is never seen again.
Neither may it depend on the order in which they came, nor on a function that is not deterministic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from millrace.common.types.logical.logical_type import LogicalType
from millrace.common.types.row import INSERT_ONLY
from millrace.expressions.evaluation import is_deterministic
from millrace.expressions.parameters import APPROXIMATE
from millrace.expressions.resolved import AggregateCall, ResolvedExpression, fields_of
from millrace.planner.catalog_reader import ColumnKind, ResolvedTable
from millrace.planner.inference.changelog_mode import ChangelogModes, RowChanges
from millrace.planner.inference.time_attributes import (
    joins_by_time,
    ordered_by_time,
    time_attributes,
)
from millrace.planner.inference.upsert_keys import upsert_keys
from millrace.planner.relational.changelog import FromChangelog
from millrace.planner.relational.model_predict import ModelPredict
from millrace.planner.relational.rel_node import (
    Aggregate,
    Filter,
    Join,
    JoinKind,
    Project,
    RelNode,
    SetKind,
    SetOperation,
    Sort,
    TableFunctionScan,
    TableScan,
    Values,
)
from millrace.planner.relational.sink_nodes import LogicalSink
from millrace.planner.relational.stream_rel_nodes import (
    ChangelogNormalize,
    CountWindowAggregate,
    Deduplicate,
    LogicalSnapshot,
    Match,
    OverAggregate,
    Rank,
    RankKind,
    TimeAttribute,
    UpsertMaterialize,
    WatermarkAssigner,
    WindowAggregate,
    WindowKind,
    WindowTableFunction,
)

__all__ = ["leaves_lost_rows"]

Fixed = frozenset[int]
"""Positions of columns that depend on source rows alone."""
_COUNTS = frozenset(
    {"COUNT", "APPROX_COUNT_DISTINCT"}
    | {f"BITMAP_{name}" for name in ("BUILD_AGG", "BUILD_CARDINALITY_AGG")}
    | {f"BITMAP_{name}_{what}AGG" for name in ("AND", "OR", "XOR") for what in ("", "CARDINALITY_")}
)
_EXACT = frozenset({"SUM", "SUM0", "AVG", "MIN", "MAX", "SINGLE_VALUE", "PERCENTILE"})
"""Aggregates that do not depend on the order of their rows: of any values, and of values that have
no rounding. A sum of floating-point numbers depends on it, as do the first and the last value,
texts and arrays of values, and functions of users."""


def leaves_lost_rows(sink: LogicalSink, modes: ChangelogModes) -> bool:
    """Whether rows of a lost epoch could stay in the table of a sink that writes by key."""
    fixed = _Returns(modes).of(sink.input)
    return fixed is None or not fixed.issuperset(sink.table.sink_key)


@dataclass(frozen=True)
class _Returns:
    """Finds the nodes that repeat their changes after a failure. Such a node, for each change of a
    lost epoch, emits a change with the same values in its fixed columns when the epoch is repeated.
    """

    modes: ChangelogModes
    known: dict[RelNode, Fixed | None] = field(default_factory=dict)
    """Results for nodes, as queries may read a node several times."""

    def of(self, node: RelNode) -> Fixed | None:
        """The fixed columns of a node's changes. None if some changes may not come again."""
        if node not in self.known:
            self.known[node] = self._derived(node)
        return self.known[node]

    def _derived(self, node: RelNode) -> Fixed | None:
        inputs = [self.of(child) for child in node.inputs]
        if isinstance(node, Join):
            return self._of_join(node, *inputs)
        known = [fixed for fixed in inputs if fixed is not None]
        if len(known) < len(inputs):
            return None
        if isinstance(node, SetOperation):
            return self._of_set_operation(node, known)
        if not known:
            return _of_leaf(node)
        rule = _RULES.get(type(node))
        return None if rule is None else rule(node, known[0], self.modes)

    def _of_join(self, node: Join, left: Fixed | None, right: Fixed | None) -> Fixed | None:
        if left is None:
            return None
        width = len(node.left.row_type)
        if node.lateral:
            # a function that reads source rows alone returns the same, a look-up need not
            same = len(left) == width and _is_repeated(node.right, node.condition)
            return left if same or node.kind is JoinKind.LEFT else None
        both = left | {width + index for index in right or ()}
        if right is None or not _reads(both, [node.condition]):
            return None
        if joins_by_time(node):
            # EXISTS has the columns of its left side alone
            known = both & frozenset(range(len(node.row_type)))
            return known if all(map(self.modes.insert_only, node.inputs)) else None
        if node.kind is JoinKind.SEMI:
            # without its partner for a moment, a row goes and does not come again
            return left if all(map(self.modes.insert_only, node.inputs)) else None
        if any(map(self._loses_rows, node.inputs)):
            return None  # a row may be gone when its partner comes
        stays = self._stays(node.left) | {width + index for index in self._stays(node.right)}
        if not stays.issuperset(fields_of(node.condition)):
            return None  # a row may have another key when its partner comes
        # the side that may be missing is NULL until it comes
        kinds = {JoinKind.INNER: both, JoinKind.LEFT: left, JoinKind.RIGHT: both - left}
        fixed = kinds.get(node.kind)
        return None if fixed is None else fixed & stays

    def _loses_rows(self, node: RelNode) -> bool:
        """Whether rows may go: they are deleted, or a filter leaves them out after an update."""
        if self.modes.insert_only(node):
            return False
        if RowChanges.DELETE in self.modes.changes(node):
            return True
        if isinstance(node, Filter):
            stays = self._stays(node.input)
            if not is_deterministic(node.condition) or not stays >= set(fields_of(node.condition)):
                return True
        return any(map(self._loses_rows, node.inputs))

    def _stays(self, node: RelNode) -> Fixed:
        """The columns that an update of a row does not change."""
        if self.modes.insert_only(node):
            return frozenset(range(len(node.row_type)))
        keys = upsert_keys(node.input if isinstance(node, LogicalSnapshot) else node)
        return frozenset.intersection(*keys) if keys else frozenset()

    def _of_set_operation(self, node: SetOperation, inputs: list[Fixed]) -> Fixed | None:
        fixed = frozenset.intersection(*inputs)
        if node.kind is SetKind.UNION and node.all:
            return fixed
        only_grows = all(map(self.modes.insert_only, node.inputs))
        whole = len(fixed) == len(node.row_type)
        return fixed if only_grows and whole and node.kind is not SetKind.EXCEPT else None


def _of_leaf(node: RelNode) -> Fixed | None:
    if isinstance(node, TableScan):
        return _of_scan(node)
    if isinstance(node, Values) or _is_repeated(node):
        return frozenset(range(len(node.row_type)))
    return None


def _of_scan(node: TableScan) -> Fixed | None:
    table: ResolvedTable = node.table
    if not table.repeats or node.limit is not None:
        return None
    fixed = frozenset(range(len(node.row_type)))
    if table.changes == INSERT_ONLY:
        return fixed
    # metadata, such as the time of a change, is not that of the row that it takes back
    metadata = {column.name for column in table.columns if column.kind is ColumnKind.METADATA}
    return fixed - {i for i, name in enumerate(node.row_type.names) if name in metadata}


def _is_repeated(node: RelNode, *conditions: ResolvedExpression) -> bool:
    """Whether a node is a table function that returns the same rows for the same arguments, of
    which the same ones fulfil the conditions."""
    return isinstance(node, TableFunctionScan) and all(
        map(is_deterministic, (*node.arguments, *conditions))
    )


def _reads(fixed: Fixed, expressions: Iterable[ResolvedExpression]) -> bool:
    """Whether expressions depend on fixed columns alone."""
    return all(
        is_deterministic(expression) and fixed.issuperset(fields_of(expression))
        for expression in expressions
    )


def _of_same_rows(node: RelNode, fixed: Fixed, modes: ChangelogModes) -> Fixed:
    return fixed


def _of_project(node: Project, fixed: Fixed, modes: ChangelogModes) -> Fixed:
    return frozenset(
        index for index, expression in enumerate(node.expressions) if _reads(fixed, [expression])
    )


def _of_filter(node: Filter, fixed: Fixed, modes: ChangelogModes) -> Fixed | None:
    return fixed if _reads(fixed, [node.condition]) else None


def _of_last_rows(
    node: ChangelogNormalize | UpsertMaterialize, fixed: Fixed, modes: ChangelogModes
) -> Fixed | None:
    return frozenset(node.keys) if fixed.issuperset(node.keys) else None


def _of_aggregate(node: Aggregate, fixed: Fixed, modes: ChangelogModes) -> Fixed | None:
    # without aggregates a group that is gone for a moment does not come again
    lasts = node.calls or modes.insert_only(node.input)
    if not lasts or not fixed.issuperset(node.groups):
        return None
    return frozenset(range(len(node.groups)))


def _of_windows(node: WindowTableFunction, fixed: Fixed, modes: ChangelogModes) -> Fixed:
    width = len(node.input.row_type)
    moves = node.window.kind is WindowKind.SESSION or node.window.processing
    return fixed if moves or node.time not in fixed else fixed | {width, width + 1, width + 2}


def _of_window_aggregate(
    node: WindowAggregate, fixed: Fixed, modes: ChangelogModes
) -> Fixed | None:
    times = node.attached if node.time is None else (node.time,)
    whole = fixed.issuperset((*node.groups, *(times or ())))
    final = modes.insert_only(node.input) and not node.window.processing
    if not whole or not final:
        return None
    # a window is emitted once, when its rows are complete
    calls = enumerate(node.calls, len(node.groups))
    kinds = [column.type for column in node.input.row_type.fields]
    changing = {index for index, call in calls if not _is_fixed(call, fixed, kinds)}
    return frozenset(range(len(node.row_type))) - changing


def _is_fixed(call: AggregateCall, fixed: Fixed, kinds: Sequence[LogicalType]) -> bool:
    """Whether an aggregate of complete rows depends on fixed columns alone, and not on their
    order.

    Args:
        kinds: types of the columns.
    """
    read = call.arguments if call.filter is None else (*call.arguments, call.filter)
    if not call.function.built_in or not fixed.issuperset(read):
        return False
    is_exact = not any(isinstance(kinds[index], APPROXIMATE) for index in call.arguments)
    return call.function.name in _COUNTS or (call.function.name in _EXACT and is_exact)


def _of_count_windows(
    node: CountWindowAggregate, fixed: Fixed, modes: ChangelogModes
) -> Fixed | None:
    return frozenset(range(len(node.groups))) if fixed.issuperset(node.groups) else None


def _of_over(node: OverAggregate, fixed: Fixed, modes: ChangelogModes) -> Fixed | None:
    return fixed if ordered_by_time(node) and modes.insert_only(node.input) else None


def _of_rank(node: Rank, fixed: Fixed, modes: ChangelogModes) -> Fixed | None:
    whole = len(fixed) == len(node.input.row_type)
    if node.window is None or not whole or not modes.insert_only(node.input):
        return None
    columns = frozenset(range(len(node.row_type)))
    ordered = frozenset((*node.partition, *(key.index for key in node.order)))
    if _is_unique(node.input, ordered) or node.rank_kind is not RankKind.ROW_NUMBER:
        return columns
    # of rows that are equal in the order, any may come first
    return ordered | columns.difference(range(len(node.input.row_type)))


def _of_deduplicate(node: Deduplicate, fixed: Fixed, modes: ChangelogModes) -> Fixed | None:
    # of rows that are only added, the first only becomes earlier and the last only later
    grows = modes.insert_only(node.input) and fixed.issuperset(node.keys)
    return frozenset(node.keys) if grows else None


def _of_sort(node: Sort, fixed: Fixed, modes: ChangelogModes) -> Fixed | None:
    return fixed if node.fetch is None and not node.offset else None


def _of_match(node: Match, fixed: Fixed, modes: ChangelogModes) -> Fixed | None:
    whole = len(fixed) == len(node.input.row_type) and modes.insert_only(node.input)
    if not whole or not all(is_deterministic(condition) for _, condition in node.definitions):
        return None
    time = time_attributes(node.input).get(node.order[0].index)
    ordered = frozenset((*node.partition, *(key.index for key in node.order)))
    # rows that are equal in the order are matched as they come
    if time is not TimeAttribute.ROWTIME or not _is_unique(node.input, ordered):
        return None
    measures = enumerate((measure for _, measure in node.measures), len(node.partition))
    changing = {index for index, measure in measures if not is_deterministic(measure)}
    return frozenset(range(len(node.row_type))) - changing


def _is_unique(node: RelNode, columns: Fixed) -> bool:
    """Whether no two rows have the same values in these columns."""
    return any(key <= columns for key in upsert_keys(node))


def _of_changes(node: FromChangelog, fixed: Fixed, modes: ChangelogModes) -> Fixed | None:
    if node.op not in fixed:
        return None
    return frozenset(index for index, column in enumerate(node.order) if column in fixed)


_RULES: dict[type[RelNode], Callable[..., Fixed | None]] = {
    Aggregate: _of_aggregate,
    ChangelogNormalize: _of_last_rows,
    CountWindowAggregate: _of_count_windows,
    Deduplicate: _of_deduplicate,
    Filter: _of_filter,
    FromChangelog: _of_changes,
    LogicalSnapshot: _of_same_rows,
    Match: _of_match,
    ModelPredict: _of_same_rows,
    OverAggregate: _of_over,
    Project: _of_project,
    Rank: _of_rank,
    Sort: _of_sort,
    UpsertMaterialize: _of_last_rows,
    WatermarkAssigner: _of_same_rows,
    WindowAggregate: _of_window_aggregate,
    WindowTableFunction: _of_windows,
}
"""Rules of nodes with one input. Nodes without a rule may emit changes that do not come again."""
