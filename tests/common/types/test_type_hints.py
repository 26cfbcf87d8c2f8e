"""Types from type hints."""

from __future__ import annotations

import enum
from collections import namedtuple
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, NewType, Optional, TypeVar

import pytest

from millrace.common import Types
from millrace.common.errors import JobDefinitionError

Euro = NewType("Euro", Decimal)
T = TypeVar("T")


class Color(enum.Enum):
    RED = 1


@dataclass
class Line:
    article: str
    price: Euro | None


class Order(NamedTuple):
    lines: list[Line]
    color: Color = Color.RED


@dataclass
class Tree:
    children: list[Tree]


@dataclass
class Strange:
    name: str
    handle: T  # type: ignore[valid-type]
    file: memoryview


@pytest.mark.parametrize(
    ("hint", "name"),
    [
        (int, "LONG"),
        (None, "NONE"),
        (Optional[str], "STRING"),  # noqa: UP045
        (str | None, "STRING"),
        (list, "LIST(PICKLED_BYTE_ARRAY)"),
        (dict[str, list[int]], "MAP(STRING, LIST(LONG))"),
        (tuple[int, ...], "TUPLE(LONG, ...)"),
        (tuple[int, str], "TUPLE(LONG, STRING)"),
        (frozenset[bytes], "FROZENSET(BYTES)"),
        (int | str, "LONG | STRING"),
        (Literal["a", "b"], "STRING"),
        (Euro, "BIG_DEC"),
        (T, "PICKLED_BYTE_ARRAY"),
        (Any, "PICKLED_BYTE_ARRAY"),
        (Annotated[int, "of pieces"], "LONG"),
        (Annotated[int, Types.SHORT()], "SHORT"),
        (Types.INT(), "INT"),
        (Line, "Line(article: STRING, price: BIG_DEC)"),
        (Order, "Order(lines: LIST(Line(article: STRING, price: BIG_DEC)), color: Color(enum))"),
        (namedtuple("Pair", "a b"), "Pair(a: PICKLED_BYTE_ARRAY, b: PICKLED_BYTE_ARRAY)"),
    ],
)  # fmt: skip
def test_hints(hint: Any, name: str) -> None:
    """Every kind of hint has its type."""
    assert Types.of(hint).name == name


def test_types_are_equal_by_structure() -> None:
    """A descriptor may be made anew each time."""
    assert Types.of(Order) == Types.of(Order)
    assert Types.of(Order) != Types.of(Line)


@pytest.mark.parametrize(
    ("hint", "message"),
    [
        (memoryview, "type hint memoryview has no type; use a dataclass"),
        (Strange, "field Strange.file: the type hint memoryview"),
        (Tree, "field Tree.children: class Tree contains itself; declare that field as Any"),
        (int | Decimal, "because the type of a value would be lost"),
        ("int", "has no type"),
    ],
)
def test_refusals(hint: Any, message: str) -> None:
    """They name the field and what to do."""
    with pytest.raises(JobDefinitionError, match=message):
        Types.of(hint)


def test_hints_of_names_that_are_not_there() -> None:
    """Classes of functions may name what only the function knows."""

    @dataclass
    class Local:
        other: Missing  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(JobDefinitionError, match="at the top level of its module"):
        Types.of(Local)


def test_frozen_classes_are_immutable_if_their_fields_are() -> None:
    """State then need not copy them."""

    @dataclass(frozen=True)
    class Frozen:
        value: int
        tags: frozenset[str]

    @dataclass(frozen=True)
    class Half:
        values: list[int]

    assert Types.of(Frozen).is_immutable
    assert not Types.of(Half).is_immutable
    assert not Types.of(Line).is_immutable


def test_serializers_only() -> None:
    """A function is none."""
    with pytest.raises(JobDefinitionError, match="takes a TypeSerializer"):
        Types.SERIALIZED(str)  # type: ignore[arg-type]
