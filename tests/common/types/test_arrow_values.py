"""Whatever values of a type are, they come back from a column as they were."""

from __future__ import annotations

import enum
import pickle
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.errors import SerializationError
from millrace.common.time.amounts import Instant
from millrace.common.types.arrow_values import RawCodec, from_arrow, to_arrow
from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.row import Row, RowKind
from millrace.common.types.typeinfo import TypeInformation, Types


class Colour(enum.Enum):
    RED = 1
    BLUE = "b"


class Access(enum.Flag):
    READ = 1
    WRITE = 2


@dataclass(frozen=True)
class Point:
    x: int
    note: str | None = None


class Reading(NamedTuple):
    sensor: str
    values: list[float]


PICKLE = RawCodec(pickle.dumps, pickle.loads)
WALL = datetime(2026, 11, 21, 7, 30, 0, 5)
ZONED = [
    WALL,
    WALL.replace(fold=1, tzinfo=ZoneInfo("Europe/Berlin")),
    WALL.replace(tzinfo=timezone(timedelta(hours=-3, microseconds=1))),
    WALL.replace(tzinfo=timezone(timedelta(hours=1), "MEZ +1")),
]
EXAMPLES: list[tuple[TypeInformation[Any], Sequence[Any]]] = [
    (Types.BOOLEAN(), [True, False]),
    (Types.BYTE(), [-128, 127]),
    (Types.LONG(), [2**63 - 1, -(2**63)]),
    (Types.BIG_INT(), [10**37, -5]),
    (Types.DOUBLE(), [0.1, float("inf")]),
    (Types.BIG_DEC(), [Decimal("-1.5")]),
    (Types.STRING(), ["", "é\n"]),
    (Types.of(bytes), [b"", b"\0"]),
    (Types.of(complex), [1 + 2j]),
    (Types.SQL_DATE(), [date(1, 1, 1), date(9999, 12, 31)]),
    (Types.SQL_TIME(), [time(23, 59, 59, 999999)]),
    (Types.SQL_TIMESTAMP(), [WALL]),
    (Types.INSTANT(), [Instant(-1, 999_999_999), Instant(5, 1)]),
    (Types.of(datetime), ZONED),
    (Types.of(time), [value.timetz() for value in ZONED if not value.fold]),
    (Types.of(timedelta), [timedelta(days=-1, microseconds=7)]),
    (Types.of(uuid.UUID), [uuid.UUID(int=7)]),
    (Types.of(Fraction), [Fraction(-1, 3)]),
    (Types.of(Colour), [Colour.RED, Colour.BLUE]),
    (Types.of(Access), [Access.READ, Access.READ | Access.WRITE]),
    (Types.of(Point), [Point(1), Point(2, "two")]),
    (Types.of(Reading), [Reading("a", [1.0]), Reading("b", [])]),
    (Types.of(set[int]), [{1, 2}, set()]),
    (Types.of(frozenset[str]), [frozenset({"a"})]),
    (Types.of(tuple[int, ...]), [(1, 2, 3), ()]),
    (Types.LIST(Types.INSTANT()), [[Instant(1, 0), None], []]),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), [b"ab"]),
    (Types.MAP(Types.STRING(), Types.LIST(Types.LONG())), [{"a": [1], "b": None}, {}]),
    (Types.MAP(Types.of(Colour), Types.of(Point)), [{Colour.RED: Point(1)}]),
    (Types.TUPLE([Types.LONG(), Types.STRING()]), [(1, "a"), (2, None)]),
    (Types.ROW([Types.LONG()]), [Row(1)]),
    (Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.of(Point)]), [Row(a=1, b=Point(3))]),
    (Types.PICKLED_BYTE_ARRAY(), [{"any": object}]),
    (Types.of(int | str), [1, "1"]),
]


def both_ways(values: Sequence[Any], type_info: TypeInformation[Any]) -> list[Any]:
    column = to_arrow(values, type_info, PICKLE)
    assert column.type == arrow_type(type_info.logical_type)
    return from_arrow(column, type_info, PICKLE)


