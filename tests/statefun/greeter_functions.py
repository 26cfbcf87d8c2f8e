"""Functions written with Flink's Python SDK, as a program that serves them and as a module."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from statefun.egress_io import EgressMessage

from statefun import (
    Context,
    IntType,
    Message,
    StatefulFunctions,
    StringType,
    ValueSpec,
    make_json_type,
    message_builder,
)

functions = StatefulFunctions()
EGRESS_RECORD = make_json_type("io.statefun.playground/EgressRecord")


def to_egress(context: Context, text: str) -> None:
    typed = message_builder("x/x", "x", str_value=text).typed_value
    context.send_egress(EgressMessage("test/out", typed))


@functions.bind("test/greeter", [ValueSpec("seen", IntType), ValueSpec("last", StringType)])
def greeter(context: Context, message: Message) -> None:
    """Counts, and tells the egress."""
    storage = context.storage
    storage.seen = (storage.seen or 0) + 1
    before, storage.last = storage.last, message.as_string()
    caller = context.caller.id if context.caller else "-"
    to_egress(
        context, f"{context.address.id} {message.as_string()} {storage.seen} {before} {caller}"
    )


@functions.bind("test/relay")
async def relay(context: Context, message: Message) -> None:
    """Sends a text ``target rest`` on to the greeter with that id."""
    await asyncio.sleep(0)
    target, _, rest = message.as_string().partition(" ")
    context.send(message_builder("test/greeter", target, str_value=rest))


@functions.bind("test/alarm")
def alarm(context: Context, message: Message) -> None:
    """Sends the greeter a message later: ``delay text``, or cancels it: ``cancel text``."""
    word, _, text = message.as_string().partition(" ")
    if word == "cancel":
        context.cancel_delayed_message(text)
        return
    later = message_builder("test/greeter", context.address.id, str_value=text)
    context.send_after(timedelta(milliseconds=int(word)), later, text)


@functions.bind("test/playing", [ValueSpec("seen", IntType)])
def playing(context: Context, message: Message) -> None:
    """Writes to the playground's egress."""
    context.storage.seen = (context.storage.seen or 0) + 1
    text = f"{context.address.id} {message.value_typename()} {context.storage.seen}"
    record = {"topic": "greetings", "payload": text}
    typed = message_builder("x/x", "x", value=record, value_type=EGRESS_RECORD).typed_value
    context.send_egress(EgressMessage("io.statefun.playground/egress", typed))


@functions.bind("test/faulty")
def faulty(context: Context, message: Message) -> None:
    """Does what is not allowed."""
    match message.as_string():
        case "egress":
            context.send_egress(EgressMessage("test/none", message.typed_value))
        case "function":
            context.send(message_builder("gone/function", "1", str_value="x"))
        case "raise":
            raise ValueError("on purpose")


if __name__ == "__main__":
    from function_process import serve

    serve(functions)
