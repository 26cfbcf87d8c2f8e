"""A shop: articles are held for a cart while its customer decides, and go back after a time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from statefun import (
    Context,
    IntType,
    Message,
    StatefulFunctions,
    ValueSpec,
    egress_message_builder,
    make_json_type,
    message_builder,
)

functions = StatefulFunctions()
EVENT = make_json_type("shop/event")
"""What happens to a cart or to an article: an object whose first key says it."""
HELD = make_json_type("shop/held")
"""Pieces by article."""
EGRESS_RECORD = make_json_type("io.statefun.playground/EgressRecord")
PATIENCE = timedelta(minutes=10)
"""How long articles are held for a customer without a sign of life."""


def send(context: Context, function: str, id: str, event: dict[str, Any]) -> None:
    """Tell another function of an event."""
    context.send(message_builder(f"shop/{function}", id, value=event, value_type=EVENT))


def tell(context: Context, topic: str, text: str) -> None:
    """Write to a topic for people."""
    record = {"topic": topic, "payload": text}
    context.send_egress(
        egress_message_builder("io.statefun.playground/egress", record, EGRESS_RECORD)
    )


@functions.bind("shop/article", [ValueSpec("left", IntType)])
def article(context: Context, message: Message) -> None:
    """The stock of an article. Its id is the article's name."""
    left = context.storage.left or 0
    match message.as_type(EVENT):
        case {"deliver": pieces}:
            context.storage.left = left + pieces
        case {"return": pieces}:
            context.storage.left = left + pieces
        case {"hold": pieces} if pieces <= left:
            context.storage.left = left - pieces
            send(context, "cart", context.caller.id, {"held": context.address.id, "pieces": pieces})
        case {"hold": _}:
            send(context, "cart", context.caller.id, {"lacks": context.address.id, "left": left})


@functions.bind("shop/cart", [ValueSpec("held", HELD)])
def cart(context: Context, message: Message) -> None:
    """The cart of a customer. Its id is the customer's name."""
    name, held = context.address.id, context.storage.held or {}
    match message.as_type(EVENT):
        case {"add": wanted, "pieces": pieces}:
            send(context, "article", wanted, {"hold": pieces})
        case {"held": wanted, "pieces": pieces}:
            context.storage.held = held = {**held, wanted: held.get(wanted, 0) + pieces}
            tell(context, "answers", f"{name} holds {held[wanted]} {wanted}")
            wait_for_customer(context)
        case {"lacks": wanted, "left": left}:
            tell(context, "answers", f"{name} cannot have them: {left} {wanted} are left")
        case {"pay": _} if held:
            bought = ", ".join(f"{pieces} {wanted}" for wanted, pieces in sorted(held.items()))
            tell(context, "receipts", f"{name} buys {bought}")
            context.cancel_delayed_message("patience")
            del context.storage.held
        case {"pay": _}:
            tell(context, "answers", f"{name} has an empty cart")
        case {"forgotten": _}:
            for wanted, pieces in held.items():
                send(context, "article", wanted, {"return": pieces})
            tell(context, "answers", f"{name} has forgotten the cart")
            del context.storage.held


def wait_for_customer(context: Context) -> None:
    """Send the cart a message that comes if nothing happens until then."""
    context.cancel_delayed_message("patience")
    id, event = context.address.id, {"forgotten": True}
    later = message_builder("shop/cart", id, value=event, value_type=EVENT)
    context.send_after(PATIENCE, later, "patience")
