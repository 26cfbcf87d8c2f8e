"""Conversion between the entries of a table and rows. Rows are given as one list of values per
column."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from millrace.state.kinds.entry_columns import (
    KEY,
    LAST_USED,
    MAP_KEY,
    POSITION,
    TIME,
    VALUE,
    WINDOW,
)
from millrace.state.kinds.layout import Layout
from millrace.state.kinds.table_kind import TableKind
from millrace.state.serialization.schema import ANY, Schema
from millrace.state.serialization.table_form import TableSchema
from millrace.state.table import TableDelta

__all__ = ["Columns", "declared_columns", "rows_of", "table_delta_of"]

Columns = dict[str, Any]
"""Columns by name: a list, or the Arrow array of the column."""
_LONG: Schema = "BIGINT"
_WINDOW: Schema = "STRUCTURED<'window', start BIGINT, end BIGINT>"


def declared_columns(kind: TableKind, schema: TableSchema) -> dict[str, Schema]:
    """Columns of a kind in their order, with their types, or `ANY` for an unknown type."""
    _, key, inner, value = schema or (1, ANY, ANY, ANY)
    known: dict[str, Schema] = {
        KEY: key, MAP_KEY: inner, VALUE: value,
        POSITION: _LONG, LAST_USED: _LONG, WINDOW: _WINDOW, TIME: _LONG,
    }  # fmt: skip
    parts = kind.columns
    position = (POSITION,) if kind.layout is Layout.LIST else ()
    names = (*parts.outer, *parts.inner, *position, *parts.value)
    return {name: known.get(name, ANY) for name in names}


def rows_of(kind: TableKind, table_delta: TableDelta) -> Columns:
    """Columns of a table delta that holds a complete copy of a table."""
    put, parts = table_delta["put"], kind.columns
    if kind.layout is Layout.FLAT:
        return _named((parts.outer, list(put)), (parts.value, list(put.values())))
    sizes = map(len, put.values())
    outers = list(chain.from_iterable([key] * n for key, n in zip(put, sizes, strict=True)))
    if kind.layout is Layout.LIST:
        places = [place for values in put.values() for place in range(len(values))]
        values = list(chain.from_iterable(put.values()))
        return _named((parts.outer, outers), ((POSITION,), places), (parts.value, values))
    inners = list(chain.from_iterable(put.values()))
    values = list(chain.from_iterable(entries.values() for entries in put.values()))
    return _named((parts.outer, outers), (parts.inner, inners), (parts.value, values))


def _named(*parts: tuple[tuple[str, ...], list[Any]]) -> Columns:
    columns: Columns = {}
    for names, values in parts:
        if len(names) == 1:
            columns[names[0]] = values
        else:
            split = list(map(list, zip(*values, strict=True))) or [[] for _ in names]
            columns.update(zip(names, split, strict=True))
    return columns


def table_delta_of(kind: TableKind, columns: Columns) -> TableDelta:
    """Table delta that adds the rows in ``columns``; the rows of a list are in order."""
    parts = kind.columns
    outers, values = _joined(columns, parts.outer), _joined(columns, parts.value)
    if kind.layout is Layout.FLAT:
        return {"put": dict(zip(outers, values, strict=True)), "del": []}
    if kind.layout is Layout.LIST:
        lists: dict[Any, list[Any]] = {}
        for key, value in zip(outers, values, strict=True):
            lists.setdefault(key, []).append(value)
        return {"put": {}, "add": lists, "del": []}
    entries: dict[Any, dict[Any, Any]] = {}
    inners = _joined(columns, parts.inner)
    for outer, inner, value in zip(outers, inners, values, strict=True):
        entries.setdefault(outer, {})[inner] = value
    return {"drop": [], "put": entries, "del": {}}


def _joined(columns: Columns, names: Sequence[str]) -> list[Any]:
    if len(names) == 1:
        values: list[Any] = columns[names[0]]
        return values
    return list(zip(*(columns[name] for name in names), strict=True))
