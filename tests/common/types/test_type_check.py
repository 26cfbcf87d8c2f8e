"""Declared types are checked, a batch at a time; what is wrong is told with its place."""

from __future__ import annotations

import enum
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.types.row import Row
from millrace.common.types.type_check import batch_check, mismatch
from millrace.common.types.typeinfo import TypeInformation, Types


class Colour(enum.Enum):
    RED = 1


@dataclass
class Point:
    x: int
    tags: list[str]


class Pair(NamedTuple):
    a: int
    b: str


PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])
ROW = Types.ROW_NAMED(["a", "b"], [Types.STRING(), Types.LONG()])

GOOD: list[tuple[TypeInformation[Any], Sequence[Any]]] = [
    (Types.LONG(), [1, True, np.int64(7), np.uint8(1), -(2**63), 2**63 - 1]),
    (Types.BYTE(), [-128, 127]),
    (Types.SHORT(), [-(2**15), 2**15 - 1]),
    (Types.INT(), [-(2**31), 2**31 - 1]),
    (Types.BIG_INT(), [2**99]),
    (Types.FLOAT(), [1.5, 1, np.float32(0.5), float("nan"), 1e300]),
    (Types.DOUBLE(), [1.5, 1, np.float64(0.5), float("inf")]),
    (Types.BOOLEAN(), [True, np.bool_(False)]),
    (Types.STRING(), ["", np.str_("a")]),
    (Types.of(bytes), [b""]),
    (Types.BIG_DEC(), [Decimal("1.5")]),
    (Types.SQL_TIMESTAMP(), [datetime(2026, 1, 1)]),
    (Types.of(datetime), [datetime(2026, 1, 1), datetime(2026, 1, 1, tzinfo=UTC)]),
    (Types.of(Colour), [Colour.RED]),
    (PAIR, [("a", 1), ("a", None), ["a", 1], Row("a", 1)]),
    (ROW, [Row(a="a", b=1), ("a", 1), {"a": "a", "b": 1}, {"b": 1}]),
    (Types.of(Point), [Point(1, []), Point(2, ["a"])]),
    (Types.of(Pair), [Pair(1, "a")]),
    (Types.LIST(Types.LONG()), [[], [1, None], (1,)]),
    (Types.LIST(PAIR), [[("a", 1)]]),
    (Types.MAP(Types.STRING(), Types.LONG()), [{}, {"a": 1, "b": None}]),
    (Types.of(set[int]), [{1}, set()]),
    (Types.of(tuple[int, ...]), [(), (1, 2)]),
    (Types.of(int | str), [1, "a"]),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), [b"ab", bytearray(b"a"), [1, 2]]),
    (Types.PRIMITIVE_ARRAY(Types.LONG()), [[1], array("q", [1]), np.array([1, 2])]),
    (Types.PICKLED_BYTE_ARRAY(), [object()]),
]


@pytest.mark.parametrize(("type_info", "values"), GOOD, ids=[str(row[0])[:30] for row in GOOD])
def test_values_of_the_type_are_taken(type_info: TypeInformation[Any], values: list[Any]) -> None:
    check = batch_check(type_info)
    assert check is None or check([*values, None])
    for value in (*values, None):
        assert mismatch(type_info, value) is None
        assert check is None or check([value, value])
    assert check is None or check([])


