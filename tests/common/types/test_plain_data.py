"""Values of declared types as plain data and back."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from io import BytesIO
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from type_samples import SAMPLES, Account, Address, Money, Point, exactly

from millrace.common.errors import SerializationError
from millrace.common.types import Row, RowKind
from millrace.common.types.plain_data import from_plain, to_plain
from millrace.common.types.serializer import TypeSerializer
from millrace.common.types.typeinfo import TypeInformation, Types
from millrace.state.serialization.payload import is_plain
from millrace.state.serialization.tagged_values import dump_tagged, load_tagged


def there_and_back(
    type_info: TypeInformation[Any], value: Any, pickle_allowed: bool = False
) -> tuple[Any, Any]:
    """The plain form, and the value that is made of it again."""
    out, into = to_plain(type_info), from_plain(type_info)
    plain = value if out is None else out(value)
    read = load_tagged(dump_tagged(plain), pickle_allowed)
    return plain, read if into is None else into(read)


@pytest.mark.parametrize("name", SAMPLES)
@settings(max_examples=30)
@given(data=st.data())
def test_values_come_back_exactly(name: str, data: st.DataObject) -> None:
    """Every type of `Types.of`, and None in its place; what is written is plain."""
    hint, values = SAMPLES[name]
    value = data.draw(values | st.none())
    plain, back = there_and_back(Types.of(hint), value)
    assert exactly(value, back)
    if name != "dataclass":  # which has a field of any type
        assert is_plain((plain,))


@pytest.mark.parametrize("name", SAMPLES)
@settings(max_examples=10)
@given(data=st.data())
def test_internal_types_are_the_same(name: str, data: st.DataObject) -> None:
    """``to_internal_type`` and back, as PyFlink's types have it."""
    hint, values = SAMPLES[name]
    value = data.draw(values)
    type_info = Types.of(hint)
    assume(type_info.accepts(value))
    assert exactly(type_info.from_internal_type(type_info.to_internal_type(value)), value)


@pytest.mark.parametrize(
    ("type_info", "value"),
    [
        (Types.of(Decimal), "1.5"),
        (Types.of(Money), Point(1, 2)),
        (Types.of(Point), (1, 2)),
        (Types.of(list[Decimal]), (Decimal(1),)),
        (Types.of(list[Decimal]), ["not a decimal", Decimal(2)]),
        (Types.of(dict[str, Decimal]), OrderedDict(a=Decimal(1))),
        (Types.of(tuple[int, Decimal]), (1, Decimal(2), 3)),
        (Types.of(set[Decimal]), frozenset([Decimal(1)])),
        (Types.of(tuple[Decimal, ...]), [Decimal(1)]),
        (Types.ROW_NAMED(["a"], [Types.LONG()]), (1,)),
        (Types.ROW_NAMED(["a"], [Types.LONG()]), Row(b=1)),
        (Types.ROW([Types.LONG()]), Row(1, 2)),
        (Types.LONG(), "no number at all"),
        (Types.LIST(Types.LONG()), (1, 2)),
    ],
)
def test_what_is_of_another_type_comes_back_too(
    type_info: TypeInformation[Any], value: Any
) -> None:
    """Declared types guide, they do not check."""
    assert exactly(there_and_back(type_info, value, True)[1], value)


@pytest.mark.parametrize(
    "row",
    [
        Row(name="Ann", money=Money(Decimal("1.0"))),
        Row.of_kind(RowKind.DELETE, name="x", money=None),
    ],
)
def test_rows(row: Row) -> None:
    """With names, kind, and values of classes."""
    type_info = Types.ROW_NAMED(["name", "money"], [Types.STRING(), Types.of(Money)])
    assert exactly(there_and_back(type_info, row)[1], row)


def test_rows_without_names() -> None:
    """They have none when they come back."""
    row = Row("Ann", Decimal(1))
    assert exactly(there_and_back(Types.ROW([Types.STRING(), Types.BIG_DEC()]), row)[1], row)


def test_types_that_are_plain_cost_nothing() -> None:
    """There is nothing to call."""
    for hint in (int, str, list[int], dict[str, tuple[int, float]], int | str, Any):
        assert to_plain(Types.of(hint)) is None
        assert from_plain(Types.of(hint)) is None


def test_no_code_of_the_class_is_called() -> None:
    """Neither ``__init__`` nor ``__post_init__``: values are what they were."""
    account = Account("Ann", Money(Decimal(1)))
    account.owner = ""
    assert there_and_back(Types.of(Account), account)[1] == account


def test_an_unset_field_is_an_error_of_the_value() -> None:
    """It is named by who knows the state."""
    with pytest.raises(AttributeError):
        there_and_back(Types.of(Address), object.__new__(Address))


class Doubled(TypeSerializer[int]):
    """Writes a number twice as big."""

    def serialize(self, element: int, stream: BytesIO) -> None:
        stream.write(str(2 * element).encode())

    def deserialize(self, stream: BytesIO) -> int:
        return int(stream.read()) // 2


def test_serializers_of_users() -> None:
    """What they write is kept as bytes."""
    assert there_and_back(Types.SERIALIZED(Doubled()), 21) == (b"42", 21)


def test_decimals_are_made_of_text_only() -> None:
    """Making one of a long whole number would take ages."""
    read = from_plain(Types.BIG_DEC())
    assert read is not None
    with pytest.raises(SerializationError, match="not text"):
        read(1 << 100_000)


@dataclass
class Circle:
    """Sets an attribute that is not a field, and has one that can be made again."""

    radius: float

    def __post_init__(self) -> None:
        self.area = 3 * self.radius**2

    @cached_property
    def width(self) -> float:
        return 2 * self.radius


class Labelled(Point):
    """A named tuple that may have attributes."""


@dataclass(slots=True)
class _Slotted:
    a: int


@dataclass
class Mixed(_Slotted):
    """Has slots and a dict."""

    b: int


def test_attributes_that_are_not_fields_stay() -> None:
    """Such a value is set apart whole."""
    labelled, mixed = Labelled(1, 2.0), Mixed(1, 2)
    labelled.label = "x"  # type: ignore[attr-defined]
    mixed.label = "x"  # type: ignore[attr-defined]
    for value in (Circle(2.0), labelled, mixed):
        plain, back = there_and_back(Types.of(type(value)), value, True)
        assert type(plain) in (list, frozenset)
        assert back == value
        assert back.__dict__ == value.__dict__


def test_what_can_be_made_again_is_not_written() -> None:
    """A cached property is no reason to set a value apart."""
    circle = Circle(2.0)
    del circle.area
    assert circle.width == 4.0
    assert there_and_back(Types.of(Circle), circle)[0] == (2.0,)
    assert there_and_back(Types.of(Mixed), Mixed(1, 2))[0] == (1, 2)
    assert there_and_back(Types.of(Labelled), Labelled(1, 2.0))[0] == (1, 2.0)
