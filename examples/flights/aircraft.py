"""Per aircraft: an alert when it took off and has not departed again within twelve hours.

The recording knows departures from New York only, so "again" means from New York again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from events import HOUR, Flight

from millrace.common import KeyedProcessFunction, MapStateDescriptor, RuntimeContext, Types
from millrace.datastream import DataStream

LIMIT = 12 * HOUR
PATIENCE = 11 * HOUR
"""How long after the limit it is decided. The watermark is never as far ahead of a departure, so
that no late one which would have prevented the alert is still to come."""


def still_away(departures: DataStream[Flight]) -> DataStream[dict[str, Any]]:
    """The alerts."""
    keyed = departures.key_by(lambda flight: flight.tailnum)
    return keyed.process(DepartsAgain()).name("aircraft alerts")


class DepartsAgain(KeyedProcessFunction[str, Flight, dict[str, Any]]):
    """Keeps an aircraft's departures until each of them has been judged.

    Departures come in the order of the schedule, not in that of event time, so there is no "last"
    one to remember: the next departure may be known before this one, or after.
    """

    def open(self, runtime_context: RuntimeContext) -> None:
        self.departures = runtime_context.get_map_state(
            MapStateDescriptor("departures", Types.LONG(), Types.PICKLED_BYTE_ARRAY())
        )

    def process_element(self, value: Flight, ctx: KeyedProcessFunction.Context) -> None:
        departed = value.happened
        self.departures.put(departed, (value.origin, value.dest, value.carrier, value.number))
        ctx.timer_service().register_event_time_timer(departed + LIMIT + PATIENCE)

    def on_timer(
        self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext
    ) -> Iterator[dict[str, Any]]:
        departed = timestamp - LIMIT - PATIENCE
        origin, dest, carrier, number = self.departures.get(departed)
        again = any(departed < other <= departed + LIMIT for other in self.departures)
        self.departures.remove(departed)
        if not again:
            yield {
                "tailnum": ctx.get_current_key(),
                "departed": departed,
                "origin": origin,
                "dest": dest,
                "carrier": carrier,
                "flight": number,
            }
