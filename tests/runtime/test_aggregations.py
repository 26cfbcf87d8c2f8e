from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from functools import reduce

import pytest

from millrace.common import Row, RowKind
from millrace.common.errors import JobExecutionError
from millrace.runtime.aggregations import Extreme, ExtremeBy, Sum, TupleProjection

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


def unnamed_row(name: str, x: int) -> Row:
    return Row(name, x)


SHAPES = [
    (pair, 1), (pair, -1), (pair_list, 1), (Point, 1), (Point, "x"), (Car, "x"), (Car, 1),
    (record, "x"), (row, "x"), (row, 1), (unnamed_row, 1),
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


def test_dicts_with_numbers_as_keys() -> None:
    assert reduce(Sum(1), [{1: 2, 0: "a"}, {1: 3, 0: "b"}]) == {1: 5, 0: "a"}


def test_a_plain_value_has_one_field_only() -> None:
    for function in (Sum(1), Extreme(1, greatest=True), ExtremeBy(1, greatest=True)):
        with pytest.raises(JobExecutionError, match="has no fields, so there is no field 1"):
            function(2, 1)


def test_kinds_of_rows_and_their_names_stay() -> None:
    first = Row(name="a", x=1)
    first.set_row_kind(RowKind.UPDATE_AFTER)
    result = Sum("x")(first, Row(name="b", x=2))
    assert (result.get_row_kind(), result["x"], result._fields) == (
        RowKind.UPDATE_AFTER, 3, ("name", "x"),
    )  # fmt: skip


@pytest.mark.parametrize("greatest", [True, False])
def test_ties(greatest) -> None:
    """The first of equal values is kept, also among numbers of other types."""
    first, second = ("a", 1), ("b", 1.0)
    assert ExtremeBy(1, greatest)(first, second) is first
    assert Extreme(1, greatest)(first, second) is first
    assert Extreme(1, greatest)(second, first) is second


def test_projection() -> None:
    assert TupleProjection((1, 0, 1))(("a", 5)) == (5, "a", 5)
    assert TupleProjection(("x", "name"))(Car("a", 5)) == (5, "a")
