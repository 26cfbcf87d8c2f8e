"""Types and strategies for values of them, shared by the tests of serialization."""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

from millrace.common.types import Row


class Color(enum.Enum):
    RED = 1
    GREEN = 2


class Rights(enum.Flag):
    READ = 1
    WRITE = 2


class Point(NamedTuple):
    x: int
    y: float = 0.0


@dataclass
class Address:
    street: str
    zip: int | None = None


@dataclass(frozen=True, slots=True)
class Money:
    amount: Decimal
    currency: str = "EUR"


@dataclass
class Account:
    owner: str
    balance: Money
    address: Address | None = None
    tags: set[str] = field(default_factory=set)
    history: list[Point] = field(default_factory=list)
    color: Color = Color.RED
    extra: Any = None


_WHOLE = st.integers(-(2**70), 2**70)
_TEXT = st.text(max_size=5)
_ZONES = st.sampled_from(
    [
        None,
        dt.UTC,
        dt.timezone(dt.timedelta(hours=-3)),
        dt.timezone(dt.timedelta(hours=1), "home"),
        ZoneInfo("Europe/Paris"),
    ]
)
_DECIMALS = st.decimals(allow_nan=False)
_MONEY = st.builds(Money, _DECIMALS, _TEXT)
_POINT = st.builds(Point, _WHOLE, st.floats(allow_nan=False))
_ADDRESS = st.builds(Address, _TEXT, st.none() | _WHOLE)
_ACCOUNT = st.builds(
    Account,
    _TEXT,
    _MONEY,
    st.none() | _ADDRESS,
    st.sets(_TEXT, max_size=3),
    st.lists(_POINT, max_size=3),
    st.sampled_from(Color),
    st.none() | _TEXT | st.lists(_DECIMALS, max_size=2),
)

SAMPLES: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "int": (int, _WHOLE),
    "bool": (bool, st.booleans()),
    "float": (float, st.floats(allow_nan=False)),
    "complex": (complex, st.complex_numbers(allow_nan=False)),
    "str": (str, _TEXT),
    "bytes": (bytes, st.binary(max_size=5)),
    "decimal": (Decimal, _DECIMALS),
    "fraction": (Fraction, st.fractions()),
    "date": (dt.date, st.dates()),
    "datetime": (
        dt.datetime,
        st.datetimes(timezones=_ZONES) | st.datetimes().map(lambda at: at.replace(fold=1)),
    ),
    "time": (dt.time, st.times() | st.times(timezones=st.just(dt.UTC))),
    "timedelta": (dt.timedelta, st.timedeltas()),
    "uuid": (uuid.UUID, st.uuids()),
    "enum": (Color, st.sampled_from(Color)),
    "flags": (Rights, st.sampled_from([Rights.READ, Rights.READ | Rights.WRITE, Rights(0)])),
    "list": (list[Decimal], st.lists(st.none() | _DECIMALS, max_size=3)),
    "dict": (dict[uuid.UUID, Point], st.dictionaries(st.uuids(), _POINT, max_size=3)),
    "set": (set[Money], st.sets(_MONEY, max_size=3)),
    "frozenset": (frozenset[dt.date], st.frozensets(st.dates(), max_size=3)),
    "tuple": (tuple[int, Decimal], st.tuples(_WHOLE, _DECIMALS)),
    "tuples": (tuple[Decimal, ...], st.lists(_DECIMALS, max_size=3).map(tuple)),
    "union": (int | str, _WHOLE | _TEXT),
    "optional": (Address | None, st.none() | _ADDRESS),
    "named tuple": (Point, _POINT),
    "slots": (Money, _MONEY),
    "dataclass": (Account, _ACCOUNT),
}
"""Per name: a type hint and its values."""


def exactly(left: Any, right: Any) -> bool:
    """Equal, and of the same classes at every depth."""
    if type(left) is not type(right):
        return False
    if isinstance(left, Row):
        same_kind = left.get_row_kind() is right.get_row_kind()
        return same_kind and left._fields == right._fields and exactly(list(left), list(right))
    if isinstance(left, (list, tuple)):
        pairs = zip(left, right, strict=False)
        return len(left) == len(right) and all(exactly(a, b) for a, b in pairs)
    if isinstance(left, dict):
        return exactly(list(left.items()), list(right.items()))
    if isinstance(left, dt.datetime):
        return (left, left.tzinfo, left.fold) == (right, right.tzinfo, right.fold)
    if hasattr(left, "__dataclass_fields__"):
        names = left.__dataclass_fields__
        return all(exactly(getattr(left, name), getattr(right, name)) for name in names)
    return bool(left == right)
