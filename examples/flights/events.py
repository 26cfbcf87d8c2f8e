"""What happens in the stream, and when.

*Order.* Flights come in the order of their schedule, as an airport's departure board lists them.

*Event time.* A departure happens when the aircraft really leaves: its schedule plus its delay,
which is anything from 43 minutes early to 21 hours late. That is the disorder: what comes next in
the stream may have happened a day after, or half an hour before, what came last. A cancelled
flight happens when it should have left.

*Watermark.* It stays `DISORDER` behind the latest departure seen. A flight that leaves even later
than that carries the watermark ahead, and flights that then come in perfect order are late data:
they happened before the watermark and may find their hour closed.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from millrace.common import Time, WatermarkStrategy
from millrace.datastream import OutputTag, ProcessFunction

MINUTE = 60_000
HOUR = 60 * MINUTE
DISORDER = 12 * HOUR
"""How far the watermark stays behind the latest departure."""


class Flight(NamedTuple):
    """One line of the departure board. Times are in ms since the epoch, the delay in minutes."""

    scheduled: int
    delay: int | None
    """None: the flight was cancelled."""
    carrier: str
    number: str
    tailnum: str
    origin: str
    dest: str

    @property
    def happened(self) -> int:
        """Its event time."""
        return self.scheduled + (self.delay or 0) * MINUTE


def parse_flight(row: dict[str, str]) -> Flight:
    """A flight from a line of the replayed file."""
    hour = datetime.fromisoformat(row["time_hour"])
    return Flight(
        scheduled=int(hour.timestamp()) * 1000 + int(row["minute"]) * MINUTE,
        delay=None if row["dep_delay"] == "NA" else int(row["dep_delay"]),
        carrier=row["carrier"],
        number=row["flight"],
        tailnum=row["tailnum"],
        origin=row["origin"],
        dest=row["dest"],
    )


def event_time() -> WatermarkStrategy[Flight]:
    """Event times and watermarks of flights."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Time.milliseconds(DISORDER))
    return strategy.with_timestamp_assigner(lambda flight, _: flight.happened)


CANCELLED: OutputTag[Flight] = OutputTag("cancelled")


class Departures(ProcessFunction[Flight, Flight]):
    """Passes departures on; cancelled flights go to a side output."""

    def process_element(self, value: Flight, ctx: ProcessFunction.Context) -> Iterator[Any]:
        if value.delay is None:
            yield CANCELLED, value
        else:
            yield value
