"""Digests are the same in every process and release, and differ where what is said differs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any

import pytest

from millrace.common.types.logical.logical_type import (
    ArrayType,
    BigIntType,
    BooleanType,
    IntType,
    LocalZonedTimestampType,
    RowType,
    VarCharType,
)
from millrace.expressions import registry
from millrace.expressions.call_options import (
    JsonChoice,
    JsonClause,
    JsonClauses,
    JsonEvent,
    TemporalUnit,
    TrimSide,
)
from millrace.expressions.function_definition import FunctionDefinition
from millrace.expressions.resolved import (
    Call,
    Cast,
    FieldReference,
    ResolvedExpression,
    ValueLiteral,
)
from millrace.expressions.session_settings import SessionSettings
from millrace.planner.execution.state_digest import digest, expression_digest

TEXT, BIG = VarCharType(), BigIntType()
N, M = FieldReference(0, BIG, "n"), FieldReference(1, BIG, "m")
S = FieldReference(2, TEXT, "s")
T = FieldReference(3, LocalZonedTimestampType(3), "t")
COLUMNS = ("column n", "column m", "column s", "column t")
UTC = SessionSettings()


class Side(Enum):
    LEFT = 1


@dataclass(frozen=True)
class Options:
    size: int
    more: int = 0


@dataclass(frozen=True)
class Renamed:
    size: int


def of(expression: ResolvedExpression, session: SessionSettings = UTC) -> str:
    return expression_digest(expression, COLUMNS, session)


def text(value: str | None) -> ValueLiteral:
    return ValueLiteral(value, TEXT)


GOLDEN: list[tuple[Any, str]] = [
    ((), "2e38e77b22c314a449e91fafed92a438"),
    ((None, True, 1, 1.5, "1", b"1"), "cd26339314c93a68c0795e852a387ddf"),
    ((Decimal("1.50"), Decimal("-0.0")), "7c8ec10988784ffa3afadcb61daef6f1"),
    (
        (datetime(2024, 1, 2, 3, 4, 5, 6), date(2024, 1, 2), time(3, 4), timedelta(1, 2, 3)),
        "9adaf22b250a81c60413ed64417d8d8f",
    ),
    (
        (BigIntType(), RowType.of(("a", IntType()), ("b", ArrayType(TEXT)))),
        "306c68edb672f977fd534957ec8311ef",
    ),
    (
        (Side.LEFT, Options(3), ("a", ["b"]), {"b", "a"}, {"k": 1}),
        "8c0ed180cedcc349e588e685086e0efd",
    ),
    (("ä\n\u1c89\ud800",), "28f656b203892f3e020939e3f8acaf10"),
]


@pytest.mark.parametrize(("parts", "expected"), GOLDEN, ids=range(len(GOLDEN)))
def test_digests_of_values_stay(parts: Any, expected: str) -> None:
    assert digest(*parts) == expected


def default(event: str, value: ResolvedExpression) -> JsonClauses:
    return JsonClauses((JsonClause(JsonEvent(event), JsonChoice.DEFAULT, value),))


def of_user(name: str) -> FunctionDefinition:
    return FunctionDefinition(name, (), lambda _: BIG, built_in=False)


EXPRESSIONS: list[tuple[ResolvedExpression, str]] = [
    (N, "column n"),
    (text("it's"), "3d79c5dc49041d58fdb61149883ba9ab"),
    (Call(registry.function("-"), (N, M), BIG), "f8ea485227478bdcbdd7395996875441"),
    (Call(registry.function("-"), (M, N), BIG), "3719749ca9085073f8942d5e2bd5fe89"),
    (
        Call(registry.function("EXTRACT"), (T,), BIG, TemporalUnit.YEAR),
        "33bc50ef9fd4cb353dc830d9638b8a9b",
    ),
    (
        Call(registry.function("TRIM"), (text("a"), S), TEXT, TrimSide.LEADING),
        "970d31d845f173abccc45d13abfc4e62",
    ),
    (
        Call(
            registry.function("JSON_VALUE"),
            (S, text("$.a")),
            TEXT,
            default("EMPTY", text("x")),
        ),
        "4292eb2959a24d795fb2f10a4599b4ea",
    ),
    (Cast(S, IntType(), safe=True), "e02e5d2727998115507aba9dfbdbd981"),
    (
        Call(of_user("f"), (N,), BIG),
        "71b1dcf65f38085533ba48d31b0dd5f2",
    ),
]


@pytest.mark.parametrize(
    ("expression", "expected"), EXPRESSIONS, ids=[str(each) for each, _ in EXPRESSIONS]
)
def test_digests_of_expressions_stay(expression: ResolvedExpression, expected: str) -> None:
    assert of(expression) == expected


def test_digests_differ_where_what_is_said_differs() -> None:
    json = [
        default("EMPTY", text("x")),
        default("EMPTY", text("y")),
        default("ERROR", text("x")),
        default("EMPTY", S),
        None,
    ]
    expressions = [
        *(each for each, _ in EXPRESSIONS),
        *(Call(registry.function("JSON_VALUE"), (S, text("$.a")), TEXT, each) for each in json[1:]),
        *(text(each) for each in ("its", "it''s", "NULL", "1", "", None)),
        ValueLiteral(1, BIG),
        ValueLiteral(1, IntType()),
        ValueLiteral(1.0, BIG),
        ValueLiteral(True, BooleanType()),
        Cast(S, IntType()),
        Cast(S, BigIntType()),
        Call(registry.function("EXTRACT"), (T,), BIG, TemporalUnit.MONTH),
        Call(registry.function("TRIM"), (text("a"), S), TEXT, TrimSide.TRAILING),
        Call(registry.function("CONCAT"), (text("a', 'b"),), TEXT),
        Call(registry.function("CONCAT"), (text("a"), text("b")), TEXT),
        Call(of_user("g"), (N,), BIG),
        Call(FunctionDefinition("F", (), lambda _: BIG), (N,), BIG),
    ]
    found = [of(each) for each in expressions]
    assert len(set(found)) == len(found)


def test_what_only_shows_is_no_part_of_a_digest() -> None:
    named = FieldReference(0, BigIntType(nullable=False), "other")
    assert of(Call(registry.function("-"), (named, M), BigIntType(nullable=False))) == of(
        Call(registry.function("-"), (N, M), BIG)
    )
    shouted = Call(of_user("F"), (N,), BIG)
    assert of(shouted) == of(Call(of_user("f"), (N,), BIG))


def test_the_zone_counts_where_values_depend_on_it() -> None:
    berlin = SessionSettings(time_zone="Europe/Berlin")
    zoned = [
        Call(registry.function("EXTRACT"), (T,), BIG, TemporalUnit.HOUR),
        Cast(T, TEXT),
        Cast(S, LocalZonedTimestampType(3)),
        Call(registry.function("FROM_UNIXTIME"), (N,), TEXT),
    ]
    others = [
        Call(registry.function("-"), (N, M), BIG),
        Cast(S, IntType()),
        Call(registry.function("="), (T, T), BooleanType()),
        T,
    ]
    assert all(of(each) != of(each, berlin) for each in zoned)
    assert all(of(each) == of(each, berlin) for each in others)
    legacy = SessionSettings(legacy_cast=True)
    assert of(Cast(S, IntType())) != of(Cast(S, IntType()), legacy)
    assert of(Cast(N, IntType())) == of(Cast(N, IntType()), legacy)


def test_data_classes_may_get_fields_with_defaults() -> None:
    """A default says nothing: an option that is added keeps the bytes."""
    assert digest(Options(3)) == digest(Options(3, 0)) != digest(Options(3, 1))
    assert digest(Options(3)) != digest(Renamed(3))


def test_what_has_no_stable_text_is_refused() -> None:
    with pytest.raises(TypeError, match="no text that stays the same"):
        digest(object())


def test_deep_expressions_have_digests() -> None:
    deep: ResolvedExpression = N
    for _ in range(5000):
        deep = Call(registry.function("+"), (deep, M), BIG)
    assert len(of(deep)) == 32
