"""Per airport and hour: the departures, their average delay, and the airline with the worst."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from events import HOUR, Flight

from millrace.common import AggregateFunction, ProcessWindowFunction, Time
from millrace.datastream import DataStream, OutputTag
from millrace.datastream.window import TimeWindow, TumblingEventTimeWindows

LATE: OutputTag[Flight] = OutputTag("late")
"""Departures whose hour was closed already."""

Delays = dict[str, tuple[int, int]]
"""By carrier: departures, and the sum of their delays in minutes."""


def hourly_delays(departures: DataStream[Flight]) -> DataStream[dict[str, Any]]:
    """One record per airport and hour; late departures are in the side output `LATE`."""
    return (
        departures.key_by(lambda flight: flight.origin)
        .window(TumblingEventTimeWindows.of(Time.milliseconds(HOUR)))
        .side_output_late_data(LATE)
        .aggregate(DelaysByCarrier(), Summary())
        .name("delays per hour")
    )


class DelaysByCarrier(AggregateFunction[Flight, Delays, Delays]):
    """Adds up the delays of an hour."""

    def create_accumulator(self) -> Delays:
        return {}

    def add(self, value: Flight, accumulator: Delays) -> Delays:
        count, total = accumulator.get(value.carrier, (0, 0))
        accumulator[value.carrier] = (count + 1, total + (value.delay or 0))
        return accumulator

    def get_result(self, accumulator: Delays) -> Delays:
        return accumulator

    def merge(self, acc_a: Delays, acc_b: Delays) -> Delays:
        merged = dict(acc_a)
        for carrier, (count, total) in acc_b.items():
            counted, summed = merged.get(carrier, (0, 0))
            merged[carrier] = (counted + count, summed + total)
        return merged


class Summary(ProcessWindowFunction[Delays, dict[str, Any], str, TimeWindow]):
    """Makes a record of an hour."""

    def process(
        self,
        key: str,
        context: ProcessWindowFunction.Context[TimeWindow],
        elements: Iterable[Delays],
    ) -> Iterator[dict[str, Any]]:
        for delays in elements:
            yield {"origin": key, "hour": context.window().start, **summarize(delays)}


def summarize(delays: Delays) -> dict[str, Any]:
    """Departures, delays in minutes, and the worst carrier: the one with the highest average.

    Example:
        >>> summarize({"UA": (2, 30), "AA": (1, 20)})["worst_carrier"]
        'AA'
    """
    departures = sum(count for count, _ in delays.values())
    total = sum(total for _, total in delays.values())
    averages = {carrier: total / count for carrier, (count, total) in delays.items()}
    worst = max(averages, key=lambda carrier: (averages[carrier], carrier))
    return {
        "departures": departures,
        "total_delay": total,
        "average_delay": total / departures,
        "worst_carrier": worst,
        "worst_delay": averages[worst],
    }
