"""Datetimes with nanoseconds are told apart, and survive pickling."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime

import pytest

from millrace.common.time.nanosecond_datetime import datetime_of, nanoseconds_of

MOMENT = 1_704_067_200_123_456_789


def test_nanoseconds_go_there_and_back() -> None:
    for moment in (MOMENT, -MOMENT, 0, 999, -1):
        assert nanoseconds_of(datetime_of(moment)) == moment
        assert nanoseconds_of(datetime_of(moment, utc=True)) == moment


def test_without_nanoseconds_it_is_pythons_own_datetime() -> None:
    assert type(datetime_of(1_000_000)) is datetime
    assert datetime_of(1_000_000, utc=True) == datetime(1970, 1, 1, 0, 0, 0, 1000, UTC)


def test_times_of_different_nanoseconds_differ() -> None:
    one, same, other = datetime_of(MOMENT), datetime_of(MOMENT), datetime_of(MOMENT + 1)
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert one != datetime(2024, 1, 1, 0, 0, 0, 123_456)
    assert datetime(2024, 1, 1, 0, 0, 0, 123_456) != one


def test_times_are_ordered_by_nanoseconds() -> None:
    plain = datetime(2024, 1, 1, 0, 0, 0, 123_456)
    moments = [datetime_of(MOMENT + 1), datetime_of(MOMENT), plain, datetime_of(MOMENT + 1000)]
    ordered = [plain, datetime_of(MOMENT), datetime_of(MOMENT + 1), datetime_of(MOMENT + 1000)]
    assert sorted(moments) == ordered
    for at, one in enumerate(ordered):
        for later, other in enumerate(ordered):
            told = (one < other, one <= other, one > other, one >= other)
            assert told == (at < later, at <= later, at > later, at >= later)
    with pytest.raises(TypeError):
        assert datetime_of(MOMENT) < 1  # type: ignore[operator]


def test_pickling_keeps_them() -> None:
    for utc in (False, True):
        copy = pickle.loads(pickle.dumps(datetime_of(MOMENT, utc)))
        assert copy == datetime_of(MOMENT, utc)
        assert nanoseconds_of(copy) == MOMENT
