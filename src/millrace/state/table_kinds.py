"""All kinds of state, each defined once.

A new kind needs only a definition here: all other code (backends, table deltas, types, snapshots,
followers, redistribution, display) uses the `TableKind`.
"""

from __future__ import annotations

import copyreg
from dataclasses import replace
from typing import Any

from millrace.common.errors import CheckpointError
from millrace.state.kinds import shown_entries
from millrace.state.kinds.entry_columns import (
    EPOCH,
    KEY,
    MAP_KEY,
    NAME,
    POSITION,
    TIME,
    WINDOW,
    EntryColumns,
)
from millrace.state.kinds.layout import Columnar, Layout
from millrace.state.kinds.state_shape import StateShape
from millrace.state.kinds.table_kind import EntriesOf, TableKind, expiring, per_window
from millrace.state.redistribution_mode import RedistributionMode

__all__ = [
    "BROADCAST",
    "COLUMNS",
    "COLUMN_MAP",
    "EVENT_TIMER_QUEUE",
    "FLAT",
    "LIST",
    "MAP",
    "OPERATOR_VALUES",
    "PANES",
    "PANE_ELEMENTS",
    "PROCESSING_TIMER_QUEUE",
    "ROW_LOG",
    "SESSIONS",
    "SLICE_ELEMENTS",
    "SPLIT_LIST",
    "TABLE_KINDS",
    "TTL_FLAT",
    "TTL_LIST",
    "TTL_MAP",
    "UNION_LIST",
    "WINDOW_ACCUMULATORS",
    "WINDOW_ELEMENTS",
    "WINDOW_FLAT",
    "WINDOW_LIST",
    "WINDOW_MAP",
    "kind_named",
]

# state of keyed functions
FLAT = TableKind("flat", Layout.FLAT, StateShape.VALUE, shown_entries.plain)
LIST = TableKind("list", Layout.LIST, StateShape.LIST, shown_entries.plain)
MAP = TableKind(
    "map", Layout.NESTED, StateShape.MAP, shown_entries.plain, EntryColumns(inner=(MAP_KEY,))
)
TTL_FLAT, TTL_LIST, TTL_MAP = map(expiring, (FLAT, LIST, MAP))

# state of windows, of their functions and of their triggers
WINDOW_FLAT, WINDOW_LIST, WINDOW_MAP = map(per_window, (FLAT, LIST, MAP))
WINDOW_ACCUMULATORS = replace(WINDOW_FLAT, name="window-accumulators", merges=True)
WINDOW_ELEMENTS = replace(WINDOW_LIST, name="window-elements", merges=True)
SESSIONS = TableKind("sessions", Layout.FLAT, StateShape.WINDOW_VALUE, shown_entries.sessions)
PANES = TableKind(
    "panes",
    Layout.NESTED,
    StateShape.WINDOW_VALUE,
    shown_entries.panes,
    EntryColumns((WINDOW,), (KEY,)),
)


def _pane_elements(name: str, entries: EntriesOf) -> TableKind:
    """Kind of pane elements: per pane, below (key, epoch)."""
    columns = EntryColumns((WINDOW,), (KEY, EPOCH))
    return TableKind(name, Layout.NESTED, StateShape.WINDOW_LIST, entries, columns)


PANE_ELEMENTS = _pane_elements("pane-elements", shown_entries.pane_elements)
SLICE_ELEMENTS = _pane_elements("slice-elements", shown_entries.numbered_elements)


def _columnar(
    name: str,
    shape: StateShape,
    table: Columnar,
    entries: EntriesOf,
    inner: tuple[str, ...] = (),
) -> TableKind:
    """Kind of tuples of values per key, or per key and inner key, in Arrow columns."""
    return TableKind(
        name,
        Layout.FLAT,
        shape,
        entries,
        EntryColumns((KEY, *inner)),
        stays_in_memory=True,
        columnar=table,
    )


# state of SQL operators
COLUMNS = _columnar("columns", StateShape.VALUE, Columnar.SLOTS, shown_entries.plain)
COLUMN_MAP = _columnar(
    "column-map", StateShape.MAP, Columnar.SLOTS, shown_entries.inner_maps, (MAP_KEY,)
)
ROW_LOG = _columnar(
    "row-log", StateShape.LIST, Columnar.ROWS, shown_entries.logged_rows, (POSITION,)
)


def _timers(shape: StateShape) -> TableKind:
    """Kind of timers: per time, below (key, namespace)."""
    return TableKind(
        shape.value,
        Layout.NESTED,
        shape,
        shown_entries.timers,
        EntryColumns((TIME,), (KEY, WINDOW)),
        stays_in_memory=True,
    )


EVENT_TIMER_QUEUE = _timers(StateShape.EVENT_TIMERS)
PROCESSING_TIMER_QUEUE = _timers(StateShape.PROCESSING_TIMERS)


def _of_operator(
    name: str,
    shape: StateShape,
    redistribution: RedistributionMode,
    key: str,
    entries: EntriesOf = shown_entries.plain,
) -> TableKind:
    """Kind of state that belongs to an operator rather than to keys."""
    return TableKind(
        name,
        Layout.FLAT,
        shape,
        entries,
        EntryColumns((key,)),
        redistribution,
        stays_in_memory=True,
    )


BROADCAST = _of_operator("broadcast", StateShape.BROADCAST, RedistributionMode.BROADCAST, MAP_KEY)
SPLIT_LIST = _of_operator(
    "split-list", StateShape.OPERATOR_LIST, RedistributionMode.SPLIT, POSITION
)
UNION_LIST = _of_operator("union-list", StateShape.UNION_LIST, RedistributionMode.UNION, POSITION)
OPERATOR_VALUES = _of_operator(
    "operator-values",
    StateShape.OPERATOR,
    RedistributionMode.MERGE,
    NAME,
    shown_entries.own_values,
)

TABLE_KINDS: dict[str, TableKind] = {
    kind.name: kind
    for kind in (
        FLAT, LIST, MAP, TTL_FLAT, TTL_LIST, TTL_MAP,
        WINDOW_FLAT, WINDOW_LIST, WINDOW_MAP, WINDOW_ACCUMULATORS, WINDOW_ELEMENTS,
        SESSIONS, PANES, PANE_ELEMENTS, SLICE_ELEMENTS,
        EVENT_TIMER_QUEUE, PROCESSING_TIMER_QUEUE,
        COLUMNS, COLUMN_MAP, ROW_LOG,
        BROADCAST, SPLIT_LIST, UNION_LIST, OPERATOR_VALUES,
    )
}  # fmt: skip
"""All kinds, by their names in files."""


def kind_named(name: str) -> TableKind:
    """The kind of state that files call ``name``.

    Raises:
        CheckpointError: there is no kind of that name.
    """
    kind = TABLE_KINDS.get(name)
    if kind is None:
        raise CheckpointError(f"the checkpoint has state of an unknown kind '{name}'")
    return kind


def _reduced(kind: TableKind) -> tuple[Any, ...]:
    return kind_named, (kind.name,)


copyreg.pickle(TableKind, _reduced)
"""A kind is pickled by its name."""
