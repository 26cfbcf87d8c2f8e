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
    alive = {key: [e for e in found if e[1] > deadline] for key, found in put.items()}
    return {key: found for key, found in alive.items() if found}


def _alive_entries(put: Put, deadline: int) -> Put:
    alive = {key: _alive_values(found, deadline) for key, found in put.items()}
    return {key: found for key, found in alive.items() if found}


STAMPS = {
    Layout.FLAT: Stamps(
        lambda stamped: stamped[0],
        lambda stamped: stamped[1],
        _alive_values,
    ),
    Layout.LIST: Stamps(
        lambda found: [value for value, _ in found],
        lambda found: [stamp for _, stamp in found],
        _alive_elements,
    ),
    Layout.NESTED: Stamps(
        lambda found: {key: value for key, (value, _) in found.items()},
        lambda found: [stamp for _, stamp in found.values()],
        _alive_entries,
    ),
}
