"""Declared types that can, and that cannot, be those of keys."""

from __future__ import annotations

import enum
import re
import uuid
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from millrace.common.types.key_types import key_type_refusal
from millrace.common.types.type_information import TypeInformation
from millrace.common.types.typeinfo import Types


@dataclass(frozen=True)
class Place:
    country: str
    city: str


@dataclass(unsafe_hash=True)
class Hashed:
    name: str


@dataclass
class Mutable:
    name: str


@dataclass(frozen=True)
class WithList:
    names: list[str]


class Point(NamedTuple):
    x: int
    y: int


class Level(enum.Enum):
    LOW = 0


@pytest.mark.parametrize(
    "type_info",
    [
        Types.STRING(),
        Types.of(Place),
        Types.of(Hashed),
        Types.of(Point),
        Types.of(Level),
        Types.of(uuid.UUID),
        Types.of(frozenset[Place]),
        Types.of(tuple[Place, ...]),
        Types.ROW_NAMED(["a"], [Types.of(Place)]),
        Types.LIST(Types.INT()),
        Types.PRIMITIVE_ARRAY(Types.INT()),
        Types.PICKLED_BYTE_ARRAY(),
    ],
    ids=lambda type_info: type_info.name,
)
def test_types_of_keys(type_info: TypeInformation[Any]) -> None:
    """What can be hashed, and lists, which key like tuples."""
    assert key_type_refusal(type_info) is None


@pytest.mark.parametrize(
    ("type_info", "advice"),
    [
        (Types.of(Mutable), r"Mutable cannot be hashed: make it a @dataclass\(frozen=True\)"),
        (Types.TUPLE([Types.INT(), Types.of(Mutable)]), "Mutable cannot be hashed"),
        (Types.of(WithList), "list in a key cannot be hashed: use a tuple"),
        (Types.LIST(Types.LIST(Types.INT())), "list in a key"),
        (Types.MAP(Types.INT(), Types.INT()), "use a tuple of pairs"),
        (Types.of(set[int]), "use a frozenset"),
        (Types.ROW([Types.of(dict[str, int])]), "use a tuple of pairs"),
    ],
)
def test_types_that_keys_cannot_have(type_info: TypeInformation[Any], advice: str) -> None:
    """The reason says what to use."""
    assert re.search(advice, key_type_refusal(type_info) or "")
