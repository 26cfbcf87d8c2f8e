"""Types of records, keys and state."""

from __future__ import annotations

import pickle
from array import array
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.time import Instant
from millrace.common.types import Row, RowKind
from millrace.common.types.typeinfo import TypeInformation, Types

BASIC = [
    (Types.STRING(), "a", 1),
    (Types.CHAR(), "a", 1),
    (Types.BOOLEAN(), True, 1),
    (Types.BYTE(), 1, 128),
    (Types.SHORT(), 1, "1"),
    (Types.INT(), 1, 1.0),
    (Types.LONG(), 1, None),
    (Types.BIG_INT(), 2**99, "1"),
    (Types.FLOAT(), 1.5, "1"),
    (Types.DOUBLE(), 1, "1.5"),
    (Types.BIG_DEC(), Decimal("1.50"), 1.5),
    (Types.INSTANT(), Instant(1, 2), 1),
    (Types.SQL_DATE(), date(2013, 1, 1), datetime(2013, 1, 1)),
    (Types.SQL_TIME(), time(1, 2, 3, 4), time(1, 2, tzinfo=UTC)),
    (Types.SQL_TIMESTAMP(), datetime(1969, 12, 31, 23, 0, 0, 1), datetime(2013, 1, 1, tzinfo=UTC)),
]
COMPOSITE = [
    (Types.LIST(Types.LONG()), [1, None], ["a"]),
    (Types.MAP(Types.STRING(), Types.SQL_DATE()), {"a": date(2013, 1, 1)}, {"a": 1}),
    (Types.TUPLE([Types.STRING(), Types.BIG_DEC()]), ("a", Decimal(1)), ("a",)),
    (Types.ROW([Types.STRING()]), Row("a"), ("a", "b")),
    (Types.ROW_NAMED(["d"], [Types.SQL_DATE()]), Row(d=date(2013, 1, 1)), Row(d="a")),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"ab", "ab"),
    (Types.PRIMITIVE_ARRAY(Types.LONG()), array("q", [1]), b"ab"),
    (Types.BASIC_ARRAY(Types.SQL_DATE()), [date(2013, 1, 1)], [1]),
    (Types.OBJECT_ARRAY(Types.TUPLE([Types.INT()])), [(1,)], [1]),
    (Types.LIST(Types.LIST(Types.BIG_DEC())), [[Decimal(1)]], [[1]]),
]
ALL = [*BASIC, *COMPOSITE]


@pytest.mark.parametrize(("kind", "good", "bad"), ALL, ids=lambda value: str(value)[:20])
def test_accepts(kind: TypeInformation[Any], good: Any, bad: Any) -> None:
    """Values are told from others."""
    assert kind.accepts(good)
    assert not kind.accepts(bad)


@pytest.mark.parametrize(("kind", "good"), [row[:2] for row in ALL], ids=str)
def test_internal_form_gives_the_same_value(kind: TypeInformation[Any], good: Any) -> None:
    """Nothing is lost on the way in and out."""
    again = kind.from_internal_type(kind.to_internal_type(good))
    assert again == good
    assert type(again) is type(good)
    assert kind.from_internal_type(kind.to_internal_type(None)) is None


@pytest.mark.parametrize(("kind", "good"), [row[:2] for row in ALL], ids=str)
def test_no_conversion_means_none(kind: TypeInformation[Any], good: Any) -> None:
    """A type that needs no conversion hands the value on."""
    assert kind.need_conversion() or kind.to_internal_type(good) is good


@pytest.mark.parametrize("kind", [row[0] for row in ALL] + [Types.PICKLED_BYTE_ARRAY()], ids=str)
def test_types_are_values(kind: TypeInformation[Any]) -> None:
    """They compare by structure, hash and pickle."""
    again = pickle.loads(pickle.dumps(kind))
    assert again == kind
    assert hash(again) == hash(kind)


def test_different_types_differ() -> None:
    """No two of them are equal."""
    kinds = [row[0] for row in ALL]
    assert len(set(kinds)) == len(kinds)
    assert Types.BASIC_ARRAY(Types.INT()) != Types.OBJECT_ARRAY(Types.INT())
    assert Types.ROW([Types.INT()]) != Types.TUPLE([Types.INT()])