@pytest.mark.parametrize(("type_info", "values"), EXAMPLES, ids=lambda x: str(x)[:30])
def test_values_come_back(type_info: TypeInformation[Any], values: Sequence[Any]) -> None:
    found = both_ways([None, *values, None], type_info)
    assert found == [None, *values, None]
    assert list(map(type, found[1:-1])) == list(map(type, values))
    for value, again in zip(values, found[1:-1], strict=True):
        if isinstance(value, (datetime, time)):
            assert (value.tzinfo, value.fold) == (again.tzinfo, again.fold)


@pytest.mark.parametrize(("type_info", "values"), EXAMPLES, ids=lambda x: str(x)[:30])
def test_values_come_back_from_inside_of_others(
    type_info: TypeInformation[Any], values: Sequence[Any]
) -> None:
    row = Types.TUPLE([Types.LIST(type_info), Types.LONG()])
    assert both_ways([([*values, None], 1), None, ([], None)], row) == [
        ([*values, None], 1),
        None,
        ([], None),
    ]


@pytest.mark.parametrize(("type_info", "values"), EXAMPLES, ids=lambda x: str(x)[:30])
def test_parts_of_columns_are_read(type_info: TypeInformation[Any], values: Sequence[Any]) -> None:
    whole = to_arrow([None, *values, *values], type_info, PICKLE)
    assert from_arrow(whole.slice(1 + len(values)), type_info, PICKLE) == list(values)
    chunked = pa.chunked_array([whole, whole])
    assert from_arrow(chunked, type_info, PICKLE) == [None, *values, *values] * 2


@given(
    st.lists(
        st.none()
        | st.dictionaries(
            st.text(max_size=2),
            st.none() | st.lists(st.none() | st.integers(-9, 9), max_size=3),
            max_size=3,
        ),
        max_size=6,
    ),
    st.integers(0, 6),
)
def test_maps_of_lists_come_back_from_any_slice(values: list[Any], start: int) -> None:
    type_info = Types.MAP(Types.STRING(), Types.LIST(Types.LONG()))
    assert from_arrow(to_arrow(values, type_info).slice(start), type_info) == values[start:]


@pytest.mark.parametrize(
    ("type_info", "value"),
    [
        (Types.LONG(), "7"),
        (Types.LONG(), 2**63),
        (Types.LONG(), 1.5),
        (Types.INT(), 2**31),
        (Types.BYTE(), 200),
        (Types.STRING(), 7),
        (Types.BIG_INT(), 10**40),
        (Types.BIG_DEC(), Decimal("1e-30")),
        (Types.SQL_TIMESTAMP(), WALL.replace(tzinfo=ZoneInfo("UTC"))),
        (Types.SQL_DATE(), WALL),
        (Types.INSTANT(), Instant(10**12, 0)),
        (Types.of(Point), Reading("a", [])),
        (Types.of(Fraction), 1.5),
        (Types.LIST(Types.LONG()), [1, "2"]),
        (Types.TUPLE([Types.LONG()]), (1, 2)),
        (Types.ROW([Types.LONG()]), Row.of_kind(RowKind.DELETE, 1)),
        (Types.PICKLED_BYTE_ARRAY(), 1),
    ],
)
def test_what_does_not_fit_is_refused_and_shown(
    type_info: TypeInformation[Any], value: Any
) -> None:
    with pytest.raises(SerializationError) as refused:
        to_arrow([None, value], type_info)
    assert repr(value) in str(refused.value)


def test_the_first_value_that_does_not_fit_is_told_with_its_place() -> None:
    with pytest.raises(SerializationError, match=r"'x' \(position 2\).*LONG.*BIGINT"):
        to_arrow([1, 2, "x", "y"], Types.LONG())


def test_a_column_of_another_type_is_refused() -> None:
    with pytest.raises(SerializationError, match="does not hold"):
        from_arrow(pa.array([1]), Types.TUPLE([Types.LONG()]))
