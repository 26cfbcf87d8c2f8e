"""`windows_of`: the columns of a node that are the start, end and time of a window."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.expressions.resolved import FieldReference
from millrace.planner.relational.join_conditions import join_condition
from millrace.planner.relational.rel_node import (
    Filter,
    Join,
    JoinKind,
    Project,
    RelNode,
    SetKind,
    SetOperation,
)
from millrace.planner.relational.stream_rel_nodes import (
    Deduplicate,
    OverAggregate,
    Rank,
    WindowAggregate,
    WindowingStrategy,
    WindowTableFunction,
)

__all__ = ["WindowColumns", "WindowJoinColumns", "window_join_columns", "windows_of"]


@dataclass(frozen=True)
class WindowColumns:
    """Positions of the columns with a window's properties; a property may be in one column, in
    several or in none.
    """

    window: WindowingStrategy
    start: frozenset[int]
    end: frozenset[int]
    time: frozenset[int]

    @property
    def all(self) -> frozenset[int]:
        """Positions of the columns of all properties."""
        return self.start | self.end | self.time

    def shifted(self, by: int) -> WindowColumns:
        """The same window columns, with their positions further to the right."""
        start, end, time = (
            frozenset(by + place for place in places)
            for places in (self.start, self.end, self.time)
        )
        return WindowColumns(self.window, start, end, time)


def windows_of(node: RelNode) -> WindowColumns | None:
    """The window columns of a node; None if its rows have no windows.

    Flink: ``RelWindowProperties``.
    """
    if isinstance(node, WindowTableFunction):
        width = len(node.input.row_type)
        places = [frozenset({width + offset}) for offset in range(3)]
        return WindowColumns(node.window, *places)
    if isinstance(node, WindowAggregate):
        first = len(node.groups) + len(node.calls)
        kinds = {
            kind: frozenset(
                first + place
                for place, property_kind in enumerate(node.property_kinds)
                if property_kind == kind
            )
            for kind in ("start", "end", "time")
        }
        return WindowColumns(node.window, kinds["start"], kinds["end"], kinds["time"])
    if isinstance(node, Project):
        return _through(node, windows_of(node.input))
    if isinstance(node, Filter | Rank | Deduplicate | OverAggregate):
        return windows_of(node.input)
    if isinstance(node, SetOperation):
        return _of_union(node)
    if isinstance(node, Join):
        return _of_join(node)
    return None


@dataclass(frozen=True)
class WindowJoinColumns:
    """The windows of both sides of a window join. Positions are those in the row of the side."""

    left: WindowColumns
    right: WindowColumns


def window_join_columns(node: Join) -> WindowJoinColumns | None:
    """The windows of a join whose condition equates both their starts and their ends; None for
    other joins. Flink: ``WindowJoinUtil``."""
    left, right = windows_of(node.left), windows_of(node.right)
    if left is None or right is None or node.lateral:
        return None
    condition = join_condition(node)
    pairs = set(zip(condition.left, condition.right, strict=True))

    def joined(ours: frozenset[int], theirs: frozenset[int]) -> bool:
        return any((one, two) in pairs for one in ours for two in theirs)

    if joined(left.start, right.start) and joined(left.end, right.end):
        return WindowJoinColumns(left, right)
    return None


def _of_union(node: SetOperation) -> WindowColumns | None:
    """Columns that are window columns of all inputs of UNION ALL, if their windows are the same."""
    if node.kind is not SetKind.UNION or not node.all:
        return None
    of_inputs = [windows_of(operand) for operand in node.operands]
    inner = [columns for columns in of_inputs if columns is not None]
    if len(inner) < len(of_inputs) or len({columns.window for columns in inner}) != 1:
        return None
    starts, ends, times = zip(
        *((columns.start, columns.end, columns.time) for columns in inner), strict=True
    )
    return WindowColumns(
        inner[0].window, *(frozenset.intersection(*places) for places in (starts, ends, times))
    )


def _of_join(node: Join) -> WindowColumns | None:
    """Window columns of a join: for a window join those of the sides that are never missing;
    none for a regular join, which emits rows at any time."""
    if node.lateral:
        return windows_of(node.left)
    windows = window_join_columns(node)
    if windows is None or node.kind is JoinKind.FULL:
        return None
    right = windows.right.shifted(len(node.left.row_type))
    if node.kind is JoinKind.RIGHT:
        return right
    if node.kind is not JoinKind.INNER:
        return windows.left
    left = windows.left
    return WindowColumns(
        left.window, left.start | right.start, left.end | right.end, left.time | right.time
    )


def _through(node: Project, inner: WindowColumns | None) -> WindowColumns | None:
    if inner is None:
        return None

    def places(before: frozenset[int]) -> frozenset[int]:
        return frozenset(
            place
            for place, expression in enumerate(node.expressions)
            if isinstance(expression, FieldReference) and expression.index in before
        )

    return WindowColumns(inner.window, places(inner.start), places(inner.end), places(inner.time))
