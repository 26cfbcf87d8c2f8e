"""Key groups: equal keys meet, in every process, and the ranges cover everything once."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import math
import os
import subprocess
import sys
import uuid
import zoneinfo
from collections import namedtuple
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from millrace.common.errors import KeyTypeError
from millrace.common.types import Row
from millrace.state.key_groups import (
    KeyMemo,
    canonical,
    key_group_of,
    key_group_range,
    key_hash,
    owners_of_keys,
    subtask_of,
)

Point = namedtuple("Point", "x y")


class Colour(enum.Enum):
    RED = "r"
    BLUE = "b"


class Level(enum.IntEnum):
    LOW = 1


class Word(str):
    """A subclass that is equal to plain text."""


@dataclasses.dataclass(frozen=True)
class Address:
    street: str
    number: int
    note: str = dataclasses.field(default="", compare=False)


@dataclasses.dataclass
class Mutable:
    x: int


ZONES = [zoneinfo.ZoneInfo("Europe/Berlin"), dt.UTC, dt.timezone(dt.timedelta(hours=-5))]

numbers = st.one_of(
    st.integers(),
    st.booleans(),
    st.floats(allow_nan=False),
    st.decimals(allow_nan=False, min_value=-(10**30), max_value=10**30),
    st.fractions(),
    st.complex_numbers(allow_nan=False, allow_infinity=False),
)
times = st.one_of(
    st.datetimes(timezones=st.sampled_from([None, *ZONES])),
    st.dates(),
    st.times(timezones=st.sampled_from([None, *ZONES[1:]])),
    st.timedeltas(),
)
atoms = st.one_of(
    numbers, times, st.text(), st.binary(), st.none(), st.uuids(), st.sampled_from(Colour)
)
keys = st.recursive(
    atoms,
    lambda inner: (
        st.lists(inner, max_size=3).map(tuple)
        | st.frozensets(inner, max_size=3)
        | st.tuples(inner, inner).map(lambda pair: Point(*pair))
        | st.tuples(st.text(), inner).map(lambda pair: Address(*pair))
    ),
    max_leaves=5,
)


def lookalikes(key: Any) -> list[Any]:
    """Values of other types that may be equal to a number."""
    makers = (int, float, complex, Fraction, Decimal, bool)
    found = []
    for make in makers:
        try:
            found.append(make(key))
        except (TypeError, ValueError, OverflowError, ArithmeticError):
            continue
    return found


@given(numbers)
@example(2**53 + 1)
@example(10**400)
@example(Fraction(10**400, 3))
@example(Decimal("0.5"))
@example(-0.0)
def test_equal_numbers_encode_equally(number: Any) -> None:
    """1, 1.0, True, Decimal(1), Fraction(1) and 1+0j are one key, as in a dict."""
    for other in lookalikes(number):
        if other == number and hash(other) == hash(number):
            assert canonical(other) == canonical(number)


@given(keys, keys)
def test_keys_encode_equally_only_if_equal_and_always_then(one: Any, other: Any) -> None:
    """What is one key in a dict is one key here."""
    if one == other:
        assert canonical(one) == canonical(other)


@given(st.lists(st.integers(-3, 3) | st.sampled_from(["", "a", None]), max_size=3), st.data())
def test_nested_lookalikes(parts: list[Any], data: st.DataObject) -> None:
    """Equality reaches into tuples and sets."""
    changed = [
        data.draw(st.sampled_from([float(part), Decimal(part)])) if type(part) is int else part
        for part in parts
    ]
    assert canonical(tuple(parts)) == canonical(tuple(changed))
    assert canonical(frozenset(parts)) == canonical(frozenset(reversed(changed)))


@given(st.lists(st.integers() | st.text() | st.binary(), max_size=4).map(tuple), st.data())
def test_different_plain_keys_encode_differently(one: Any, data: st.DataObject) -> None:
    """Else keys would crowd in one group: (1, 23) is not (12, 3)."""
    other = data.draw(st.lists(st.integers() | st.text() | st.binary(), max_size=4).map(tuple))
    assume(one != other)
    assert canonical(one) != canonical(other)


@given(
    st.datetimes(timezones=st.sampled_from(ZONES)), st.sampled_from(ZONES), st.sampled_from([0, 1])
)
@example(dt.datetime(2024, 10, 27, 2, 30, tzinfo=ZONES[0]), ZONES[1], 1)
@example(dt.datetime.min.replace(tzinfo=ZONES[0]), ZONES[0], 0)
@example(dt.datetime.max.replace(tzinfo=ZONES[2]), ZONES[2], 0)
def test_instants_are_equal_in_all_zones(moment: dt.datetime, zone: dt.tzinfo, fold: int) -> None:
    """Where Python says so; in the hour that comes twice it does not."""
    folded = moment.replace(fold=fold)
    if folded == moment:
        assert canonical(folded) == canonical(moment)
    try:
        elsewhere = moment.astimezone(zone)
    except OverflowError:
        return
    if elsewhere == moment:
        assert canonical(elsewhere) == canonical(moment)


def test_lookalikes_of_other_kinds() -> None:
    """Subclasses that are equal to what they derive from."""
    assert canonical(Word("a")) == canonical("a")
    assert canonical(Level.LOW) == canonical(1)
    assert canonical(Point(1, 2)) == canonical((1, 2))
    assert canonical(Address("x", 1, "note")) == canonical(Address("x", 1))
    assert canonical(Colour.RED) != canonical(Colour.BLUE)
    assert canonical(Row(name="a", age=1)) == canonical(Row(name="a", age=1))
    assert canonical("1") != canonical(1) != canonical(b"1")


@dataclasses.dataclass(unsafe_hash=True)
class Hashed:
    """Changeable, but hashed; ``note`` does not count."""

    street: str
    number: int
    note: str = dataclasses.field(default="", compare=False)


@dataclasses.dataclass
class HashedByHand:
    name: str

    def __hash__(self) -> int:
        return len(self.name)


def test_dataclasses_that_can_be_hashed() -> None:
    """Their hash may differ from process to process; their encoding may not."""
    assert canonical(Hashed("x", 1, "note")) == canonical(Hashed("x", 1))
    assert canonical(Hashed("x", 1)) != canonical(Hashed("x", 2))
    assert canonical(HashedByHand("ab")) != canonical(HashedByHand("cd"))
    assert canonical(Hashed("x", 1)) != canonical(("x", 1))


def test_numpy_scalars() -> None:
    """They are equal to Python's numbers, so they encode like them."""
    np = pytest.importorskip("numpy")
    for kind in (np.int8, np.uint64, np.float32, np.float64, np.complex64, np.bool_):
        assert canonical(kind(1)) == canonical(1)
    assert canonical(np.float64(0.1)) == canonical(0.1)
    assert canonical(np.str_("a")) == canonical("a")
    with pytest.raises(KeyTypeError, match="longdouble"):
        canonical(np.longdouble(1))


