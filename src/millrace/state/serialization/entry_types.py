"""Which parts of a table's entries have which type.

A state's descriptor tells the type of all that one key has; a table keeps that in entries. The
key's own type comes from ``key_by``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from millrace.common.types.composite_types import ListTypeInfo, MapTypeInfo
from millrace.common.types.type_information import PickledBytesTypeInfo, TypeInformation
from millrace.state.serialization.converters import Convert
from millrace.state.serialization.delta_map import DeltaMap, Shape, shape_of_kind

__all__ = ["ANYTHING", "EntryTypes", "StateOwner", "key_map", "value_map"]

ANYTHING = PickledBytesTypeInfo()

_MAPS = frozenset({"map", "ttl-map", "window-map", "broadcast"})
_LISTS = frozenset({"list", "ttl-list", "window-list", "split-list", "union-list"})
_KEYLESS = frozenset({"broadcast", "split-list", "union-list"})


@dataclass(frozen=True, slots=True)
class StateOwner:
    """What is known of an operator that has state."""

    name: str = ""
    key_type: TypeInformation[Any] | None = None
    """As ``key_by`` was given it."""
    record_types: Mapping[int, TypeInformation[Any]] = field(default_factory=dict)
    """Of its inputs' records, by the number of the input, where the program declares them."""


@dataclass(frozen=True, slots=True)
class EntryTypes:
    """Types of a table's entries, apart from the operator's key."""

    inner: TypeInformation[Any]
    """Keys of a map."""
    value: TypeInformation[Any]

    @staticmethod
    def of(kind: str, type_info: TypeInformation[Any]) -> EntryTypes:
        """From the type of all that one key has."""
        if kind in _MAPS and isinstance(type_info, MapTypeInfo):
            return EntryTypes(type_info.key_type, type_info.value_type)
        if kind in _LISTS and isinstance(type_info, ListTypeInfo):
            return EntryTypes(ANYTHING, type_info.element_type)
        if kind in _MAPS or kind in _LISTS:
            return EntryTypes(ANYTHING, ANYTHING)
        return EntryTypes(ANYTHING, type_info)


def has_keys(kind: str) -> bool:
    """Whether entries of that kind of table belong to keys of the operator."""
    return kind not in _KEYLESS


def key_map(kind: str, convert: Convert | None) -> DeltaMap:
    """Converts the operator's key, wherever a kind of table has it."""
    if convert is None or not has_keys(kind):
        return DeltaMap()
    if kind == "panes":
        return DeltaMap(inner=convert)
    if kind == "timers":
        return DeltaMap(inner=_of_pair(0, convert))
    if kind.startswith("window-"):
        return DeltaMap(outer=_of_pair(1, convert))
    return DeltaMap(outer=convert)


def value_map(kind: str, inner: Convert | None, value: Convert | None) -> DeltaMap:
    """Converts keys of maps, and values, which have a time next to them if they expire."""
    if value is not None and kind.startswith("ttl-"):
        value = _of_pair(0, value)
    if shape_of_kind(kind) is Shape.NESTED:
        return DeltaMap(inner=inner, value=value)
    return DeltaMap(outer=inner, value=value)


def _of_pair(place: int, convert: Convert) -> Callable[[tuple[object, object]], object]:
    if place == 0:
        return lambda pair: (convert(pair[0]), pair[1])
    return lambda pair: (pair[0], convert(pair[1]))
