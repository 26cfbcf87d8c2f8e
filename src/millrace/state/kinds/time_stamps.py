"""Times of last use, which state with a time to live keeps next to each value.

A stamped value is ``(value, ms since the epoch)``. What a key has is one of them, a list of them,
or a dict of them, depending on the layout.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from millrace.state.kinds.layout import Layout

__all__ = ["STAMPS", "Stamps"]

Put = dict[Any, Any]
"""Contents of a table by key."""


class Stamps(NamedTuple):
    """Functions that separate the values of a key from their time stamps."""

    values: Callable[[Any], Any]
    """Values of a key, without stamps."""
    written: Callable[[Any], Any]
    """The stamps: one, or one per element in their order."""
    alive: Callable[[Put, int], Put]
    """Function that returns the entries used after a time. Keys without such entries are left
    out."""


def _alive_values(put: Put, deadline: int) -> Put:
    return {key: stamped for key, stamped in put.items() if stamped[1] > deadline}


def _alive_elements(put: Put, deadline: int) -> Put:
    alive = {key: [e for e in elements if e[1] > deadline] for key, elements in put.items()}
    return {key: elements for key, elements in alive.items() if elements}


def _alive_entries(put: Put, deadline: int) -> Put:
    alive = {key: _alive_values(entries, deadline) for key, entries in put.items()}
    return {key: entries for key, entries in alive.items() if entries}


STAMPS = {
    Layout.FLAT: Stamps(
        lambda stamped: stamped[0],
        lambda stamped: stamped[1],
        _alive_values,
    ),
    Layout.LIST: Stamps(
        lambda elements: [value for value, _ in elements],
        lambda elements: [stamp for _, stamp in elements],
        _alive_elements,
    ),
    Layout.NESTED: Stamps(
        lambda entries: {key: value for key, (value, _) in entries.items()},
        lambda entries: [stamp for _, stamp in entries.values()],
        _alive_entries,
    ),
}
