"""Rows."""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.types.row import Row, RowKind, named_row

NAMES = st.lists(st.text("abcxyz", min_size=1, max_size=4), unique=True, min_size=1, max_size=5)


def test_by_position_name_and_attribute() -> None:
    """All ways to a value, in the order the names were given."""
    row = Row(name="Alice", age=11)
    assert (row[0], row["name"], row.name) == ("Alice",) * 3
    assert row[0:2] == ["Alice", 11]
    assert list(row) == ["Alice", 11]
    assert len(row) == 2


def test_row_as_a_class() -> None:
    """A row of names makes rows with these names."""
    person = Row("name", "age")
    assert person("Alice", 11) == Row(name="Alice", age=11)
    with pytest.raises(ValueError, match="takes 2 values, got 1"):
        person("Alice")


def test_names_and_positions_do_not_mix() -> None:
    """It would be unclear what the positions are."""
    with pytest.raises(ValueError, match="all its values with names or all without"):
        Row(1, a=2)


def test_a_missing_field_is_named_with_those_there_are() -> None:
    """The error tells what could be meant."""
    row = Row(name="Alice", age=11)
    with pytest.raises(AttributeError, match="no field 'nmae': the row has the fields name, age"):
        _ = row.nmae
    with pytest.raises(KeyError, match="no field 'nmae'"):
        _ = row["nmae"]
    with pytest.raises(AttributeError, match="the row has no field names"):
        _ = Row(1).name


def test_values_change_by_item_only() -> None:
    """Attributes cannot be set, as in PyFlink: a typing mistake would go unseen."""
    row = Row(name="Alice", age=11)
    row["age"] = 12
    row[0] = "Bob"
    assert row == Row(name="Bob", age=12)
    with pytest.raises(AttributeError):
        row.age = 13  # type: ignore[misc]


def test_contains_looks_at_names_or_values() -> None:
    """Names if there are any, else values."""
    assert "age" in Row(age=11)
    assert 11 not in Row(age=11)
    assert 11 in Row(11)


def test_equality_takes_names_and_kind_into_account() -> None:
    """Rows are equal if nothing about them differs."""
    assert Row(1, 2) == Row(1, 2)
    assert Row(1) != Row(a=1)
    assert Row(a=1) != Row(b=1)
    assert Row(1) != Row.of_kind(RowKind.DELETE, 1)
    assert Row(1) != (1,)


def test_equal_rows_hash_alike() -> None:
    """So they can be keys."""
    assert len({Row(a=1, b="x"), Row(a=1, b="x")}) == 1


def test_as_dict() -> None:
    """Flat, or all the way down."""
    inner = Row(x=1)
    row = Row(a=inner, b=[inner], c={"k": inner})
    assert row.as_dict()["a"] is inner
    assert row.as_dict(recursive=True) == {"a": {"x": 1}, "b": [{"x": 1}], "c": {"k": {"x": 1}}}
    with pytest.raises(TypeError, match="has no field names"):
        Row(1).as_dict()


def test_field_names_can_be_given_later() -> None:
    """One name per value."""
    row = Row(1, 2)
    row.set_field_names(["a", "b"])
    assert row.b == 2
    assert row.get_fields_by_names(["b", "a"]) == [2, 1]
    with pytest.raises(ValueError, match="1 names for 2 values"):
        row.set_field_names(["a"])


def test_repr() -> None:
    """With and without names."""
    assert repr(Row(name="Alice", age=11)) == "Row(name='Alice', age=11)"
    assert repr(Row("Alice", 11)) == "<Row('Alice', 11)>"


def test_copies() -> None:
    """A shallow copy has values of its own."""
    row = Row(a=[1])
    twin = copy.copy(row)
    twin["a"] = 2
    assert row.a == [1]
    assert copy.deepcopy(row) == row


def test_a_batch_of_rows_pickles_its_names_once() -> None:
    """Rows of the same names share them."""
    rows = [Row(a_long_field_name=index) for index in range(100)]
    assert pickle.dumps(rows).count(b"a_long_field_name") == 1


@given(NAMES, st.sampled_from(RowKind), st.booleans())
def test_every_row_survives_pickling(names: list[str], kind: RowKind, named: bool) -> None:
    """Names, values and kind."""
    row = named_row(tuple(names) if named else None, range(len(names)), kind.value)
    again = pickle.loads(pickle.dumps(row))
    assert again == row
    assert again.get_row_kind() is kind
    assert hash(again) == hash(row)