@pytest.mark.parametrize(
    "key",
    [[1], {1: 2}, {1}, bytearray(b"a"), object(), Mutable(1), (1, [2]), lambda: 0, int],
    ids=lambda key: type(key).__name__,
)
def test_keys_without_a_stable_encoding(key: Any) -> None:
    """Are refused by the name of their type."""
    with pytest.raises(KeyTypeError, match="no stable encoding"):
        canonical(key)


@pytest.mark.parametrize("nan", [math.nan, Decimal("nan"), Decimal("snan"), complex(math.nan, 1)])
def test_nan_is_no_key(nan: Any) -> None:
    """It is not equal to itself: its state would never be found again."""
    with pytest.raises(KeyTypeError, match="NaN"):
        canonical(nan)


def test_huge_integers() -> None:
    """Longer than Python is willing to write in decimal."""
    assert canonical(10**5000) != canonical(10**5000 + 1)


SCRIPT = """
from decimal import Decimal
import datetime as dt, uuid
from millrace.state.key_groups import key_hash
keys = ["a", "\\u00e4", b"a", 1, 2.5, -1, None, (1, "a"), frozenset({"a", "b", 1, None}),
        Decimal("0.1"), 1 + 2j, dt.date(2020, 2, 29), dt.datetime(2020, 2, 29, 12),
        dt.datetime(2020, 2, 29, 12, tzinfo=dt.UTC), dt.timedelta(1, 2, 3), uuid.UUID(int=7)]
print([key_hash(key) for key in keys])
"""

GOLDEN_HASHES = [
    1058891890, 2938089776, 2012934842, 3956681090, 1817155564, 1646180664, 3789197524,
    424256416, 954299916, 1070062250, 4002364971, 4220863591, 625653100, 2163813514,
    2241872658, 3666560780,
]  # fmt: skip


def test_hashes_are_the_same_in_every_process() -> None:
    """Whatever PYTHONHASHSEED is, and in every release: savepoints depend on them."""
    for seed in ("0", "1", "random"):
        env = {**os.environ, "PYTHONHASHSEED": seed}
        made = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True, check=True
        )
        assert made.stdout.strip() == str(GOLDEN_HASHES)


@given(st.integers(1, 500), st.integers(1, 500))
def test_ranges_cover_all_key_groups_once(parallelism: int, max_parallelism: int) -> None:
    """And agree with the formula that routes records."""
    assume(parallelism <= max_parallelism)
    ranges = [key_group_range(i, parallelism, max_parallelism) for i in range(parallelism)]
    assert [group for groups in ranges for group in groups] == list(range(max_parallelism))
    for subtask, groups in enumerate(ranges):
        assert {subtask_of(g, parallelism, max_parallelism) for g in groups} == {subtask}


def test_keys_spread_evenly() -> None:
    """Sequential numbers and similar texts alike."""
    for make in (int, str, lambda i: (i, i), lambda i: uuid.UUID(int=i)):
        counts = [0] * 16
        for i in range(16_000):
            counts[key_group_of(make(i), 16)] += 1
        assert max(counts) < 1200
        assert min(counts) > 800


def test_memo() -> None:
    """Resolves a key once, forgets when it is full, refuses what cannot be a key."""
    asked = []

    def resolve(group: int) -> int:
        asked.append(group)
        return group

    memo = KeyMemo(128, resolve, limit=2)
    assert memo["a"] == memo["a"] == key_group_of("a", 128)
    assert len(asked) == 1
    assert memo[1] == memo[True] == memo[1.0]
    assert len(asked) == 2
    assert memo["b"] == key_hash("b") % 128
    assert len(memo) == 1
    with pytest.raises(KeyTypeError):
        memo[object()]


@given(st.lists(st.one_of(st.integers(), st.text(), st.tuples(st.integers(), st.text()))))
def test_owners_of_many_keys(keys) -> None:
    """The fast way gives what asking one by one does, for keys of one type and of several."""
    for some in (keys, [k for k in keys if type(k) is int], [k for k in keys if type(k) is str]):
        one_by_one = [subtask_of(key_group_of(key, 128), 3, 128) for key in some]
        assert owners_of_keys(some, 3, 128).tolist() == one_by_one
