"""Temporal functions over columns, and in the session's zone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, time

import pyarrow as pa
import pytest

from millrace.common.types.logical.logical_type import (
    LocalZonedTimestampType,
    RowType,
    TimestampType,
)
from millrace.expressions import registry
from millrace.expressions.call_options import TemporalUnit
from millrace.expressions.evaluation import compiled
from millrace.expressions.evaluation_error import EvaluationError
from millrace.expressions.function_definition import FunctionResolutionError
from millrace.expressions.functions.date_patterns import format_time
from millrace.expressions.registry import resolve_call
from millrace.expressions.resolved import FieldReference, ResolvedExpression
from millrace.expressions.session_settings import SessionSettings

BERLIN = SessionSettings(time_zone="Europe/Berlin")
KIND = LocalZonedTimestampType(3)
INSTANT = FieldReference(0, KIND, "at")


def in_berlin(expression: ResolvedExpression) -> object:
    batch = pa.record_batch({"at": pa.array([1_593_612_000_000], pa.timestamp("ms", "UTC"))})
    return compiled(expression, RowType.of(("at", KIND)), BERLIN)(batch)[0].as_py()


def test_fields_of_points_in_time_are_those_of_the_sessions_clocks() -> None:
    assert (
        in_berlin(resolve_call(registry.function("EXTRACT"), (INSTANT,), TemporalUnit.HOUR)) == 16
    )
    day = in_berlin(resolve_call(registry.function("FLOOR"), (INSTANT,), TemporalUnit.DAY))
    assert day == datetime.fromisoformat("2020-06-30T22:00:00+00:00")


def test_a_batch_has_one_instant(read: Callable[[str], ResolvedExpression]) -> None:
    now = compiled(read("NOW()"), RowType.of(), BERLIN)
    batch = pa.record_batch({"v": [1, 2]})
    assert now(batch, 1000).cast(pa.int64()).to_pylist() == [1000, 1000]
    assert now(batch, 2000).cast(pa.int64()).to_pylist() == [2000, 2000]
    local = compiled(read("LOCALTIMESTAMP"), RowType.of(), BERLIN)
    assert local(batch, 0)[0].as_py() == datetime(1970, 1, 1, 1)


def test_a_pattern_letter_that_is_not_known_is_named() -> None:
    with pytest.raises(EvaluationError, match="letter 'j'"):
        format_time(datetime(2020, 1, 1), "yyyy j")


NEW_YORK = SessionSettings(time_zone="America/New_York")
FIRST, SECOND = 1_730_611_800_000, 1_730_615_400_000
"""Half past one on the day when the hour from 1 to 2 comes twice."""


@pytest.mark.parametrize(("function", "change"), [("FLOOR", -1_800_000), ("CEIL", 1_800_000)])
def test_an_hour_that_comes_twice_is_rounded_within_itself(function: str, change: int) -> None:
    batch = pa.record_batch({"at": pa.array([FIRST, SECOND], pa.timestamp("ms", "UTC"))})
    rounded = compiled(
        resolve_call(registry.function(function), (INSTANT,), TemporalUnit.HOUR),
        RowType.of(("at", KIND)),
        NEW_YORK,
    )
    assert rounded(batch).cast(pa.int64()).to_pylist() == [FIRST + change, SECOND + change]


def test_texts_of_an_hour_that_comes_twice_are_of_the_second_one(
    read: Callable[[str], ResolvedExpression],
) -> None:
    batch = pa.record_batch({"v": [1]})
    stamp = compiled(read("UNIX_TIMESTAMP('2024-11-03 01:30:00')"), RowType.of(), NEW_YORK)
    assert stamp(batch).to_pylist() == [SECOND // 1000]
    shown = compiled(read("FROM_UNIXTIME(44, 'yyyy-MM-dd HH z Z X XXX')"), RowType.of(), NEW_YORK)
    assert shown(batch).to_pylist() == ["1969-12-31 19 EST -0500 -05 -05:00"]


@pytest.mark.parametrize(
    ("unit", "down", "up"),
    [
        ("MILLENNIUM", datetime(2001, 1, 1), datetime(3001, 1, 1)),
        ("CENTURY", datetime(2001, 1, 1), datetime(2101, 1, 1)),
        ("DECADE", datetime(2020, 1, 1), datetime(2030, 1, 1)),
        ("QUARTER", datetime(2020, 1, 1), datetime(2020, 4, 1)),
        ("WEEK", datetime(2020, 2, 23), datetime(2020, 3, 1)),
        ("MINUTE", datetime(2020, 2, 29, 12, 34), datetime(2020, 2, 29, 12, 35)),
        ("MILLISECOND", *(datetime(2020, 2, 29, 12, 34, 56, n) for n in (123_000, 124_000))),
        ("MICROSECOND", *(datetime(2020, 2, 29, 12, 34, 56, 123_456) for _ in range(2))),
    ],
)
def test_columns_are_rounded_to_units(unit: str, down: datetime, up: datetime) -> None:
    kind = TimestampType(6)
    batch = pa.record_batch({"at": pa.array([datetime(2020, 2, 29, 12, 34, 56, 123_456), None])})
    for function, wanted in (("FLOOR", down), ("CEIL", up)):
        call = resolve_call(
            registry.function(function), (FieldReference(0, kind, "at"),), TemporalUnit(unit)
        )
        assert compiled(call, RowType.of(("at", kind)))(batch).to_pylist() == [wanted, None]


def test_a_time_of_day_goes_round_the_clock(read: Callable[[str], ResolvedExpression]) -> None:
    batch = pa.record_batch({"v": [1]})
    for text, wanted in (
        ("TIMESTAMPADD(MINUTE, 70, TIME '23:00:00')", time(0, 10)),
        ("TIMESTAMPADD(HOUR, -50, TIME '01:00:00')", time(23)),
        ("CEIL(TIME '23:30:00' TO HOUR)", time(0)),
        ("FLOOR(TIME '23:30:00' TO HOUR)", time(23)),
    ):
        assert compiled(read(text), RowType.of())(batch)[0].as_py() == wanted, text


def test_years_that_nanoseconds_do_not_reach_are_refused(
    read: Callable[[str], ResolvedExpression],
) -> None:
    batch = pa.record_batch({"v": [1]})
    with pytest.raises(EvaluationError, match="years 1678 to 2261"):
        compiled(read("CAST(DATE '0001-01-01' AS TIMESTAMP(9))"), RowType.of())(batch)
    tried = compiled(read("TRY_CAST(DATE '0001-01-01' AS TIMESTAMP(9))"), RowType.of())
    assert tried(batch).to_pylist() == [None]


@pytest.mark.parametrize(
    "text",
    [
        "EXTRACT(YEAR FROM TIME '10:00:00')",
        "FLOOR(TIME '10:00:00' TO DAY)",
        "FLOOR(DATE '2020-01-01' TO DOW)",
        "TIMESTAMPADD(DOW, 1, DATE '2020-01-01')",
        "TIMESTAMPDIFF(DAY, DATE '2020-01-01', TIME '10:00:00')",
        "TO_TIMESTAMP_LTZ(1, 10)",
    ],
)
def test_units_that_a_time_has_not_are_refused(
    text: str, read: Callable[[str], ResolvedExpression]
) -> None:
    with pytest.raises(FunctionResolutionError):
        read(text)
