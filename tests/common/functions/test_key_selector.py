"""What ``key_by`` takes, as extractors of keys."""

from __future__ import annotations

import pickle
from collections import UserDict, namedtuple
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.errors import JobDefinitionError, JobExecutionError
from millrace.common.functions import KeySelector
from millrace.common.functions.key_selector import batch_keys, resolve_key_selector
from millrace.common.types import Row

Point = namedtuple("Point", ["x", "y"])


@dataclass
class Person:
    """A record with attributes."""

    x: str
    y: int


class TakeX(KeySelector[Any, str]):
    """A user's selector."""

    def get_key(self, value: Any) -> str:
        return value[0]


def take_x(value: Any) -> Any:
    """A user's function."""
    return value[0]


RECORDS = [Row(x="a", y=1), {"x": "a", "y": 1}, UserDict(x="a", y=1), Point("a", 1), Person("a", 1)]
POSITIONAL = [("a", 1), ["a", 1], Row("a", 1), Point("a", 1)]


def keys(selector: Any, record: Any) -> list[Any]:
    """The key by every way: one, batch, and both after pickling."""
    one, batch = resolve_key_selector(selector), batch_keys(selector)
    one_again, batch_again = pickle.loads(pickle.dumps((one, batch)))
    return [one(record), *batch([record]), one_again(record), *batch_again([record])]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_by_field_name(record: Any) -> None:
    """Keys of rows, dicts, mappings, named tuples and objects."""
    assert keys("x", record) == ["a"] * 4


@pytest.mark.parametrize("record", POSITIONAL, ids=lambda record: type(record).__name__)
def test_by_position(record: Any) -> None:
    """Keys of everything that has positions."""
    assert keys(0, record) == ["a"] * 4
    assert keys(-1, record) == [1] * 4


@pytest.mark.parametrize("selector", [take_x, TakeX()], ids=["callable", "KeySelector"])
def test_by_function(selector: Any) -> None:
    """A callable or Flink's interface."""
    assert keys(selector, ("a", 1)) == ["a"] * 4


@pytest.mark.parametrize("selector", [("x", "y"), ["x", "y"], (0, 1), ("x", 1), (take_x, "y")])
def test_several_make_a_tuple(selector: Any) -> None:
    """In their order, of any sort."""
    assert keys(selector, Point("a", 1)) == [("a", 1)] * 4


def test_a_tuple_of_one_is_a_tuple() -> None:
    """As it was written."""
    assert keys((0,), ("a", 1)) == [("a",)] * 4
    assert keys((("x", "y"), "x"), Point("a", 1)) == [(("a", 1), "a")] * 4


def test_a_batch_may_mix_types() -> None:
    """Each record is asked in its own way."""
    assert batch_keys("x")(RECORDS) == ["a"] * len(RECORDS)


@pytest.mark.parametrize("selector", ["x", 0, ("x", "y"), take_x])
def test_an_empty_batch_has_no_keys(selector: Any) -> None:
    """Whatever takes them."""
    assert batch_keys(selector)([]) == []


@given(st.lists(st.tuples(st.integers(), st.text())))
def test_batches_and_single_records_agree(pairs: list[tuple[int, str]]) -> None:
    """For every way of naming the key."""
    points = [Point(*pair) for pair in pairs]
    for selector in ("x", 1, ("y", 0), take_x):
        one = resolve_key_selector(selector)
        assert batch_keys(selector)(points) == [one(point) for point in points]


@pytest.mark.parametrize("record", [*RECORDS, 5, ("a", 1)], ids=str)
@pytest.mark.parametrize("selector", ["z", ("z", "z")])
def test_a_missing_field_names_record_and_field(selector: Any, record: Any) -> None:
    """One by one and in batches."""
    with pytest.raises(JobExecutionError, match=r"key_by\('z'\): the record .* has no field 'z'"):
        resolve_key_selector(selector)(record)
    with pytest.raises(JobExecutionError, match=r"has no field 'z'"):
        batch_keys(selector)([record, record])


@pytest.mark.parametrize("selector", [None, 1.5, True, (), ("x", None), b"x"])
def test_what_names_no_key_is_refused(selector: Any) -> None:
    """When the program is built."""
    with pytest.raises(JobDefinitionError, match="key_by takes a callable, a KeySelector"):
        resolve_key_selector(selector)
