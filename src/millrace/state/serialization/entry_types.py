"""Types of the parts of a table's entries: key, inner key, value.

A state's descriptor has the type of a key's complete state, which a table splits into entries. The
type of the key itself comes from ``key_by``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from millrace.common.types.type_information import PickledBytesTypeInfo, TypeInformation

__all__ = ["ANYTHING", "EntryTypes", "StateOwner"]

ANYTHING = PickledBytesTypeInfo()


@dataclass(frozen=True, slots=True)
class StateOwner:
    """Operator that owns a state: its name, key type and record types."""

    name: str = ""
    key_type: TypeInformation[Any] | None = None
    """Key type that was passed to ``key_by``."""
    record_types: Mapping[int, TypeInformation[Any]] = field(default_factory=dict)
    """Types of the inputs' records, by the number of the input, where the program declares them."""


@dataclass(frozen=True, slots=True)
class EntryTypes:
    """Types of a table's entries, except for the operator's key."""

    inner: TypeInformation[Any]
    """Keys of a map."""
    value: TypeInformation[Any]
