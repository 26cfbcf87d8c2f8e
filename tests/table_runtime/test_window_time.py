"""The clock of windows: wall clock times, and when they have passed for good."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from millrace.runtime.buffer import MAX_WATERMARK, MIN_WATERMARK
from millrace.table_runtime.window_time import EVENT_TIME, WindowTime

MINUTE = 60_000
ZONES = ["Europe/Berlin", "America/Los_Angeles", "Australia/Lord_Howe", "Asia/Kolkata", "UTC"]
CHANGES = [
    datetime(2021, 3, 14, 10, tzinfo=UTC),
    datetime(2021, 11, 7, 9, tzinfo=UTC),
    datetime(2021, 3, 28, 1, tzinfo=UTC),
    datetime(2021, 10, 31, 1, tzinfo=UTC),
    datetime(2021, 4, 3, 15, tzinfo=UTC),
    datetime(2021, 10, 2, 15, 30, tzinfo=UTC),
]
"""Times around changes of the clocks of these zones."""


def ms(time: datetime) -> int:
    return int(time.replace(tzinfo=time.tzinfo or UTC).timestamp() * 1000)


@pytest.mark.parametrize("zone", ZONES)
def test_a_time_has_passed_for_good_when_no_later_instant_shows_it(zone: str) -> None:
    time = WindowTime(zone)
    for change in CHANGES:
        instants = ms(change) + MINUTE * np.arange(-180, 181)
        walls = time.wall(instants)
        shown = [datetime.fromtimestamp(each / 1000, ZoneInfo(zone)) for each in instants.tolist()]
        assert walls.tolist() == [ms(each.replace(tzinfo=None)) for each in shown]
        for place, instant in enumerate(instants[:-120].tolist()):
            reached = time.reached(instant)
            ahead = walls[place + 1 :]
            assert not (ahead <= reached).any()
            # nothing that has passed and does not come again is kept back
            gone = walls[: place + 1]
            assert (gone[~np.isin(gone, ahead)] <= reached).all()
            assert reached <= walls[place]


@pytest.mark.parametrize("zone", ZONES)
def test_the_last_instant_that_shows_a_time(zone: str) -> None:
    time = WindowTime(zone)
    for change in CHANGES:
        instants = ms(change) + MINUTE * np.arange(-180, 181)
        walls = time.wall(instants)
        last = dict(zip(walls.tolist(), instants.tolist(), strict=True))
        found = time.instants(walls[:-120])
        assert found.tolist() == [last[wall] for wall in walls[:-120].tolist()]


def test_a_time_that_is_left_out_is_put_forward() -> None:
    skipped = np.array([ms(datetime(2021, 3, 28, 2, 30))])
    (found,) = WindowTime("Europe/Berlin").instants(skipped).tolist()
    assert found == ms(datetime(2021, 3, 28, 1, 30, tzinfo=UTC))


def test_the_ends_of_time() -> None:
    time = WindowTime("America/Los_Angeles", processing=True)
    for instant in (MIN_WATERMARK, MAX_WATERMARK):
        assert time.reached(instant) == instant
    assert time.wakeup(MAX_WATERMARK) is None
    at = datetime(2021, 7, 1, 12, tzinfo=UTC)
    wall = ms(at - timedelta(hours=7))
    assert time.wakeup(wall) == ms(at) + 1
    assert EVENT_TIME.wakeup(wall) is None
