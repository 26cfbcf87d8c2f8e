"""Python values as JSON."""

from __future__ import annotations

import datetime as dt
import enum
import json
import uuid
from collections import namedtuple
from dataclasses import dataclass
from decimal import Decimal

import pytest

from millrace.common.types import Row
from millrace.rest.json_values import dumps, to_json


class Colour(enum.Enum):
    RED = 1


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
