from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from functools import reduce

import pytest

from millrace.common import Row
from millrace.runtime.aggregations import Extreme, ExtremeBy, Sum

Point = namedtuple("Point", "name x")


@dataclass
class Car:
    name: str
    x: int


def row(name: str, x: int) -> Row:
    return Row(name=name, x=x)


def record(name: str, x: int) -> dict:
    return {"name": name, "x": x}


def pair(name: str, x: int) -> tuple:
    return (name, x)


def pair_list(name: str, x: int) -> list:
    return [name, x]


SHAPES = [
    (pair, 1), (pair_list, 1), (Point, 1), (Point, "x"), (Car, "x"), (record, "x"), (row, "x"),
    (row, 1),
]  # fmt: skip
XS = [("a", 3), ("b", 1), ("c", 5), ("d", 1), ("e", 5)]


@pytest.mark.parametrize(("shape", "position"), SHAPES)
@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (Sum, ("a", 15)),
        (lambda position: Extreme(position, greatest=False), ("a", 1)),
        (lambda position: Extreme(position, greatest=True), ("a", 5)),
        (lambda position: ExtremeBy(position, greatest=False), ("b", 1)),
        (lambda position: ExtremeBy(position, greatest=True), ("c", 5)),
    ],
    ids=["sum", "min", "max", "min_by", "max_by"],
)
def test_records_of_every_shape(shape, position, make, expected) -> None:
    records = [shape(*x) for x in XS]
    before = repr(records)
    result = reduce(make(position), records)
    assert result == shape(*expected)
    assert type(result) is type(records[0])
    assert repr(records) == before, "records are not changed"


def test_plain_numbers_are_their_own_field() -> None:
    assert reduce(Sum(0), [1, 2, 3]) == 6
    assert reduce(Extreme(0, greatest=True), [1, 3, 2]) == 3
    assert reduce(ExtremeBy(0, greatest=False), [2, 1, 3]) == 1
