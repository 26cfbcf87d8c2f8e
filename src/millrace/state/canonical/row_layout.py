"""How entries of each kind of table become rows: which columns there are, and back again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from millrace.common.types.type_information import Schema
from millrace.state.kinds.layout import Layout
from millrace.state.serialization.schema import ANY
from millrace.state.serialization.table_form import TableSchema
from millrace.state.table import TableDelta
from millrace.state.table_kinds import TABLE_KINDS

__all__ = ["KEY", "KEY_GROUP", "RowLayout", "layout_of"]

KEY = "key"
KEY_GROUP = "key_group"
LAST_USED = "last_used"
MAP_KEY = "map_key"
NAME = "name"
POSITION = "position"
VALUE = "value"
WINDOW = "window"

Columns = dict[str, list[Any]]
_WINDOW: Schema = ("NAMED_TUPLE", "window", ("start", "end"), ("LONG", "LONG"))


@dataclass(frozen=True, slots=True)
class RowLayout:
    """The columns of a table. Parts of one name are one value, others are tuples of several."""

    layout: Layout
    outer: tuple[str, ...]
    inner: tuple[str, ...] = ()
    """Of nested tables: the key within the outer one."""
    value: tuple[str, ...] = (VALUE,)

    @property
    def columns(self) -> tuple[str, ...]:
        """All of them, in order."""
        position = (POSITION,) if self.layout is Layout.LIST else ()
        return self.outer + self.inner + position + self.value

    @property
    def keyed(self) -> bool:
        """Whether rows belong to keys of the stream."""
        return KEY in self.columns

    def declared(self, schema: TableSchema) -> dict[str, Schema]:
        """The types that are known of columns; `ANY` where none is declared."""
        _, key, inner, value = schema or (1, ANY, ANY, ANY)
        known: dict[str, Schema] = {
            KEY: key, MAP_KEY: inner, VALUE: value,
            POSITION: "LONG", LAST_USED: "LONG", WINDOW: _WINDOW, "time": "LONG",
        }  # fmt: skip
        return {name: known.get(name, ANY) for name in self.columns}

    def rows(self, table_delta: TableDelta) -> Columns:
        """The columns of a copy of a table."""
        put = table_delta["put"]
        if self.layout is Layout.FLAT:
            return self._named((self.outer, list(put)), (self.value, list(put.values())))
        sizes = map(len, put.values())
        outers = list(chain.from_iterable([key] * n for key, n in zip(put, sizes, strict=True)))
        if self.layout is Layout.LIST:
            places = [place for values in put.values() for place in range(len(values))]
            values = list(chain.from_iterable(put.values()))
            return self._named((self.outer, outers), ((POSITION,), places), (self.value, values))
        inners = list(chain.from_iterable(put.values()))
        values = list(chain.from_iterable(entries.values() for entries in put.values()))
        return self._named((self.outer, outers), (self.inner, inners), (self.value, values))

    def _named(self, *parts: tuple[tuple[str, ...], list[Any]]) -> Columns:
        found: Columns = {}
        for names, values in parts:
            if len(names) == 1:
                found[names[0]] = values
            else:
                split = list(map(list, zip(*values, strict=True))) or [[] for _ in names]
                found.update(zip(names, split, strict=True))
        return found

    def table_delta(self, columns: Columns) -> TableDelta:
        """The table delta that adds some rows; those of a list come in order."""
        outers, values = _joined(columns, self.outer), _joined(columns, self.value)
        if self.layout is Layout.FLAT:
            return {"put": dict(zip(outers, values, strict=True)), "del": []}
        if self.layout is Layout.LIST:
            lists: dict[Any, list[Any]] = {}
            for key, value in zip(outers, values, strict=True):
                lists.setdefault(key, []).append(value)
            return {"put": {}, "add": lists, "del": []}
        entries: dict[Any, dict[Any, Any]] = {}
        inners = _joined(columns, self.inner)
        for outer, inner, value in zip(outers, inners, values, strict=True):
            entries.setdefault(outer, {})[inner] = value
        return {"drop": [], "put": entries, "del": {}}


def _joined(columns: Columns, names: Sequence[str]) -> list[Any]:
    if len(names) == 1:
        return columns[names[0]]
    return list(zip(*(columns[name] for name in names), strict=True))


_FLAT, _LIST, _NESTED = Layout.FLAT, Layout.LIST, Layout.NESTED
_STAMPED = (VALUE, LAST_USED)
_WINDOW_FLAT = RowLayout(_FLAT, (WINDOW, KEY))
_WINDOW_LIST = RowLayout(_LIST, (WINDOW, KEY))
_ELEMENTS_OF_PANES = RowLayout(_NESTED, (WINDOW,), (KEY, "epoch"))
_TIMERS = RowLayout(_NESTED, ("time",), (KEY, WINDOW))
_LAYOUTS: dict[str, RowLayout] = {
    "flat": RowLayout(_FLAT, (KEY,)),
    "list": RowLayout(_LIST, (KEY,)),
    "map": RowLayout(_NESTED, (KEY,), (MAP_KEY,)),
    "ttl-flat": RowLayout(_FLAT, (KEY,), (), _STAMPED),
    "ttl-list": RowLayout(_LIST, (KEY,), (), _STAMPED),
    "ttl-map": RowLayout(_NESTED, (KEY,), (MAP_KEY,), _STAMPED),
    "window-flat": _WINDOW_FLAT,
    "window-list": _WINDOW_LIST,
    "window-map": RowLayout(_NESTED, (WINDOW, KEY), (MAP_KEY,)),
    "window-accumulators": _WINDOW_FLAT,
    "window-elements": _WINDOW_LIST,
    "sessions": RowLayout(_FLAT, (KEY,)),
    "panes": RowLayout(_NESTED, (WINDOW,), (KEY,)),
    "pane-elements": _ELEMENTS_OF_PANES,
    "slice-elements": _ELEMENTS_OF_PANES,
    "event-timers": _TIMERS,
    "processing-timers": _TIMERS,
    "broadcast": RowLayout(_FLAT, (MAP_KEY,)),
    "split-list": RowLayout(_FLAT, (POSITION,)),
    "union-list": RowLayout(_FLAT, (POSITION,)),
    "operator-values": RowLayout(_FLAT, (NAME,)),
}


def layout_of(kind: str) -> RowLayout:
    """The layout of tables of a kind.

    Raises:
        ValueError: there is none of that name.
    """
    layout = _LAYOUTS.get(kind)
    if layout is None or layout.layout is not TABLE_KINDS[kind].layout:
        raise ValueError(f"there are no states of a kind {kind!r:.40}")
    return layout
