"""Amounts of time and points in time."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.time import Duration, Instant, Time, millis


@pytest.mark.parametrize(
    ("duration", "expected"),
    [
        (Duration.of_days(1), 86_400_000),
        (Duration.of_hours(2), 7_200_000),
        (Duration.of_minutes(3), 180_000),
        (Duration.of_seconds(4), 4_000),
        (Duration.of_millis(5), 5),
        (Duration.of_nanos(6_999_999), 6),
    ],
)
def test_duration_units(duration: Duration, expected: int) -> None:
    """Every unit, in milliseconds."""
    assert duration.to_millis() == expected


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        (Time.days(1), 86_400_000),
        (Time.hours(2), 7_200_000),
        (Time.minutes(3), 180_000),
        (Time.seconds(4), 4_000),
        (Time.milliseconds(5), 5),
    ],
)
def test_time_units(time: Time, expected: int) -> None:
    """Every unit, in milliseconds."""
    assert time.to_milliseconds() == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10 s", Duration.of_seconds(10)),
        ("500ms", Duration.of_millis(500)),
        (" 1 min ", Duration.of_minutes(1)),
        ("2 H", Duration.of_hours(2)),
        ("7 days", Duration.of_days(7)),
        ("3 us", Duration.of_nanos(3_000)),
        ("9 ns", Duration.of_nanos(9)),
        ("250", Duration.of_millis(250)),
    ],
)
def test_duration_is_read_from_text(text: str, expected: Duration) -> None:
    """As configuration writes it."""
    assert Duration.parse(text) == expected


@pytest.mark.parametrize("text", ["", "s", "10 weeks", "-1 s", "1.5 s", "10 s 3 ms"])
def test_text_that_is_no_duration_is_refused(text: str) -> None:
    """The error shows how durations are written."""
    with pytest.raises(ValueError, match="not a duration such as '10 s'"):
        Duration.parse(text)


@given(st.integers(min_value=0, max_value=10**20))
def test_duration_text_reads_back(nanos: int) -> None:
    """`str` and `parse` are inverse."""
    assert Duration.parse(str(Duration(nanos))) == Duration(nanos)


@given(st.integers(min_value=-(10**14), max_value=10**14))
def test_instant_keeps_milliseconds(epoch_milli: int) -> None:
    """Before and after the epoch."""
    assert Instant.of_epoch_milli(epoch_milli).to_epoch_milli() == epoch_milli


def test_instants_are_ordered_and_become_datetimes() -> None:
    """They compare by time."""
    assert Instant.of_epoch_milli(-1) < Instant(0, 0) < Instant(0, 1)
    moment = datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC)
    assert Instant.of_epoch_milli(1_500).to_datetime() == moment


def test_millis_takes_every_amount() -> None:
    """Wherever an amount of time is taken, all of these do."""
    amounts = [Duration.of_seconds(2), Time.seconds(2), timedelta(seconds=2), 2_000]
    assert [millis(amount) for amount in amounts] == [2_000] * 4
    assert Duration.of_millis(1_500).to_timedelta() == timedelta(milliseconds=1_500)


@pytest.mark.parametrize("value", [1.5, "10 s", None, True])
def test_millis_refuses_what_is_no_amount(value: object) -> None:
    """A float might be seconds: it is not guessed."""
    with pytest.raises(TypeError, match="an amount of time is a Duration"):
        millis(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [Duration(5), Time(5), Instant(1, 2)])
def test_values_are_hashable_and_picklable(value: object) -> None:
    """They are parts of plans and of state."""
    assert pickle.loads(pickle.dumps(value)) == value
    assert len({value, value}) == 1


def test_a_time_is_made_of_milliseconds() -> None:
    """As PyFlink's, which also prints it so."""
    assert Time(milliseconds=5) == Time(5) == Time.milliseconds(5)
    assert str(Time.seconds(2)) == "2000 ms"
    assert pickle.loads(pickle.dumps(Time(5))) == Time(5)
