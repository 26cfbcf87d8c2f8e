"""Layouts of a table's entries and of its table deltas."""

from __future__ import annotations

from enum import Enum

__all__ = ["Columnar", "Layout"]


class Layout(Enum):
    """Layout of the entries of a table."""

    FLAT = "flat"
    """One value per key. Table deltas: ``put`` (key to value) and ``del`` (keys)."""
    LIST = "list"
    """A list per key. Table deltas: ``put`` (key to list), ``add`` (key to appended elements),
    ``del``."""
    NESTED = "nested"
    """A dict per outer key. Table deltas: ``drop`` (outer keys), ``put`` (outer key to inner key to
    value), ``del`` (outer key to inner keys)."""


class Columnar(Enum):
    """Marks tables whose entries are in Arrow columns. Code without support for columns treats them
    as `Layout.FLAT`.
    """

    SLOTS = "slots"
    """A slot per key, with values that change in place (`SlotTable`)."""
    ROWS = "rows"
    """Many rows per key (`RowLog`)."""
