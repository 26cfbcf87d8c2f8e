"""What is kept of values that may be changed in place."""

from __future__ import annotations

import datetime as dt
import enum
from collections import namedtuple
from decimal import Decimal
from typing import Any

import pytest

from millrace.state.frozen import Frozen, freeze, is_immutable, thaw

Point = namedtuple("Point", "x y")


class Colour(enum.Enum):
    RED = 1


@pytest.mark.parametrize(
    "value",
    [
        1, "a", b"a", None, True, 1.5, Decimal(1), dt.date(2020, 1, 1), (1, ("a", None)),
        Point(1, 2), frozenset({1}), Colour.RED,
    ],
)  # fmt: skip
def test_immutable_values_are_kept_as_they_are(value: Any) -> None:
    """No copy is made."""
    assert is_immutable(value)
    assert freeze(value) is value
    assert thaw(value) is value


@pytest.mark.parametrize("value", [[1], {}, {1}, bytearray(b"a"), (1, [2]), Point([], 1)])
def test_mutable_values_are_copied(value: Any) -> None:
    """And the copy tells whether the value was changed since."""
    frozen = freeze(value)
    assert type(frozen) is Frozen
    assert thaw(frozen) == value
    assert thaw(frozen) is not value
    assert not frozen.differs_from(value)


def test_a_change_is_noticed() -> None:
    """Wherever it happens."""
    value = ([1], {"a": [2]})
    frozen = freeze(value)
    value[1]["a"].append(3)
    assert frozen.differs_from(value)
    assert thaw(frozen) == ([1], {"a": [2]})
