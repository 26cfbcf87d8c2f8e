"""The first week of July 2013, with the two days after it, as a stream of departures.

In July, when thunderstorms hold up New York's airports, there is most to see.
"""

from __future__ import annotations

import csv
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from events import HOUR, Flight, parse_flight
from replay import raw_flights

from millrace.common import Time, WatermarkStrategy
from millrace.datastream import DataStream, StreamExecutionEnvironment

NEW_YORK = ZoneInfo("America/New_York")
BEGIN = int(datetime(2013, 7, 1, tzinfo=NEW_YORK).timestamp()) * 1000
END = BEGIN + 7 * 24 * HOUR
RECORDED_UNTIL = END + 48 * HOUR


def departures(env: StreamExecutionEnvironment) -> DataStream[Flight]:
    """In the order of the schedule; event time is when an aircraft really left.

    The watermark stays 24 hours behind the latest departure: nobody left as late as that, so no
    departure is late data.
    """
    strategy: WatermarkStrategy[Any] = WatermarkStrategy.for_bounded_out_of_orderness(
        Time.hours(24)
    )
    strategy = strategy.with_timestamp_assigner(lambda value, _: value.happened)
    return env.from_collection(read_week()).assign_timestamps_and_watermarks(strategy)


def read_week() -> list[Flight]:
    """The flights that left; of some that did not, the aircraft is not even known."""
    with raw_flights() as file:
        july = (line for line in file if line.startswith(("year,", "2013,7,")))
        rows = list(csv.DictReader(july))
    flights = [parse_flight(row) for row in rows if row["dep_delay"] != "NA"]
    return sorted(flight for flight in flights if BEGIN <= flight.scheduled < RECORDED_UNTIL)


def clock(time: int) -> str:
    """A time (ms since the epoch) in New York."""
    return datetime.fromtimestamp(time / 1000, UTC).astimezone(NEW_YORK).strftime("%a %d %H:%M")
