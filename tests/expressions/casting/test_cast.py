"""Casts over columns: Java's narrowing, zones of sessions, nulls, and what cannot be cast."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.parser import parse_type
from millrace.expressions.casting.cast import caster, is_castable
from millrace.expressions.evaluation_error import EvaluationError
from millrace.expressions.session_settings import SessionSettings


def cast(values: list[Any], source: str, target: str, **options: Any) -> list[Any]:
    kinds = parse_type(source), parse_type(target)
    session = SessionSettings(time_zone=options.get("zone", "UTC"))
    kernel = caster(*kinds, session, options.get("safe", False))
    made = kernel(pa.array(values, arrow_type(kinds[0])))
    assert made.type == arrow_type(kinds[1])
    found: list[Any] = made.to_pylist()
    return found


def test_doubles_are_narrowed_as_in_java() -> None:
    values = [3.99, -3.99, 1e20, -1e20, float("nan"), None]
    assert cast(values, "DOUBLE", "BIGINT") == [3, -3, 2**63 - 1, -(2**63), 0, None]
    assert cast([1e20, 300.5, None], "DOUBLE", "TINYINT") == [-1, 44, None]


def test_decimals_round_half_up_and_overflow_to_null() -> None:
    values = [Decimal("1.255"), Decimal("-1.255"), Decimal("99.995"), None]
    expected = [Decimal("1.26"), Decimal("-1.26"), None, None]
    assert cast(values, "DECIMAL(10, 3)", "DECIMAL(4, 2)") == expected


def test_a_point_in_time_is_shown_in_the_sessions_zone() -> None:
    instant = datetime.fromisoformat("2020-07-01T12:00:00+00:00")
    zone = "Europe/Berlin"
    assert cast([instant], "TIMESTAMP_LTZ(3)", "STRING", zone=zone) == ["2020-07-01 14:00:00.000"]
    wall = datetime(2020, 7, 1, 14)
    assert cast([instant], "TIMESTAMP_LTZ(3)", "TIMESTAMP(3)", zone=zone) == [wall]
    assert cast([wall], "TIMESTAMP(3)", "TIMESTAMP_LTZ(3)", zone=zone) == [instant]
    assert cast(["2020-07-01 14:00:00"], "STRING", "TIMESTAMP_LTZ(3)", zone=zone) == [instant]


def test_parts_of_nested_values_are_cast() -> None:
    assert cast([[1, None], None], "ARRAY<INT>", "ARRAY<STRING>") == [["1", None], None]
    rows = cast([{"a": 1, "b": "2"}], "ROW<a INT, b STRING>", "ROW<x STRING, y INT>")
    assert rows == [{"x": "1", "y": 2}]
    assert cast([[("a", 1)]], "MAP<STRING, INT>", "MAP<STRING, BIGINT>") == [[("a", 1)]]


def test_text_that_is_no_number_fails_or_is_null() -> None:
    with pytest.raises(EvaluationError, match="'x' cannot be cast to INT: it is not a number"):
        cast(["1", "x"], "STRING", "INT")
    assert cast(["1", "x", " 2.9 "], "STRING", "INT", safe=True) == [1, None, 2]


def test_there_are_casts_that_flink_refuses() -> None:
    assert not is_castable(parse_type("BOOLEAN"), parse_type("DATE"))
    assert is_castable(parse_type("ARRAY<INT>"), parse_type("STRING"))
    assert not is_castable(parse_type("ARRAY<INT>"), parse_type("MAP<INT, INT>"))


def test_texts_that_only_look_like_values_are_refused() -> None:
    assert cast(["0x10", "16", None], "STRING", "INT", safe=True) == [None, 16, None]
    assert cast(["2024-02-29T10:00:00"], "STRING", "DATE", safe=True) == [None]
    texts = ["2024-02-29 12:34", "2024-02", " 2024-02-29 12:34:56", "2024-02-29", "2024-2-9 1:2:3"]
    days = [datetime(2024, 2, 29), datetime(2024, 2, 9, 1, 2, 3)]
    made = cast(texts, "STRING", "TIMESTAMP(3)", safe=True)
    assert made == [None, None, None, *days]


def test_all_digits_of_a_decimal_are_read() -> None:
    digits = "12345678901234567890.123456789012345678"
    assert cast([digits], "STRING", "DECIMAL(38, 18)") == [Decimal(digits)]


def test_a_double_is_true_unless_it_is_zero() -> None:
    assert cast([0.5, 0.0, -0.0, None], "DOUBLE", "BOOLEAN") == [True, False, False, None]


@pytest.mark.parametrize("kind", ["DECIMAL(10, 7)", "DECIMAL(25, 7)"])
def test_a_decimal_becomes_the_nearest_double(kind: str) -> None:
    values = [Decimal(n) / 10 for n in range(-9, 10)]
    assert cast([*values, None], kind, "DOUBLE") == [*map(float, values), None]
