"""Rolling aggregations on streams of records of every shape."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import pytest
from drawn import job_examples
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common import Row
from millrace.common.errors import JobDefinitionError, UserFunctionError
from millrace.datastream import ReduceFunction, StreamExecutionEnvironment
from millrace.testing import Faults, run_local

Point = namedtuple("Point", "key x serial")


@dataclass
class Car:
    key: str
    x: int
    serial: int


@dataclass(frozen=True)
class Plate:
    key: str
    x: int
    serial: int


def row(key: str, x: int, serial: int) -> Row:
    return Row(key=key, x=x, serial=serial)


def record(key: str, x: int, serial: int) -> dict[str, Any]:
    return {"key": key, "x": x, "serial": serial}


def triple(*fields: Any) -> tuple[Any, ...]:
    return fields


def unnamed_row(*fields: Any) -> Row:
    return Row(*fields)


SHAPES = {
    "tuple": (triple, 0, 1),
    "named tuple": (Point, "key", "x"),
    "dataclass": (Car, "key", "x"),
    "frozen dataclass": (Plate, lambda plate: plate.key, 1),
    "row": (row, "key", "x"),
    "row by position": (unnamed_row, 0, 1),
    "dict": (record, "key", "x"),
}


def model(method: str, records: list[tuple]) -> list[tuple]:
    """What comes out per record in, as tuples (key, x, serial)."""
    results, last = [], {}
    for key, x, serial in records:
        old = last.get(key)
        if old is None:
            new = (key, x, serial)
        elif method == "sum":
            new = (key, old[1] + x, old[2])
        elif method in ("min", "max"):
            new = (key, (min if method == "min" else max)(old[1], x), old[2])
        else:
            better = x < old[1] if method == "min_by" else x > old[1]
            new = (key, x, serial) if better else old
        last[key] = new
        results.append(new)
    return results


def values_of(shape: str, found: Any) -> tuple:
    if shape == "dict":
        return tuple(found.values())
    return (found.key, found.x, found.serial) if "dataclass" in shape else tuple(found)


@settings(max_examples=job_examples(20), deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 3)), max_size=20),
    st.sampled_from(["sum", "min", "max", "min_by", "max_by"]),
    st.sampled_from(sorted(SHAPES)),
    st.integers(0, 99),
    st.sampled_from([Faults(), Faults(0.2, 0.3, 0.2, 0.1)]),
)
def test_against_a_model(pairs, method, shape, seed, faults) -> None:
    make, key, field = SHAPES[shape]
    records = [(name, x, serial) for serial, (name, x) in enumerate(pairs)]
    with run_local(2, seed, faults=faults, epoch_records=4, buffer_records=2):
        env = StreamExecutionEnvironment.get_execution_environment()
        stream = env.from_collection([make(*fields) for fields in records])
        rolled = getattr(stream.key_by(key), method)(field)
        found = list(rolled.execute_and_collect())
    assert [values_of(shape, one) for one in found] == model(method, records)
    assert {type(one) for one in found} <= {type(make("a", 1, 1))}


class Longest(ReduceFunction):
    def open(self, runtime_context):
        self.opened = True

    def reduce(self, value1, value2):
        assert self.opened
        return max(value1, value2, key=len)


@pytest.mark.parametrize("function", [Longest(), lambda a, b: max(a, b, key=len)])
def test_reduce(function) -> None:
    with run_local(epoch_records=1):
        env = StreamExecutionEnvironment.get_execution_environment()
        words = env.from_collection(["a", "bb", "c", "dd", "eee"])
        found = list(words.key_by(lambda word: 1).reduce(function).execute_and_collect())
    assert found == ["a", "bb", "bb", "bb", "eee"]


def test_a_plain_stream() -> None:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        sums = env.from_collection([1, 2, 3]).key_by(lambda n: n % 2).sum()
        assert list(sums.execute_and_collect()) == [1, 2, 4]


@pytest.mark.parametrize("method", ["sum", "min", "max", "min_by", "max_by"])
def test_wrong_fields(method) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    keyed = env.from_collection([1]).key_by(abs)
    for bad in (1.5, None, True, ("x",)):
        with pytest.raises(JobDefinitionError, match="by its position or its name, got"):
            getattr(keyed, method)(bad)
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        keyed = env.from_collection([1, 1]).key_by(abs)
        with pytest.raises(UserFunctionError, match="the whole value is field 0"):
            list(getattr(keyed, method)(1).execute_and_collect())
