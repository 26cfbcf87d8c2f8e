"""Batches as columns: what comes back is equal, and of the same types."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.state.serialization.payload import COLUMNS, decode, encode_records
from millrace.state.serialization.plain_columns import decode_columns, encode_columns

ATOM = st.one_of(
    st.integers(),
    st.integers(-3, 3),
    st.text(st.characters(), max_size=5),
    st.floats(allow_nan=False),
    st.booleans(),
    st.none(),
    st.binary(max_size=3),
    st.complex_numbers(allow_nan=False),
)
COLUMN = st.one_of(
    st.just(st.integers()),
    st.just(st.integers(-(2**31), 2**31 - 1)),
    st.just(st.text(st.characters(), max_size=5)),
    st.just(st.floats(allow_nan=False)),
    st.just(ATOM),
)
TUPLES = st.lists(COLUMN, min_size=1, max_size=4).flatmap(
    lambda columns: st.lists(st.tuples(*columns), min_size=16, max_size=40)
)
FLAT = COLUMN.flatmap(lambda column: st.lists(column, min_size=16, max_size=40))
ODD = st.lists(st.one_of(ATOM, st.tuples(ATOM), st.tuples(ATOM, st.lists(ATOM))), max_size=40)


def kinds(value: Any) -> Any:
    return tuple(map(kinds, value)) if isinstance(value, (tuple, list)) else type(value)


@given(st.one_of(TUPLES, FLAT, ODD), st.booleans())
def test_any_batch_comes_back(values: list[Any], timed: bool) -> None:
    timestamps = list(range(-2, len(values) - 2)) if timed and values else None
    found, times = decode(encode_records(values, timestamps))
    assert found == values
    assert kinds(found) == kinds(values)
    assert times == timestamps


@pytest.mark.parametrize(
    "values",
    [
        list(range(16)),
        [2**40] * 16,
        [0.5] * 16,
        ["a"] * 16,
        [("a", 1, None, 2**70, True, b"s")] * 16,
    ],
)
def test_plain_batches_are_columns(values: list[Any]) -> None:
    assert encode_records(values, None)[:1] == COLUMNS


@pytest.mark.parametrize(
    "values",
    [
        list(range(15)),
        [*range(16), True],
        [("a", 1), *[("a",)] * 16],
        [("a", [1])] * 16,
        [("a", 1)] * 16 + [("a", [1])],
        ["long" * 40] * 16,
        ["with\0zero"] * 16,
        [{"a": 1}] * 16,
        [()] * 16,
    ],
)
def test_other_batches_are_not(values: list[Any]) -> None:
    assert encode_columns(values, None) is None
    assert decode(encode_records(values, None)) == (values, None)


def test_not_a_number_and_the_negative_zero_stay() -> None:
    found, _ = decode(encode_records([math.nan, -0.0] * 8, None))
    assert all(map(math.isnan, found[::2]))
    assert {math.copysign(1, zero) for zero in found[1::2]} == {-1.0}


def test_event_times_that_are_no_whole_numbers_stay() -> None:
    for time in (0.5, 1 << 64, None, Decimal("0.5")):
        times: list[Any] = [time] * 16
        assert decode(encode_records([1] * 16, times)) == ([1] * 16, times)


def test_equal_texts_of_a_column_with_few_are_one_object() -> None:
    data = encode_columns([(f"word{n % 4}", n) for n in range(100)], None)
    assert data is not None
    found, _ = decode_columns(data)
    assert len({id(word) for word, _ in found}) == 4
