"""Whether two values are the same data."""

from __future__ import annotations

import datetime as dt
import enum
from collections import Counter, OrderedDict, deque
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.types import Row
from millrace.state.alike import alike
from millrace.state.frozen import MISSING
from millrace.state.serialization.payload import decode, encode


class Plain:
    """No ``__eq__``."""

    def __init__(self, value: Any) -> None:
        self.value = value


@dataclass
class Part:
    number: int
    note: str = field(default="", compare=False)


class Pair(NamedTuple):
    a: Any
    b: Any


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Odd:
    """As arrays of numpy, it does not say whether it is equal."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        raise ValueError("ambiguous")

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return complex, (self.value,)


def ring(value: Any) -> list[Any]:
    made = [value]
    made.append(made)
    return made


NAN = float("nan")
MAKERS = [
    lambda: (1, "a"),
    lambda: {"n": [NAN, None]},
    lambda: {NAN: 1},
    lambda: {Plain(1)},
    lambda: Plain([1, 2]),
    lambda: [Plain(NAN), Part(1, "old")],
    lambda: Pair(1, 2.5),
    lambda: Color.RED,
    lambda: Odd(1),
    lambda: Row(a=1, b=Plain(2)),
    lambda: np.array([1.0, NAN]),
    lambda: np.float64(1.5),
    lambda: Decimal("1.10"),
    lambda: dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
    lambda: deque([1, 2]),
    lambda: OrderedDict(a=1, b=2),
    lambda: ring(1),
    lambda: len,
    lambda: Plain,
    lambda: MISSING,
]


@pytest.mark.parametrize("make", MAKERS)
def test_what_is_made_alike_is_alike(make: Any) -> None:
    assert alike(make(), make())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (1, 1.0),
        ((1,), (True,)),
        ({"n": 1}, {"n": 1.0}),
        ({1: "a"}, {True: "a"}),
        ({1}, {1.0}),
        (0.0, -0.0),
        ([1], [1, 2]),
        (Part(1, "old"), Part(1, "new")),
        (Plain(1), Plain(True)),
        (Pair(1, 2), (1, 2)),
        (Color.RED, Color.BLUE),
        (Odd(1), Odd(2)),
        (Row(a=1), Row(b=1)),
        (np.array([1.0]), np.array([2.0])),
        (Decimal("1.1"), Decimal("1.10")),
        (OrderedDict(a=1, b=2), OrderedDict(b=2, a=1)),
        (ring(1), ring(2)),
        (len, max),
        (Plain, Part),
        (MISSING, None),
    ],
)
def test_what_differs_does(old: Any, new: Any) -> None:
    assert not alike(old, new)
    assert not alike(new, old)


def test_the_order_of_dicts_does_not_count() -> None:
    assert alike({"a": 1, "b": 2}, {"b": 2, "a": 1})
    assert alike(Counter("ab"), Counter("ba"))


def test_classes_that_are_written_by_value() -> None:
    """Each program that reads them makes them anew."""

    def made() -> Any:
        class Local:
            def __init__(self) -> None:
                self.numbers = [1, NAN]

        return Local()

    assert type(made()) is not type(made())
    assert alike(made(), made())


@given(
    st.recursive(
        st.integers() | st.floats() | st.text() | st.booleans() | st.dates(),
        lambda parts: st.lists(parts) | st.dictionaries(st.text(), parts) | st.builds(Plain, parts),
        max_leaves=10,
    )
)
def test_a_value_that_is_written_and_read_is_alike(value: Any) -> None:
    assert alike(value, decode(encode(value)))
