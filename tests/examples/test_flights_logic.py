"""What the demo computes, on flights made up for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from aircraft import still_away
from delays import LATE, DelaysByCarrier, hourly_delays, summarize
from events import (
    CANCELLED,
    DISORDER,
    HOUR,
    MINUTE,
    Departures,
    Flight,
    event_time,
    parse_flight,
)

from millrace.common import Configuration
from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.datastream.job_launcher import JobLauncher
from millrace.testing.local_executor import LocalExecutor

NOON = 1_372_680_000_000
"""1 July 2013, 12:00 UTC."""


@pytest.fixture(autouse=True)
def _in_process() -> Iterator[None]:
    JobLauncher.install(JobLauncher(executor=lambda *_: LocalExecutor(2)))
    yield
    JobLauncher.install(None)


def flight(scheduled: int, delay: int | None = 0, **fields: str) -> Flight:
    named = {"carrier": "UA", "number": "1", "tailnum": "N1", "origin": "EWR", "dest": "SFO"}
    return Flight(scheduled, delay, **{**named, **fields})


def departures(flights: Iterable[Flight]) -> DataStream[Flight]:
    # a watermark behind every record
    one_by_one = Configuration({"millrace.buffer.records": 1})
    env = StreamExecutionEnvironment.get_execution_environment(one_by_one)
    stream = env.from_collection(list(flights)).assign_timestamps_and_watermarks(event_time())
    return stream.process(Departures())


def records(stream: DataStream[Any]) -> list[Any]:
    return list(stream.execute_and_collect())


def away_since(*flights: Flight) -> list[int]:
    return sorted(alert["departed"] for alert in records(still_away(departures(flights))))


def test_a_line_of_the_recording_becomes_a_flight() -> None:
    row = {
        "time_hour": "2013-07-01T12:00:00Z",
        "minute": "5",
        "dep_delay": "-3",
        "carrier": "UA",
        "flight": "1",
        "tailnum": "N1",
        "origin": "EWR",
        "dest": "SFO",
    }
    parsed = parse_flight(row)
    assert parsed == flight(NOON + 5 * MINUTE, -3)
    assert parsed.happened == NOON + 2 * MINUTE
    assert parse_flight({**row, "dep_delay": "NA"}).delay is None


def test_cancelled_flights_stay_countable() -> None:
    stream = departures([flight(NOON), flight(NOON, None, number="2")])
    assert records(stream.get_side_output(CANCELLED)) == [flight(NOON, None, number="2")]


def test_an_aircraft_that_departs_within_twelve_hours_is_not_missed() -> None:
    assert away_since(flight(NOON), flight(NOON + 12 * HOUR)) == [NOON + 12 * HOUR]
    assert away_since(flight(NOON), flight(NOON + 12 * HOUR + MINUTE)) == [
        NOON,
        NOON + 12 * HOUR + MINUTE,
    ]


def test_order_of_schedule_is_not_order_of_departure() -> None:
    """The second on the board leaves first; each is judged by when it left."""
    late, early = flight(NOON, 20 * 60), flight(NOON + HOUR, number="2")
    assert away_since(late, early) == [NOON + HOUR, NOON + 20 * HOUR]


def test_a_departure_whose_hour_was_closed_is_late_data() -> None:
    """One flight, 21 hours late, carries the watermark over the hour of those that follow."""
    flights = [flight(NOON, 21 * 60), *(flight(NOON + n * MINUTE) for n in range(1, 10))]
    assert DISORDER < 20 * HOUR
    in_time = records(hourly_delays(departures(flights)))
    late = records(hourly_delays(departures(flights)).get_side_output(LATE))
    assert sum(hour["departures"] for hour in in_time) + len(late) == len(flights)
    assert late == flights[-len(late) :]
    assert late


def test_delays_of_an_hour() -> None:
    add, accumulator = DelaysByCarrier().add, {}
    for carrier, delay in (("UA", 10), ("UA", 20), ("AA", 18)):
        accumulator = add(flight(NOON, delay, carrier=carrier), accumulator)
    assert summarize(accumulator) == {
        "departures": 3,
        "total_delay": 48,
        "average_delay": 16.0,
        "worst_carrier": "AA",
        "worst_delay": 18.0,
    }