@pytest.mark.parametrize(
    ("type_info", "value", "told"),
    [
        (Types.LONG(), "7", "it is '7' (str), not LONG"),
        (Types.LONG(), 1.0, "it is 1.0 (float), not LONG"),
        (Types.LONG(), np.float64(1.0), "not LONG"),
        (Types.LONG(), np.array([1, 2]), "it is array([1, 2]) (ndarray), not LONG"),
        (PAIR, ("a", np.array([1, 2])), "field f1 is array([1, 2]) (ndarray), not LONG"),
        (Types.LONG(), 2**63, "not within -9223372036854775808 to 9223372036854775807 of LONG"),
        (Types.INT(), -(2**31) - 1, "not within -2147483648 to 2147483647 of INT"),
        (Types.BYTE(), 128, "not within -128 to 127 of BYTE"),
        (Types.DOUBLE(), Decimal("1.5"), "it is Decimal('1.5') (Decimal), not DOUBLE"),
        (Types.DOUBLE(), "1.5", "it is '1.5' (str), not DOUBLE"),
        (Types.STRING(), 7, "it is 7 (int), not STRING"),
        (Types.BOOLEAN(), 1, "not BOOLEAN"),
        (Types.BIG_DEC(), 1.5, "it is 1.5 (float), not BIG_DEC"),
        (Types.SQL_DATE(), datetime(2026, 1, 1), "(datetime), not SQL_DATE"),
        (Types.SQL_TIMESTAMP(), datetime(2026, 1, 1, tzinfo=UTC), "not SQL_TIMESTAMP"),
        (Types.of(Colour), "RED", "(str), not Colour(enum)"),
        (PAIR, ("a", "7"), "field f1 is '7' (str), not LONG"),
        (PAIR, ("a",), "with 1 fields, not 2 as TUPLE(STRING, LONG) has"),
        (PAIR, "ab", "it is 'ab' (str), not TUPLE(STRING, LONG)"),
        (PAIR, {"a": 1}, "(dict), not TUPLE"),
        (ROW, Row(a="a", b="7"), "field b is '7' (str), not LONG"),
        (ROW, 5, "(int), not ROW"),
        (Types.of(Point), Point(1, ["a", 2]), "field tags[1] is 2 (int), not STRING"),
        (Types.of(Point), Pair(1, "a"), "(Pair), not Point"),
        (Types.of(Pair), Pair("1", "a"), "field a is '1' (str), not LONG"),
        (Types.LIST(PAIR), [("a", 1), ("a", "7")], "field [1].f1 is '7' (str), not LONG"),
        (Types.LIST(Types.LONG()), "12", "(str), not LIST(LONG)"),
        (Types.MAP(Types.STRING(), Types.LONG()), {"a": "7"}, "field ['a'] is '7'"),
        (Types.MAP(Types.STRING(), Types.LONG()), {7: 7}, "field [key 7] is 7 (int), not STRING"),
        (Types.of(set[int]), {"a"}, "field [0] is 'a' (str), not LONG"),
        (Types.of(set[int]), [1], "(list), not SET(LONG)"),
        (Types.of(int | str), 1.5, "not LONG | STRING"),
        (Types.TUPLE([ROW, PAIR]), (("a", 1), ("a", 1.5)), "field f1.f1 is 1.5"),
    ],
    ids=lambda x: str(x)[:30],
)
def test_what_is_wrong_is_told_with_its_place(
    type_info: TypeInformation[Any], value: Any, told: str
) -> None:
    check = batch_check(type_info)
    assert check is not None
    assert not check([value])
    assert not check([None, value, None])
    assert told in (mismatch(type_info, value) or "")


def test_only_the_first_elements_of_long_lists_are_looked_at() -> None:
    check = batch_check(Types.LIST(Types.LONG()))
    assert check is not None
    assert not check([[*range(99), "a"]])
    assert check([[*range(100), "a"]])


anything = st.one_of(
    st.none(),
    st.integers(),
    st.integers(-(2**64), 2**64),
    st.text(max_size=2),
    st.floats(),
    st.booleans(),
    st.dates(),
    st.tuples(st.text(max_size=1), st.integers(-5, 5) | st.text(max_size=1)),
    st.lists(st.integers(-5, 5) | st.text(max_size=1), max_size=2),
)


def naive(type_info: TypeInformation[Any], value: Any) -> bool:
    """What the types of the property test say, written out."""
    if value is None:
        return True
    if type_info == Types.LONG():
        return isinstance(value, int) and -(2**63) <= value < 2**63
    if type_info == Types.STRING():
        return isinstance(value, str)
    if type_info == Types.DOUBLE():
        return isinstance(value, (int, float))
    if type_info == Types.SQL_DATE():
        return type(value) is date
    if type_info == PAIR:
        return (
            isinstance(value, (tuple, list))
            and len(value) == 2
            and all(map(naive, [Types.STRING(), Types.LONG()], value))
        )
    return isinstance(value, (tuple, list)) and all(naive(Types.LONG(), v) for v in value)


@given(
    st.sampled_from([Types.LONG(), Types.STRING(), Types.DOUBLE(), PAIR, Types.LIST(Types.LONG())]),
    st.lists(anything, max_size=5),
)
def test_a_batch_fits_when_each_value_does(
    type_info: TypeInformation[Any], values: list[Any]
) -> None:
    check = batch_check(type_info)
    assert check is not None
    assert check(values) == all(naive(type_info, value) for value in values)
    for value in values:
        assert (mismatch(type_info, value) is None) == naive(type_info, value)
