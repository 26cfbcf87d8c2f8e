"""Conversion of the keys and values of table deltas, by the layout of their table.

A flat table has ``{key: value}``, a list table ``{key: [element, ...]}``, a nested one
``{outer: {inner: value}}``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from millrace.common.types.plain_data import Convert
from millrace.state.kinds.layout import Layout
from millrace.state.table import TableDelta

__all__ = ["TableDeltaMap"]


@dataclass(frozen=True, slots=True)
class TableDeltaMap:
    """Converters for the parts of entries; None leaves a part unchanged."""

    outer: Convert | None = None
    inner: Convert | None = None
    """Converter of inner keys, for nested tables only."""
    value: Convert | None = None

    @property
    def changes_nothing(self) -> bool:
        """Whether table deltas stay unchanged."""
        return self.outer is None and self.inner is None and self.value is None

    def __call__(self, layout: Layout, table_delta: TableDelta) -> TableDelta:
        """The converted table delta."""
        if self.changes_nothing:
            return table_delta
        if layout is Layout.NESTED:
            return {
                "drop": _all(self.outer, table_delta["drop"]),
                "put": {
                    _one(self.outer, outer): _entries(entries, self.inner, self.value)
                    for outer, entries in table_delta["put"].items()
                },
                "del": {
                    _one(self.outer, outer): _all(self.inner, inners)
                    for outer, inners in table_delta["del"].items()
                },
            }
        value = _of_list(self.value) if layout is Layout.LIST else self.value
        return {
            part: _all(self.outer, entries)
            if part == "del"
            else _entries(entries, self.outer, value)
            for part, entries in table_delta.items()
        }


def _one(convert: Convert | None, value: Any) -> Any:
    return value if convert is None else convert(value)


def _all(convert: Convert | None, values: list[Any]) -> list[Any]:
    return values if convert is None else list(map(convert, values))


def _of_list(element: Convert | None) -> Convert | None:
    if element is None:
        return None
    return lambda values: [element(value) for value in values]


def _entries(entries: dict[Any, Any], key: Convert | None, value: Convert | None) -> dict[Any, Any]:
    keys = entries if key is None else map(key, entries)
    values = entries.values() if value is None else map(value, entries.values())
    return dict(zip(keys, values, strict=True))
