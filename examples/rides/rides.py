"""Rides in a town: passengers ask for them, cells of the map know free drivers, drivers drive.

One function type for each thing that has a state of its own. Nobody sees everything: a ride asks
cells, a cell proposes a driver, and the driver decides.
"""

from __future__ import annotations

from datetime import timedelta
from math import dist
from typing import Any

from statefun import (
    Context,
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
EVENT = make_json_type("rides/event")
"""What one of them tells another: an object whose first key says it."""
PLACE = make_json_type("rides/place")
"""Kilometres to the east and to the north."""
NAMES = make_json_type("rides/names")
ORDER = make_json_type("rides/order")
"""The passenger of a ride, and where it begins and ends."""
EGRESS_RECORD = make_json_type("io.statefun.playground/EgressRecord")
PAUSE = timedelta(seconds=5)
"""How long a ride waits before it asks all cells again."""
ROUNDS = 3
SECONDS_PER_KM = 1
"""The town is small, and its cars are quick: one does not want to watch for an hour."""
AROUND = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]
"""The cells in which a ride looks for a driver: its own, then those around."""
Event = dict[str, Any]


def send(context: Context, function: str, id: str, event: Event) -> None:
    """Tell another function of an event."""
    context.send(message_builder(f"rides/{function}", id, value=event, value_type=EVENT))


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


def cell_of(place: list[float]) -> tuple[int, int]:
    """The square kilometre of a place."""
    return int(place[0] // 1), int(place[1] // 1)


def cell_id(cell: tuple[int, int]) -> str:
    """Id of a cell's address."""
    return f"{cell[0]},{cell[1]}"


@functions.bind("rides/passenger", [ValueSpec("rides", IntType)])
def passenger(context: Context, message: Message) -> None:
    """Asks for rides, and hears of them. The id is the name."""
    match message.as_type(EVENT):
        case {"from": start, "to": end}:
            context.storage.rides = (context.storage.rides or 0) + 1
            order = {"passenger": context.address.id, "from": start, "to": end}
            send(context, "ride", f"{context.address.id}-{context.storage.rides}", {"order": order})
        case {"coming": driver, "km": km}:
            tell(context, "passengers", f"{driver} comes, {km:.1f} km away")
        case {"paid": euros}:
            tell(context, "passengers", f"arrived, {euros:.2f} euros")
        case {"nobody": _}:
            tell(context, "passengers", "nobody is free")


RIDE_STATES = [ValueSpec("order", ORDER), ValueSpec("asked", IntType)]


@functions.bind("rides/ride", RIDE_STATES)
def ride(context: Context, message: Message) -> None:
    """Finds a driver for an order. It forgets everything when it is over."""
    storage = context.storage
    match message.as_type(EVENT):
        case {"order": order}:
            storage.order, storage.asked = order, 0
            ask_next_cell(context)
        case {"free": driver}:
            offer = {"offer": context.address.id, "from": storage.order["from"]}
            send(context, "driver", driver, offer)
        case {"empty": _}:
            storage.asked += 1
            ask_next_cell(context)
        case {"declined": _}:
            ask_next_cell(context)  # the same one: it does not propose this driver again
        case {"accepted": driver, "km": km}:
            send(context, "passenger", storage.order["passenger"], {"coming": driver, "km": km})
            send(context, "driver", driver, {"drive": storage.order})
        case {"arrived": _}:
            order = storage.order
            euros = 2 + 1.5 * dist(order["from"], order["to"])
            send(context, "passenger", order["passenger"], {"paid": euros})
            del storage.order
            del storage.asked


def ask_next_cell(context: Context) -> None:
    """Look for a driver in the next cell, in the first one after a pause, or give up."""
    storage = context.storage
    order, asked = storage.order, storage.asked
    if asked == ROUNDS * len(AROUND):
        send(context, "passenger", order["passenger"], {"nobody": True})
        del storage.order
        del storage.asked
        return
    (x, y), (east, north) = cell_of(order["from"]), AROUND[asked % len(AROUND)]
    id, question = cell_id((x + east, y + north)), {"who is free": context.address.id}
    cell = message_builder("rides/cell", id, value=question, value_type=EVENT)
    if asked > 0 and asked % len(AROUND) == 0:
        context.send_after(PAUSE, cell)
    else:
        context.send(cell)


@functions.bind("rides/cell", [ValueSpec("drivers", NAMES)])
def cell(context: Context, message: Message) -> None:
    """Knows the free drivers of a square kilometre, those who have waited longest first."""
    drivers = context.storage.drivers or []
    match message.as_type(EVENT):
        case {"comes": driver} if driver not in drivers:
            context.storage.drivers = [*drivers, driver]
        case {"leaves": driver} if driver in drivers:
            context.storage.drivers = [name for name in drivers if name != driver]
        case {"who is free": ride} if drivers:
            context.storage.drivers = drivers[1:]
            send(context, "ride", ride, {"free": drivers[0]})
        case {"who is free": ride}:
            send(context, "ride", ride, {"empty": context.address.id})


DRIVER_STATES = [ValueSpec("place", PLACE), ValueSpec("ride", StringType)]


@functions.bind("rides/driver", DRIVER_STATES)
def driver(context: Context, message: Message) -> None:
    """Drives, and takes the rides that cells propose. The id is the name."""
    storage, name = context.storage, context.address.id
    match message.as_type(EVENT):
        case {"at": place} if storage.ride is None:
            wait_at(context, place)
        case {"offer": ride, "from": start} if storage.ride is None:
            storage.ride = ride
            leave(context)
            km = dist(storage.place, start)
            send(context, "ride", ride, {"accepted": name, "km": km})
        case {"offer": ride}:
            send(context, "ride", ride, {"declined": name})
        case {"drive": order}:
            tell(context, "drivers", f"drives {storage.ride}")
            km = dist(storage.place, order["from"]) + dist(order["from"], order["to"])
            storage.place = order["to"]
            send_later(context, timedelta(seconds=SECONDS_PER_KM * km), {"there": True})
        case {"there": _}:
            tell(context, "drivers", f"is there with {storage.ride}")
            send(context, "ride", storage.ride, {"arrived": True})
            del storage.ride
            wait_at(context, storage.place)


def wait_at(context: Context, place: list[float]) -> None:
    """Be found in the cell of a place."""
    if context.storage.place is not None:
        leave(context)
    context.storage.place = place
    send(context, "cell", cell_id(cell_of(place)), {"comes": context.address.id})


def leave(context: Context) -> None:
    """Be found no more."""
    here = cell_id(cell_of(context.storage.place))
    send(context, "cell", here, {"leaves": context.address.id})
