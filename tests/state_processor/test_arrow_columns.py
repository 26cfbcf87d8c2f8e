"""Types of columns, found from values and from declarations, and values of these types in Arrow."""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from array import array
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common import Row, Types
from millrace.common.errors import StateError
from millrace.common.types.inferred_type import inferred_common_type, inferred_type
from millrace.common.types.logical.spark_type import spark_ddl
from millrace.state_processor.arrow_columns import FrameColumn, arrow_batches, column_type, has_json


class Point(NamedTuple):
    x: int
    y: float


@dataclass
class User:
    name: str
    age: int | None = None


class Color(enum.Enum):
    RED = 1


UTC = dt.UTC


@pytest.mark.parametrize(
    ("values", "ddl", "expected"),
    [
        ([1, None, 3], "bigint", None),
        ([1, 2.5], "double", [1.0, 2.5]),
        ([2**53, 2.5], "double", [2.0**53, 2.5]),
        ([1, 2**60 + 1], "bigint", None),
        ([2**60 + 1, Decimal("1.5")], "decimal(38,18)", None),
        ([True], "boolean", None),
        (["a"], "string", None),
        ([b"a", bytearray(b"b")], "binary", [b"a", b"b"]),
        ([Decimal("1.5"), 2], "decimal(38,18)", [Decimal("1.5"), Decimal(2)]),
        ([dt.date(2026, 1, 2)], "date", None),
        ([dt.datetime(2026, 1, 2)], "timestamp_ntz", None),
        ([dt.datetime(2026, 1, 2, tzinfo=UTC)], "timestamp", None),
        ([dt.timedelta(seconds=1)], "interval day to second", None),
        ([dt.time(1, 2), Color.RED], "string", ["01:02:00", "RED"]),
        ([[1], [2, None], []], "array<bigint>", None),
        ([{1, 2}], "array<bigint>", [[1, 2]]),
        ([array("q", [1])], "array<bigint>", [[1]]),
        ([{"a": 1}, {}], "map<string, bigint>", [[("a", 1)], []]),
        ([{}], "map<string, string>", [[]]),
        ([(1, "a")], "struct<`f0`: bigint, `f1`: string>", [{"f0": 1, "f1": "a"}]),
        ([Point(1, 2.0)], "struct<`x`: bigint, `y`: double>", [{"x": 1, "y": 2.0}]),
        (
            [Row(name="a"), Row(name="b", age=1)],
            "struct<`name`: string, `age`: bigint>",
            [{"name": "a", "age": None}, {"name": "b", "age": 1}],
        ),
        (
            [User("a"), User("b", 2)],
            "struct<`name`: string, `age`: bigint>",
            [{"name": "a", "age": None}, {"name": "b", "age": 2}],
        ),
        ([np.int32(4), 5], "bigint", [4, 5]),
        ([np.array([1.5, 2.5])], "array<double>", [[1.5, 2.5]]),
        ([uuid.UUID(int=1)], "string", ["00000000-0000-0000-0000-000000000001"]),
    ],
)
def test_values_of_a_column(values: list[Any], ddl: str, expected: list[Any] | None) -> None:
    """The type is the one that all values have; each value is kept."""
    column = FrameColumn("v", inferred_common_type(values))
    assert spark_ddl(column.stored) == ddl
    assert not has_json(column.type)
    (batch,) = arrow_batches([column], [(value,) for value in values])
    assert batch.column(0).to_pylist() == (values if expected is None else expected)


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([1, "a"], ["1", '"a"']),
        ([{"a": 1}, [1]], ['{"a": 1}', "[1]"]),
        ([{(1, 2): "x"}, 1], ['{"map": [[[1, 2], "x"]]}', "1"]),
        ([2**70], [str(2**70)]),
        ([1, 2**60 + 1, 0.5], ["1", str(2**60 + 1), "0.5"]),
        ([0.5, -(2**53) - 1], ["0.5", str(-(2**53) - 1)]),
        ([complex(1, 2)], ['"(1+2j)"']),
        ([Point(1, 2.0), "a"], ['{"x": 1, "y": 2.0}', '"a"']),
        ([b"\x01", 1], ['{"bytes": "AQ=="}', "1"]),
    ],
)
def test_what_has_no_type_is_json(values: list[Any], texts: list[str]) -> None:
    """And the column says so."""
    column = FrameColumn("v", inferred_common_type(values))
    assert column.ddl == "`v` string COMMENT 'JSON'"
    (batch,) = arrow_batches([column], [(value,) for value in values])
    assert batch.column(0).to_pylist() == texts


def test_json_within_a_column() -> None:
    """Only the part that has no type is text."""
    column = FrameColumn("a`b", inferred_common_type([[1, "x"], [2]]))
    assert column.ddl == "`a``b` array<string> COMMENT 'JSON'"
    (batch,) = arrow_batches([column], [([1, "x"],)])
    assert batch.column(0).to_pylist() == [["1", '"x"']]


@pytest.mark.parametrize(
    ("seen", "later"),
    [(1, "a"), ("a", 1), ([1], 2), ({"a": 1}, [1]), ((1,), (1, 2)), (1, 2**70), (0.5, 2**60 + 1)],
)
def test_a_value_that_came_later_does_not_fit(seen: Any, later: Any) -> None:
    """It is not dropped or bent: the column is named."""
    with pytest.raises(StateError, match=r"column 'v' is .*sample=None"):
        list(arrow_batches([FrameColumn("v", inferred_type(seen))], [(seen,), (later,)]))


@pytest.mark.parametrize("column", [inferred_type(1), column_type(Types.LONG())])
def test_whole_numbers_of_64_bits_that_came_later_fit(column: Any) -> None:
    (batch,) = arrow_batches([FrameColumn("v", column)], [(1,), (2**60 + 1,)])
    assert batch.column(0).to_pylist() == [1, 2**60 + 1]


def test_declared_types() -> None:
    """What is declared need not be looked for."""
    row = Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.LIST(Types.STRING())])
    found = column_type(row)
    assert found is not None
    assert spark_ddl(found) == "struct<`a`: bigint, `b`: array<string>>"
    assert column_type(Types.MAP(Types.STRING(), Types.PICKLED_BYTE_ARRAY())) is None
    pair = column_type(Types.TUPLE([Types.INT(), Types.PRIMITIVE_ARRAY(Types.BYTE())]))
    assert pair is not None
    assert spark_ddl(pair) == "struct<`f0`: bigint, `f1`: binary>"


PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(
    PLAIN | st.dates() | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text() | st.integers(), inner, max_size=3)
        | st.tuples(inner, inner)
    ),
    max_leaves=6,
)


@given(st.lists(VALUES, max_size=5))
def test_any_values_have_a_common_type(values: list[Any]) -> None:
    """Whatever is in a state, it can be shown: the type of all fits each."""
    column = FrameColumn("v", inferred_common_type(values))
    rows = [value for batch in arrow_batches([column], [(v,) for v in values])
            for value in batch.column(0).to_pylist()]  # fmt: skip
    assert [value is None for value in rows] == [value is None for value in values]
