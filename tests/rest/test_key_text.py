"""Keys from the text of a URL."""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from collections import namedtuple
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common.types import Row
from millrace.common.types.json_values import dumps, to_json, untagged
from millrace.rest.key_text import key_candidates, read_like


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@dataclass(frozen=True)
class Point:
    x: int
    day: dt.date


Pair = namedtuple("Pair", "left right")
DAY = dt.date(2026, 11, 21)

EXAMPLES = [
    ("alice", "bob"),
    (1, 2),
    (1.5, float("inf")),
    (True, False),
    (None, None),
    (b"x", b"\x00"),
    (Decimal("0.1"), Decimal("0.30")),
    (Fraction(1, 3), Fraction(2, 3)),
    (DAY, dt.date(1999, 1, 1)),
    (dt.datetime(2026, 1, 1), dt.datetime(2026, 1, 1, 5, 6, 7, 8)),
    (dt.time(1), dt.time(2, 3)),
    (dt.timedelta(1), dt.timedelta(microseconds=1)),
    (uuid.UUID(int=1), uuid.UUID(int=2)),
    (Colour.RED, Colour.BLUE),
    (("a", 1, DAY), ("b", 2, dt.date(2000, 1, 1))),
    (Pair("a", 1), Pair("b", 2)),
    (Point(1, DAY), Point(2, DAY)),
    (Row(a=1, b="x"), Row(a=2, b="y")),
    (Row(1, "x"), Row(2, "y")),
    (frozenset({1}), frozenset({2, 3})),
    ((("a", b"x"),), (("b", b"y"),)),
]


@pytest.mark.parametrize(("example", "key"), EXAMPLES, ids=lambda value: type(value).__name__)
def test_every_kind_of_key_is_found_by_its_json(example, key) -> None:
    """Whatever else is a key of the state."""
    text = dumps(to_json(key)).decode()
    for examples in ([example], ["other", 7, example]):
        found = [k for k in key_candidates(text, examples) if type(k) is type(key) and k == key]
        assert found, key_candidates(text, examples)


@pytest.mark.parametrize(
    ("text", "example", "key"),
    [
        ("bob", "alice", "bob"),
        ("42", "alice", "42"),
        ('"42"', "alice", "42"),
        ("2026-11-21", dt.date(2000, 1, 1), DAY),
        ("0.30", Decimal(1), Decimal("0.30")),
        ("RED", Colour.BLUE, Colour.RED),
        ("", "alice", ""),
        ('["eu", 1]', ("us", 2), ("eu", 1)),
        ('{"left": "b", "right": 2}', Pair("a", 1), Pair("b", 2)),
        ('["b", 2]', Pair("a", 1), Pair("b", 2)),
    ],
)
def test_keys_as_people_write_them(text, example, key) -> None:
    assert key in key_candidates(text, [example])


def test_a_number_comes_before_its_text() -> None:
    assert key_candidates("42", ["a", 1]) == [42, "42"]
    assert key_candidates('"42"', ["a", 1])[0] == "42"


def test_text_in_quotes_is_without_them() -> None:
    assert key_candidates('"abc"', ['"abc"']) == ["abc"]


def test_without_examples_a_text_is_json_or_a_string() -> None:
    assert key_candidates('["a", 1]', []) == [("a", 1), '["a", 1]']
    assert key_candidates("a/b", []) == ["a/b"]
    assert key_candidates('{"bytes": "eA=="}', [])[0] == b"x"


@pytest.mark.parametrize(
    ("example", "source"),
    [
        (1, "1"),
        ("a", 1),
        (b"x", "x"),
        (b"x", {"bytes": "?"}),
        (DAY, "yesterday"),
        (Colour.RED, "GREEN"),
        (("a", 1), ["a"]),
        (Pair("a", 1), {"left": 1}),
        (Point(1, DAY), {"x": 1, "day": "2026-11-21", "z": 0}),
        (frozenset({1}), "a"),
        (object(), ["a"]),
    ],
)
def test_what_does_not_fit_is_no_key(example: Any, source: Any) -> None:
    with pytest.raises((TypeError, ValueError, LookupError)):
        read_like(example, source)


def test_a_class_that_refuses_its_fields_gives_no_key() -> None:
    @dataclass(frozen=True)
    class Positive:
        n: int

        def __post_init__(self) -> None:
            if self.n <= 0:
                raise RuntimeError("not positive")

    assert key_candidates('{"n": 0}', [Positive(1)]) == ['{"n": 0}']


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=20) | JSON.map(lambda value: dumps(value).decode()))
def test_no_text_breaks_it(text) -> None:
    """And every candidate can be looked up."""
    for candidate in key_candidates(text, [example for example, _ in EXAMPLES]):
        hash(candidate)


def test_odd_floats_come_back() -> None:
    assert untagged({"float": "-inf"}) == float("-inf")
    assert untagged([{"map": [[[1, 2], "a"]]}]) == [{(1, 2): "a"}]
