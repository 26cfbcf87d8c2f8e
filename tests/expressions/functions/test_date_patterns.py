"""Date patterns show and read what Java's do; a table beside was made by Java 17, in English."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from millrace.expressions.casting.from_text import nanoseconds
from millrace.expressions.evaluation_error import EvaluationError
from millrace.expressions.functions.date_patterns import format_time, parse_with
from millrace.expressions.functions.java_zones import java_zone
from millrace.expressions.functions.simple_date_patterns import format_simple, read_simple

ROWS = [
    json.loads(line)
    for line in Path(__file__).with_name("java_patterns.jsonl").read_text("utf-8").splitlines()
]
"""Kind, value or text, pattern, zone and result; null: Java fails."""


def rows(kind: str) -> list[list[Any]]:
    return [row[1:] for row in ROWS if row[0] == kind]


def formatted(text: str, pattern: str) -> str | None:
    moment, _, fraction = text.partition(".")
    second = datetime.fromisoformat(moment)
    try:
        return format_time(nanoseconds(second, fraction) if fraction else second, pattern)
    except EvaluationError:
        return None


def formatted_simply(millis: int, pattern: str, zone: str) -> str | None:
    kind = java_zone(zone)
    assert kind is not None
    local = datetime.fromtimestamp(millis / 1000, kind).replace(tzinfo=None)
    try:
        return format_simple(local, pattern, kind)
    except EvaluationError:
        return None


def read_simply(text: str, pattern: str) -> int | None:
    try:
        read = read_simple(text, pattern)
    except EvaluationError:
        return None
    return None if read is None else round(read.instant(UTC) * 1000)


def test_a_formatter_shows_what_javas_does() -> None:
    found = [[*row[:3], formatted(row[0], row[1])] for row in rows("DateTimeFormatter")]
    assert found == rows("DateTimeFormatter")


def test_a_simple_format_shows_what_javas_does() -> None:
    found = [[*row[:3], formatted_simply(*row[:3])] for row in rows("SimpleDateFormat")]
    assert found == rows("SimpleDateFormat")


def test_a_simple_format_reads_what_javas_does() -> None:
    found = [[*row[:3], read_simply(row[0], row[1])] for row in rows("SimpleDateFormat.parse")]
    assert found == rows("SimpleDateFormat.parse")


@pytest.mark.parametrize(
    ("text", "pattern", "wanted"),
    [
        ("2024-02-30", "yyyy-MM-dd", datetime(2024, 2, 29)),
        ("2024-02-32", "yyyy-MM-dd", None),
        ("2024-01-05 24:00", "yyyy-MM-dd HH:mm", datetime(2024, 1, 6)),
        ("2024-01-05 24:01", "yyyy-MM-dd HH:mm", None),
        ("2024-366", "yyyy-DDD", datetime(2024, 12, 31)),
        ("2023-366", "yyyy-DDD", None),
        ("Fri Jan 5 2024", "EEE MMM d yyyy", datetime(2024, 1, 5)),
        ("Mon Jan 5 2024", "EEE MMM d yyyy", None),
        ("jan 5 2024", "MMM d yyyy", None),
        ("5.1.99", "d.M.yy", datetime(2099, 1, 5)),
        ("AD 2024", "G yyyy", datetime(2024, 1, 1)),
        ("BC 1", "G y", None),
        ("123456", "A", datetime(1970, 1, 1, 0, 2, 3, 456000)),
        ("11 PM", "h a", datetime(1970, 1, 1, 23)),
        ("2024-01-05 03:04", "yyyy-MM-dd[ HH:mm]", datetime(2024, 1, 5, 3, 4)),
        ("2024-01-05", "yyyy-MM-dd[ HH:mm]", datetime(2024, 1, 5)),
        ("20240105 +0130", "yyyyMMdd Z", datetime(2024, 1, 5)),
        ("20240105 GMT+2", "yyyyMMdd O", datetime(2024, 1, 5)),
        ("20240105 Europe/Berlin", "yyyyMMdd VV", datetime(2024, 1, 5)),
    ],
)
def test_a_formatter_reads(text: str, pattern: str, wanted: datetime | None) -> None:
    assert parse_with(text, pattern) == wanted


@pytest.mark.parametrize("pattern", ["j", "]", "{", "'abc", "HHH", "yyyy z", "p"])
def test_what_is_no_pattern_of_a_timestamp_is_refused(pattern: str) -> None:
    with pytest.raises(EvaluationError, match="date pattern"):
        format_time(datetime(2020, 1, 1), pattern)


@pytest.mark.parametrize(
    ("text", "pattern", "wanted"),
    [
        ("1" * 40 + "x", "[H]" * 30, None),
        ("1" * 40 + "x", "Hm" * 15, None),
        ("930", "Hmm", datetime(1970, 1, 1, 9, 30)),
        ("20240102", "yyyyMMdd", datetime(2024, 1, 2)),
        ("+120240102", "yyyyMMdd", None),
        ("12", "[H]m", None),
    ],
)
def test_a_number_is_read_in_one_way(text: str, pattern: str, wanted: datetime | None) -> None:
    assert parse_with(text, pattern) == wanted


def test_a_zone_is_read_in_one_way() -> None:
    assert read_simple("a" * 80 + "!", "zZ" * 20 + "'?'") is None
