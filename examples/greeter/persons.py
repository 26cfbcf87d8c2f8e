"""Persons: each counts its visits, and tells the greeter, which is written in JavaScript."""

from __future__ import annotations

from statefun import (
    Context,
    IntType,
    Message,
    StatefulFunctions,
    ValueSpec,
    make_json_type,
    message_builder,
)

functions = StatefulFunctions()
VISIT = make_json_type("example/visit")
"""A person's name and the number of the visit."""


@functions.bind("example/person", [ValueSpec("visits", IntType)])
def person(context: Context, message: Message) -> None:
    """Somebody comes: the id of the address is the name."""
    context.storage.visits = (context.storage.visits or 0) + 1
    visit = {"name": context.address.id, "number": context.storage.visits}
    context.send(
        message_builder("example/greeter", context.address.id, value=visit, value_type=VISIT)
    )
