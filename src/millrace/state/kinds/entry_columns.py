"""Columns for the entries of a kind of state in a canonical savepoint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from millrace.common.types.plain_data import Convert
from millrace.state.kinds.layout import Layout
from millrace.state.serialization.table_delta_map import TableDeltaMap

__all__ = [
    "EPOCH",
    "KEY",
    "LAST_USED",
    "MAP_KEY",
    "NAME",
    "PER_KEY",
    "POSITION",
    "TIME",
    "VALUE",
    "WINDOW",
    "EntryColumns",
    "KeyPlace",
]

EPOCH = "epoch"
KEY = "key"
"""The key of the stream."""
LAST_USED = "last_used"
MAP_KEY = "map_key"
NAME = "name"
POSITION = "position"
TIME = "time"
VALUE = "value"
WINDOW = "window"


@dataclass(frozen=True, slots=True)
class EntryColumns:
    """Columns of a table's entries: outer key, inner key and value.

    A part of one name is one value, a part of several names a tuple of them.

    Example:
        >>> EntryColumns((WINDOW,), (KEY, EPOCH)).key
        KeyPlace(inner=True, index=0)
    """

    outer: tuple[str, ...] = (KEY,)
    """An entry's key."""
    inner: tuple[str, ...] = ()
    """Key within the outer one, for nested tables."""
    value: tuple[str, ...] = (VALUE,)

    @property
    def key(self) -> KeyPlace | None:
        """Place of the stream's key in an entry's key; None if entries belong to no key."""
        for names in (self.outer, self.inner):
            if KEY in names:
                index = names.index(KEY) if len(names) > 1 else None
                return KeyPlace(names is self.inner, index)
        return None

    @property
    def windowed(self) -> bool:
        """Whether entries have keys of (window, key)."""
        return self.outer == (WINDOW, KEY)

    def stamped(self) -> EntryColumns:
        """These columns with the time of last use after the value."""
        return replace(self, value=(*self.value, LAST_USED))

    def per_window(self) -> EntryColumns:
        """These columns with a window before the key."""
        return replace(self, outer=(WINDOW, *self.outer))


PER_KEY = EntryColumns()
"""A key and its value."""


@dataclass(frozen=True, slots=True)
class KeyPlace:
    """Place of the stream's key within the key of an entry."""

    inner: bool = False
    """Whether the stream's key is in the inner key of a nested table."""
    index: int | None = None
    """Index within the pair; None for the whole key."""

    def of(self, layout: Layout) -> Callable[..., Any]:
        """Function from an entry's key (nested: outer and inner key) to the key of the stream."""
        index, inner = self.index, self.inner
        if layout is not Layout.NESTED:
            return (lambda key: key) if index is None else (lambda key: key[index])
        if inner:
            return (lambda _, i: i) if index is None else (lambda _, i: i[index])
        return (lambda outer, _: outer) if index is None else (lambda outer, _: outer[index])

    def converting(self, convert: Convert | None) -> TableDeltaMap:
        """Table delta map that applies a conversion to the stream's key."""
        if convert is None:
            return TableDeltaMap()
        conversion = convert if self.index is None else of_pair(self.index, convert)
        return TableDeltaMap(inner=conversion) if self.inner else TableDeltaMap(outer=conversion)


def of_pair(place: int, convert: Convert) -> Callable[[tuple[object, object]], object]:
    """Function that converts one part of a pair."""
    if place == 0:
        return lambda pair: (convert(pair[0]), pair[1])
    return lambda pair: (pair[0], convert(pair[1]))