@pytest.mark.parametrize("kind", [row[0] for row in BASIC], ids=str)
def test_single_values_are_immutable(kind: TypeInformation[Any]) -> None:
    """They may be handed out of state without a copy."""
    assert kind.is_immutable
    assert Types.TUPLE([kind, kind]).is_immutable
    assert not Types.LIST(kind).is_immutable


def test_what_holds_something_mutable_is_mutable() -> None:
    """A tuple is as safe as its fields."""
    assert not Types.TUPLE([Types.INT(), Types.LIST(Types.INT())]).is_immutable
    assert not Types.PICKLED_BYTE_ARRAY().is_immutable
    assert not Types.ROW([Types.INT()]).is_immutable
    assert not Types.MAP(Types.INT(), Types.INT()).is_immutable


def test_names() -> None:
    """As people write them."""
    assert Types.ROW_NAMED(["a"], [Types.INT()]).name == "ROW(a: INT)"
    assert Types.MAP(Types.STRING(), Types.LIST(Types.LONG())).name == "MAP(STRING, LIST(LONG))"
    assert Types.PRIMITIVE_ARRAY(Types.BYTE()).name == "PRIMITIVE_ARRAY(BYTE)"


def test_row_type_knows_its_fields() -> None:
    """Names are made up if there are none."""
    kind = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])
    assert kind.get_field_names() == ["a", "b"]
    assert kind.get_field_types() == [Types.INT(), Types.STRING()]
    assert (kind.get_field_index("b"), kind.get_field_index("c")) == (1, -1)
    assert Types.ROW([Types.INT()]).get_field_names() == ["f0"]


def test_row_type_takes_other_shapes() -> None:
    """As in PyFlink, tuples, dicts and objects become rows."""
    kind = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])
    for value in [(1, "x"), [1, "x"], {"b": "x", "a": 1}]:
        assert kind.from_internal_type(kind.to_internal_type(value)) == Row(a=1, b="x")
    with pytest.raises(SerializationError, match="5 cannot be written as ROW"):
        kind.to_internal_type(5)


def test_row_type_keeps_the_kind_of_change() -> None:
    """A changelog must stay one."""
    kind = Types.ROW([Types.INT()])
    row = Row.of_kind(RowKind.UPDATE_BEFORE, 1)
    assert kind.from_internal_type(kind.to_internal_type(row)) == row


@pytest.mark.parametrize("value", [datetime(2013, 1, 1, tzinfo=UTC), date(2013, 1, 1), "2013"])
def test_a_value_that_would_change_is_refused(value: object) -> None:
    """A zone would be lost without a word."""
    with pytest.raises(SerializationError, match="cannot be written as SQL_TIMESTAMP"):
        Types.SQL_TIMESTAMP().to_internal_type(value)


def test_what_is_no_type_is_refused_when_the_type_is_made() -> None:
    """A Python class, or a method that was not called."""
    with pytest.raises(JobDefinitionError, match=r"Types.LIST takes types such as Types.LONG\(\)"):
        Types.LIST(int)  # type: ignore[arg-type]
    with pytest.raises(JobDefinitionError, match=r"Types.TUPLE takes types"):
        Types.TUPLE([Types.LONG])  # type: ignore[list-item]
    with pytest.raises(JobDefinitionError, match="one name per field"):
        Types.ROW_NAMED(["a"], [])


@given(st.datetimes(), st.times(), st.dates(), st.decimals(allow_nan=False))
def test_times_and_decimals_survive(moment: datetime, hour: time, day: date, x: Decimal) -> None:
    """To the last microsecond and digit."""
    kind = Types.TUPLE([Types.SQL_TIMESTAMP(), Types.SQL_TIME(), Types.SQL_DATE(), Types.BIG_DEC()])
    value = (moment.replace(fold=0), hour.replace(fold=0), day, x)
    again = kind.from_internal_type(kind.to_internal_type(value))
    assert again == value
    assert str(again[3]) == str(x)
