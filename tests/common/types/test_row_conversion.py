"""Rows as a declared type wants them."""

from __future__ import annotations

import pickle

import pytest

from millrace.common import Row, RowKind, Types
from millrace.common.errors import SerializationError
from millrace.common.types.row_conversion import row_conversion

PERSON = Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])


@pytest.mark.parametrize(
    "value",
    [("Ann", 11), ["Ann", 11], Row("Ann", 11), Row(n="Ann", a=11), {"age": 11, "name": "Ann"}],
)
def test_everything_with_fields_becomes_a_row_of_the_types_names(value) -> None:
    assert row_conversion(PERSON)(value) == Row(name="Ann", age=11)


def test_a_row_type_without_names_names_its_fields_by_position() -> None:
    converted = row_conversion(Types.ROW([Types.INT(), Types.INT()]))((1, 2))
    assert (converted.f0, converted.f1) == (1, 2)


def test_kind_and_none_are_kept() -> None:
    convert = row_conversion(PERSON)
    assert convert(Row.of_kind(RowKind.DELETE, "Ann", 11)).get_row_kind() is RowKind.DELETE
    assert convert(None) is None


def test_the_value_itself_is_not_changed() -> None:
    value = Row("Ann", 11)
    row_conversion(PERSON)(value)
    assert value == Row("Ann", 11)


@pytest.mark.parametrize(
    ("type_info", "value", "expected"),
    [
        (Types.TUPLE([Types.INT(), PERSON]), (1, ("Ann", 11)), (1, Row(name="Ann", age=11))),
        (Types.LIST(PERSON), [("Ann", 11)], [Row(name="Ann", age=11)]),
        (Types.MAP(Types.INT(), PERSON), {1: ("Ann", 11)}, {1: Row(name="Ann", age=11)}),
        (
            Types.ROW_NAMED(["who"], [PERSON]),
            (("Ann", 11),),
            Row(who=Row(name="Ann", age=11)),
        ),
    ],
)
def test_rows_inside_others(type_info, value, expected) -> None:
    assert row_conversion(type_info)(value) == expected
    assert row_conversion(type_info)(None) is None


@pytest.mark.parametrize(
    "type_info",
    [None, Types.INT(), Types.TUPLE([Types.INT()]), Types.LIST(Types.INT()), Types.STRING()],
)
def test_a_type_without_rows_converts_nothing(type_info) -> None:
    assert row_conversion(type_info) is None


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (("Ann",), "1 fields, but its declared type ROW.*has 2"),
        ("Ann", "declared as ROW.*is 'Ann'"),
    ],
)
def test_what_does_not_fit_is_refused(value, message) -> None:
    with pytest.raises(SerializationError, match=message):
        row_conversion(PERSON)(value)


def test_a_conversion_travels() -> None:
    assert pickle.loads(pickle.dumps(row_conversion(PERSON)))(("Ann", 11)).name == "Ann"
