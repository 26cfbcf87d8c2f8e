"""Records with named fields."""

from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import pytest

from millrace.common.errors import SerializationError
from millrace.common.types import Row
from millrace.formats.records import field_names, field_values, records_from_columns

Pair = namedtuple("Pair", ["a", "b"])


@dataclass
class Point:
    """A record of a user's own type."""

    a: int
    b: int


@pytest.mark.parametrize("record", [{"a": 1, "b": 2}, Row(a=1, b=2), Pair(1, 2), Point(1, 2)])
def test_names_and_values(record: Any) -> None:
    assert field_names(record) == ("a", "b")
    assert list(field_values(("a", "b"), record)) == [1, 2]


@pytest.mark.parametrize("record", [(1, 2), Row(1, 2), [1, 2]])
def test_records_without_names_go_by_position(record: Any) -> None:
    assert list(field_values(("a", "b"), record)) == [1, 2]
    with pytest.raises(SerializationError, match="no field names"):
        field_names(record)


def test_an_unknown_field_is_named_so_that_a_typo_loses_nothing() -> None:
    with pytest.raises(SerializationError, match="unknown field 'bb'; known are a, b"):
        field_values(("a", "b"), {"a": 1, "bb": 2})


def test_something_else_is_no_record() -> None:
    with pytest.raises(SerializationError, match="a value of type int has no fields a"):
        field_values(("a",), 7)


def test_rows_from_columns() -> None:
    assert records_from_columns(Row, ("a", "b"), [[1, 2], [3, 4]]) == [
        Row(a=1, b=3),
        Row(a=2, b=4),
    ]
