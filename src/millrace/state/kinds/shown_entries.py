"""Display of the contents of tables: one function per way of keeping entries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from millrace.common.window.time_window import TimeWindow
from millrace.state.kinds.state_shape import KeyedStateEntry

__all__ = [
    "inner_maps",
    "logged_rows",
    "numbered_elements",
    "own_values",
    "pane_elements",
    "panes",
    "plain",
    "sessions",
    "timers",
    "window_of",
    "windowed",
]

Put = dict[Any, Any]


def window_of(namespace: Any) -> Any:
    """Window that a ``namespace`` stands for; time windows are stored as plain data."""
    return TimeWindow(*namespace) if type(namespace) is tuple else namespace


def plain(put: Put, _: Put) -> Iterator[KeyedStateEntry]:
    """Yield the entries of a table with one value per key."""
    return (KeyedStateEntry(key, value) for key, value in put.items())


def inner_maps(put: Put, _: Put) -> Iterator[KeyedStateEntry]:
    """Yield a dict per key, for a table with one value per (key, inner key)."""
    maps: dict[Any, dict[Any, Any]] = {}
    for (key, inner), value in put.items():
        maps.setdefault(key, {})[inner] = value
    return (KeyedStateEntry(key, entries) for key, entries in maps.items())


def logged_rows(put: Put, _: Put) -> Iterator[KeyedStateEntry]:
    """Yield a list per key, for a table with one row per (key, sequence number)."""
    for entry in inner_maps(put, {}):
        yield KeyedStateEntry(entry.key, [entry.value[number] for number in sorted(entry.value)])


def own_values(put: Put, _: Put) -> Iterator[KeyedStateEntry]:
    """Yield the entries of operators' own state, whose keys have several parts."""
    return (KeyedStateEntry("/".join(filter(None, key)), value) for key, value in put.items())


def timers(put: Put, _: Put) -> Iterator[KeyedStateEntry]:
    """Yield the key, timestamp and namespace of each timer, in the order of timestamps."""
    for timestamp in sorted(put):
        for key, namespace in put[timestamp]:
            yield KeyedStateEntry(
                key, timestamp, None if namespace is None else window_of(namespace)
            )


def panes(put: Put, _: Put) -> Iterator[KeyedStateEntry]:
    """Yield a value per pane and key."""
    for pane, entries in put.items():
        window = window_of(pane)
        for key, value in entries.items():
            yield KeyedStateEntry(key, value, window)


def pane_elements(put: Put, _: Put) -> Iterator[KeyedStateEntry]:
    """Yield the elements per pane and key, in the order of their epochs."""
    return _elements(put, numbered=False)


def numbered_elements(put: Put, _: Put) -> Iterator[KeyedStateEntry]:
    """Yield the elements per pane and key, for a table in which each element has a number within
    its epoch."""
    return _elements(put, numbered=True)


def _elements(put: Put, numbered: bool) -> Iterator[KeyedStateEntry]:
    for pane, entries in put.items():
        window = window_of(pane)
        elements: dict[Any, list[Any]] = {}
        for key, epoch in sorted(entries, key=lambda place: int(place[1])):
            stored = entries[key, epoch]
            elements.setdefault(key, []).extend([v for _, v in stored] if numbered else stored)
        for key, values in elements.items():
            yield KeyedStateEntry(key, values, window)


def sessions(put: Put, _: Put) -> Iterator[KeyedStateEntry]:
    """Yield the accumulator of each session of a key, with the session's window."""
    for key, key_sessions in put.items():
        for start, end, accumulator in key_sessions:
            yield KeyedStateEntry(key, accumulator, TimeWindow(start, end))


def windowed(put: Put, merged: Put) -> Iterator[KeyedStateEntry]:
    """Yield the entries of a table with one value per (window, key)."""
    for (namespace, key), value in put.items():
        window = merged.get((key, namespace), namespace) if merged else namespace
        yield KeyedStateEntry(key, value, window_of(window))
