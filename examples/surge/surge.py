"""Prices that follow demand: zones of a town know who waits and who is free, and make prices.

A zone is asked for a price by riders, calls drivers from the zones around it when many wait, and
gives its drivers to those who accept. A price is valid for a while; the zone forgets who has asked
a while ago, and the price goes down again.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from statefun import (
    Context,
    FloatType,
    IntType,
    Message,
    StatefulFunctions,
    StringType,
    ValueSpec,
    egress_message_builder,
    make_json_type,
    message_builder,
)

functions = StatefulFunctions()
EVENT = make_json_type("surge/event")
"""What one of them tells another: an object whose first key says it."""
NAMES = make_json_type("surge/names")
QUOTE = make_json_type("surge/quote")
"""The zone of a price, the euros, and the kilometres."""
EGRESS_RECORD = make_json_type("io.statefun.playground/EgressRecord")
NEIGHBOURS = {
    "centre": ("station", "harbour"),
    "station": ("centre",),
    "harbour": ("centre",),
    "airport": (),
}
STEP, MOST, CALL = 0.25, 3.0, 1.5
"""What each rider adds for whom no driver is free, the highest factor of a price, and the one at
which drivers are called from the zones around."""
VALID = timedelta(minutes=2)
MEMORY = timedelta(minutes=5)
"""How long a rider who has asked counts as waiting."""
MINUTES_PER_KM = 2
Event = dict[str, Any]


def send(context: Context, function: str, id: str, event: Event) -> None:
    """Tell another function of an event."""
    context.send(message_builder(f"surge/{function}", id, value=event, value_type=EVENT))


def send_later(context: Context, delay: timedelta, event: Event) -> None:
    """Tell the function itself of an event."""
    address = context.address
    message = message_builder(address.typename, address.id, value=event, value_type=EVENT)
    context.send_after(delay, message)


def tell(context: Context, topic: str, text: str) -> None:
    """Write to a topic for people."""
    record = {"topic": topic, "payload": f"{context.address.id}: {text}"}
    context.send_egress(
        egress_message_builder("io.statefun.playground/egress", record, EGRESS_RECORD)
    )


def factor(waiting: int, free: int) -> float:
    """By what a price is multiplied when so many riders wait for so many drivers.

    Example:
        >>> factor(waiting=1, free=1), factor(waiting=4, free=1), factor(waiting=40, free=1)
        (1.0, 1.75, 3.0)
    """
    return min(1 + STEP * max(waiting - free, 0), MOST)


@functions.bind("surge/zone", [ValueSpec("waiting", NAMES), ValueSpec("free", NAMES)])
def zone(context: Context, message: Message) -> None:
    """Makes prices, and has the free drivers of a part of the town. The id is its name."""
    storage, name = context.storage, context.address.id
    waiting, free = storage.waiting or [], storage.free or []
    match message.as_type(EVENT):
        case {"price for": rider, "km": km}:
            if rider not in waiting:
                storage.waiting = waiting = [*waiting, rider]
            send_later(context, MEMORY, {"forget": rider})
            times = factor(len(waiting), len(free))
            euros = round((2 + 1.5 * km) * times, 2)
            send(context, "rider", rider, {"price": euros, "zone": name, "km": km})
            if times >= CALL:
                for neighbour in NEIGHBOURS[name]:
                    send(context, "zone", neighbour, {"needed in": name, "times": times})
        case {"needed in": other, "times": times} if len(free) > len(waiting):
            storage.free = free[1:]
            send(context, "driver", free[0], {"go to": other, "times": times})
        case {"accepted": rider, "ride": ride} if free:
            storage.free = free[1:]
            storage.waiting = [each for each in waiting if each != rider]
            send(context, "driver", free[0], {"drive": rider, **ride})
        case {"accepted": rider, "ride": _}:
            send(context, "rider", rider, {"nobody": name})
        case {"forget": rider}:
            storage.waiting = [each for each in waiting if each != rider]
        case {"comes": driver}:
            storage.free = [*free, driver]
            send(context, "driver", driver, {"free in": name})


@functions.bind("surge/rider", [ValueSpec("quote", QUOTE), ValueSpec("asked", IntType)])
def rider(context: Context, message: Message) -> None:
    """Asks for prices, and accepts them or not. The id is the name."""
    storage, name = context.storage, context.address.id
    match message.as_type(EVENT):
        case {"ask": zone, "km": km}:
            send(context, "zone", zone, {"price for": name, "km": km})
        case {"price": euros, "zone": zone, "km": km}:
            storage.asked = (storage.asked or 0) + 1
            storage.quote = {"zone": zone, "euros": euros, "km": km}
            # a later price is another one, and has its own time
            send_later(context, VALID, {"over": storage.asked})
            tell(context, "riders", f"{euros:.2f} euros")
        case {"over": number} if number == storage.asked:
            del storage.quote
        case {"accept": _} if storage.quote is None:
            tell(context, "riders", "this price is no longer valid")
        case {"accept": _}:
            quote = storage.quote
            del storage.quote
            ride = {"euros": quote["euros"], "km": quote["km"]}
            send(context, "zone", quote["zone"], {"accepted": name, "ride": ride})
        case {"comes": driver, "euros": euros}:
            tell(context, "riders", f"{driver} comes, {euros:.2f} euros")
        case {"nobody": zone}:
            tell(context, "riders", f"nobody is free in {zone}")


DRIVER_STATES = [ValueSpec("place", StringType), ValueSpec("earned", FloatType)]


@functions.bind("surge/driver", DRIVER_STATES)
def driver(context: Context, message: Message) -> None:
    """Is free in a zone, or drives. The id is the name."""
    storage, name = context.storage, context.address.id
    match message.as_type(EVENT):
        case {"at": zone}:
            storage.place = zone
            send(context, "zone", zone, {"comes": name})
        case {"go to": zone, "times": times}:
            tell(context, "drivers", f"goes to {zone}, where prices are {times:g} times as high")
            storage.place = zone
            send(context, "zone", zone, {"comes": name})
        case {"free in": zone}:
            tell(context, "drivers", f"is free in {zone}")
        case {"drive": rider, "euros": euros, "km": km}:
            tell(context, "drivers", f"drives {rider}")
            send(context, "rider", rider, {"comes": name, "euros": euros})
            storage.earned = (storage.earned or 0) + euros
            send_later(context, timedelta(minutes=MINUTES_PER_KM * km), {"there": rider})
        case {"there": rider}:
            tell(context, "drivers", f"is there with {rider}, has earned {storage.earned:.2f}")
            send(context, "zone", storage.place, {"comes": name})
