"""The kinds of tables: how their entries are laid out, and which key an entry belongs to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from millrace.state.flat_table import FlatTable
from millrace.state.list_table import ListTable
from millrace.state.nested_table import NestedTable
from millrace.state.operator_table import OperatorTable
from millrace.state.redistribution_mode import RedistributionMode
from millrace.state.table import MemoryTable


class Layout(Enum):
    """How the entries of a table are laid out."""

    FLAT = "flat"
    """One value per key."""
    LIST = "list"
    """A list per key."""
    NESTED = "nested"
    """A dict per outer key."""
    OPERATOR = "operator"
    """One value per key, which is no key of the stream."""


@dataclass(frozen=True, slots=True)
class TableKind:
    """A kind of table."""

    layout: Layout
    key_of: Callable[..., Any] = lambda key: key
    """The key of the stream that an entry belongs to, given its key (nested: outer and inner)."""

    redistribution: RedistributionMode = RedistributionMode.KEY_GROUP
    """How it is redistributed when the parallelism changes."""
    disjoint: bool = True
    """Whether no key of the table is in two subtasks (nested: no outer key)."""

    def in_memory(self) -> MemoryTable:
        """An empty table of this kind."""
        if self.layout is Layout.FLAT:
            return FlatTable(self.key_of)
        if self.layout is Layout.LIST:
            return ListTable(self.key_of)
        if self.layout is Layout.NESTED:
            return NestedTable(self.key_of)
        return OperatorTable()


def _last(key: Any) -> Any:
    """The key of an entry of per-window state, whose own key is (window, key)."""
    return key[-1]


def _outer(outer: Any, inner: Any) -> Any:
    return outer


def _operator(redistribution: RedistributionMode) -> TableKind:
    return TableKind(Layout.OPERATOR, redistribution=redistribution, disjoint=False)


TABLE_KINDS: dict[str, TableKind] = {
    "flat": TableKind(Layout.FLAT),
    "list": TableKind(Layout.LIST),
    "map": TableKind(Layout.NESTED, _outer),
    "panes": TableKind(Layout.NESTED, lambda outer, inner: inner, disjoint=False),
    "timers": TableKind(Layout.NESTED, lambda outer, inner: inner[0], disjoint=False),
    "ttl-flat": TableKind(Layout.FLAT),
    "ttl-list": TableKind(Layout.LIST),
    "ttl-map": TableKind(Layout.NESTED, _outer),
    "broadcast": _operator(RedistributionMode.BROADCAST),
    "split-list": _operator(RedistributionMode.SPLIT),
    "union-list": _operator(RedistributionMode.UNION),
    "window-flat": TableKind(Layout.FLAT, _last),
    "window-list": TableKind(Layout.LIST, _last),
    "window-map": TableKind(Layout.NESTED, lambda outer, inner: outer[-1]),
}
