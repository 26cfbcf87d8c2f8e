"""Keys of rows: equal if and only if the keys are."""

from __future__ import annotations

from dataclasses import field, make_dataclass
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from itertools import combinations
from typing import Any

from millrace.common.types import Row, RowKind
from millrace.state.backend.row_format import row_key, row_keys


def point(module: str, x: Any, note: str = "") -> Any:
    fields = [("x", Any), ("note", str, field(default="", compare=False))]
    made = make_dataclass("Point", fields, frozen=True)
    made.__module__ = module
    return made(x, note)


def colour(module: str) -> Any:
    return Enum("Colour", ["RED"], module=module, qualname="Colour").RED


UNEQUAL = [
    Row(a=1),
    Row(b=1),
    Row(1),
    Row.of_kind(RowKind.DELETE, 1),
    Row(a=Row(b=1)),
    Row(b=Row(a=1)),
    point("one", 1),
    point("other", 1),
    point("one", Row(a=1)),
    point("one", Row(b=1)),
    colour("one"),
    colour("other"),
    "RED",
    1,
    (1,),
]


def test_unequal_keys_have_rows_of_their_own() -> None:
    """Wherever in a key they are."""
    nested = [*UNEQUAL, *((key,) for key in UNEQUAL), *((1, key) for key in UNEQUAL)]
    nested += [frozenset((key, "other")) for key in UNEQUAL]
    nested += [(Row(a=1), Row(b=1)), (Row(b=1), Row(a=1))]
    for one, other in combinations(nested, 2):
        assert (one == other) == (row_key(one) == row_key(other)), (one, other)


def test_equal_keys_share_a_row() -> None:
    for one, other in [
        (Row(a=1), Row(a=1.0)),
        ((Row(a=True),), (Row(a=Decimal(1)),)),
        (frozenset((Row(a=1), Row(b=1))), frozenset((Row(b=1), Row(a=1)))),
        (Row("a")(1), Row(a=1)),
        (IntEnum("Number", ["ONE"]).ONE, 1),
        (StrEnum("Text", ["ONE"]).ONE, "one"),
    ]:
        assert one == other
        assert row_key(one) == row_key(other)
    kind = type(point("one", 1))
    assert row_key(kind(1, "a")) == row_key(kind(1, "b"))


def test_many_at_once_are_encoded_alike() -> None:
    assert row_keys(UNEQUAL) == [row_key(key) for key in UNEQUAL]
