"""Python values as JSON."""

from __future__ import annotations

import datetime as dt
import enum
import json
import uuid
from collections import namedtuple
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import pytest

from millrace.common.time import Instant
from millrace.common.types import Row
from millrace.common.types.json_values import dumps, from_json, json_text, to_json
from millrace.common.types.typeinfo import Types


class Colour(enum.Enum):
    RED = 1


@dataclass
class Spot:
    """With types that JSON does not have."""

    x: int
    seen: tuple[dt.date, dt.date | None]


@dataclass
class Point:
    x: int
    y: float


class Plain:
    def __init__(self) -> None:
        self.a = (1, 2)


Pair = namedtuple("Pair", "left right")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (2**70, 2**70),
        (1.5, 1.5),
        (float("nan"), {"float": "nan"}),
        (float("-inf"), {"float": "-inf"}),
        ("ä", "ä"),
        ((1, [2, (3,)]), [1, [2, [3]]]),
        (b"x", {"bytes": "eA=="}),
        (bytearray(b"x"), {"bytes": "eA=="}),
        (Decimal("1.50"), "1.50"),
        (dt.date(2026, 11, 21), "2026-11-21"),
        (dt.datetime(2026, 11, 21, 6, 5), "2026-11-21T06:05:00"),
        (dt.timedelta(minutes=1), 60.0),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Colour.RED, "RED"),
        (Point(1, 2.0), {"x": 1, "y": 2.0}),
        (Pair("a", 2), {"left": "a", "right": 2}),
        (Row(name="a", age=2), {"name": "a", "age": 2}),
        (Row("a", 2), ["a", 2]),
        (Plain(), {"a": [1, 2]}),
        ({"a": 1}, {"a": 1}),
        ({1: "a", (2, 3): "b"}, {"map": [[1, "a"], [[2, 3], "b"]]}),
        ({"bytes": 1}, {"map": [["bytes", 1]]}),
        ({"map": {}, "x": 1}, {"map": {}, "x": 1}),
        (frozenset({1}), [1]),
    ],
)
def test_values(value, expected) -> None:
    assert to_json(value) == expected
    assert json.loads(dumps(to_json(value))) == expected


def test_arrays_of_numpy() -> None:
    numpy = pytest.importorskip("numpy")
    assert to_json({"a": numpy.arange(3), "b": numpy.float64(0.5), "c": numpy.int8(1)}) == {
        "a": [0, 1, 2], "b": 0.5, "c": 1,
    }  # fmt: skip


def test_what_holds_itself_comes_to_an_end() -> None:
    endless: list[object] = []
    endless.append(endless)
    assert "nested too deep: list" in json.dumps(to_json(endless))


def test_text_that_is_no_unicode_is_replaced() -> None:
    assert dumps("\ud800") == b'"?"'


@pytest.mark.parametrize(
    ("type_info", "value"),
    [
        (Types.LONG(), 5),
        (Types.STRING(), "x"),
        (Types.DOUBLE(), float("inf")),
        (Types.BIG_DEC(), Decimal("1.50")),
        (Types.SQL_DATE(), dt.date(2026, 11, 21)),
        (Types.SQL_TIME(), dt.time(6, 5)),
        (Types.SQL_TIMESTAMP(), dt.datetime(2026, 11, 21, 6, 5, 4, 3)),
        (Types.INSTANT(), Instant(5, 6)),
        (Types.LIST(Types.TUPLE([Types.STRING(), Types.SQL_DATE()])), [("a", dt.date(1, 2, 3))]),
        (Types.MAP(Types.LONG(), Types.BIG_DEC()), {1: Decimal(2)}),
        (Types.MAP(Types.STRING(), Types.LONG()), {"a": 1}),
        (Types.MAP(Types.TUPLE([Types.INT()]), Types.LONG()), {(1,): 1}),
        (Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.SQL_DATE()]),
         Row(a=1, b=dt.date(2026, 1, 1))),
        (Types.ROW([Types.INT()]), Row(1)),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"xyz"),
        (Types.PICKLED_BYTE_ARRAY(), {"a": [1, b"x"]}),
        (Types.of(uuid.UUID), uuid.UUID(int=5)),
        (Types.of(Fraction), Fraction(1, 3)),
        (Types.of(dt.timedelta), dt.timedelta(days=2, microseconds=5)),
        (Types.of(dt.datetime), dt.datetime(2026, 11, 21, 6, tzinfo=dt.UTC)),
        (Types.of(Colour), Colour.RED),
        (Types.of(Spot), Spot(3, (dt.date(2026, 1, 2), None))),
        (Types.of(set[dt.date]), {dt.date(2026, 1, 2)}),
        (Types.of(tuple[dt.date, ...]), (dt.date(2026, 1, 2), None)),
        (Types.LIST(Types.LONG()), None),
    ],
    ids=str,
)  # fmt: skip
def test_declared_values_come_back(type_info, value) -> None:
    assert from_json(json.loads(json_text(value)), type_info) == value


def test_fractions_of_more_digits_than_python_writes() -> None:
    for value in (Fraction(10**6000, 7), Fraction(-1, 10**6000), Fraction(2, 3)):
        read = json.loads(dumps(to_json(value)))
        assert from_json(read, Types.of(Fraction)) == value


class Odd:
    """Cannot say what it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(10**6000)


def test_what_cannot_be_printed_is_described() -> None:
    assert json_text([Odd(), "\ud800"]) == '["(Odd)", "?"]'
