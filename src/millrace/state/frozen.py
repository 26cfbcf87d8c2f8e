"""Copies of mutable values, so that an aborted epoch can be rolled back.

Users may change a value in place after they read it from state. Plain immutable values are kept as
they are; every other value is copied by pickle at its first touch in an epoch.
"""

from __future__ import annotations

import datetime as dt
import enum
import pickle
import uuid
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from millrace.state.serialization.pickles import dump_pickle


class _Missing(enum.Enum):
    MISSING = "MISSING"


MISSING: Final = _Missing.MISSING
"""Value that stands for a missing entry."""

IMMUTABLE: frozenset[type] = frozenset(
    {
        int, float, str, bytes, bool, type(None), complex, Decimal, Fraction,
        dt.datetime, dt.date, dt.time, dt.timedelta, uuid.UUID, _Missing,
    }
)  # fmt: skip


class Frozen:
    """Pickled copy of a mutable value."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data

    def thaw(self) -> Any:
        """A fresh copy of the value."""
        return pickle.loads(self.data)

    def differs_from(self, value: Any) -> bool:
        """Whether ``value`` differs from the frozen value."""
        return value is MISSING or dump_pickle(value) != self.data


def is_immutable(value: Any) -> bool:
    """Whether ``value`` can never change in place."""
    if type(value) in IMMUTABLE:
        return True
    if isinstance(value, (tuple, frozenset)):
        return all(map(is_immutable, value))
    return isinstance(value, enum.Enum)


def freeze(value: Any) -> Any:
    """The value itself if it is immutable, else a `Frozen` copy."""
    # called for each entry of state that changes between two barriers, mostly for a number or a
    # tuple of some: neither needs further frames
    kind = type(value)
    if kind in IMMUTABLE:
        return value
    if kind is tuple:
        for item in value:
            if type(item) not in IMMUTABLE:
                break
        else:
            return value
    return value if is_immutable(value) else Frozen(dump_pickle(value))


def thaw(kept: Any) -> Any:
    """The value that was given to `freeze`."""
    return kept.thaw() if type(kept) is Frozen else kept
