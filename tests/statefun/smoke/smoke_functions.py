"""The function of the smoke test with Flink's Python SDK, and its server (README.md)."""

from __future__ import annotations

import asyncio
import os
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

from statefun import (
    Context,
    IntType,
    LongType,
    Message,
    StatefulFunctions,
    StringType,
    ValueSpec,
    egress_message_builder,
    make_json_type,
    message_builder,
)

WORKER = "smoke/worker"
COMMAND = make_json_type("smoke/command")
functions = StatefulFunctions()


def command(id: str, steps: list[Any]) -> Message:
    return message_builder(WORKER, id, value={"steps": steps}, value_type=COMMAND)


def write(context: Context, egress: str, text: str) -> None:
    context.send_egress(egress_message_builder(egress, text, StringType))


STATES = [ValueSpec("count", LongType), ValueSpec("seen", IntType), ValueSpec("last", IntType)]


@functions.bind(WORKER, STATES)
async def worker(context: Context, message: Message) -> None:
    """Carries out commands."""
    storage, given = context.storage, message.as_type(COMMAND)
    storage.seen = (storage.seen or 0) + 1
    if "n" in given:
        last = storage.last or 0
        if given["n"] != last + 1:
            write(context, "smoke/out", f"disorder {context.address.id} {last} {given['n']}")
        storage.last = given["n"]
    # the context's caller is that of this message until the function returns
    await carry_out(context, given["steps"])


async def carry_out(context: Context, steps: list[Any]) -> None:
    storage = context.storage
    for step in steps:
        match step["do"]:
            case "add":
                storage.count = (storage.count or 0) + step["by"]
            case "send":
                context.send(command(step["to"], step["steps"]))
            case "reply":
                if context.caller is not None:
                    context.send(command(context.caller.id, step["steps"]))
            case "later":
                sent = command(step["to"], step["steps"])
                after = timedelta(milliseconds=step["after"])
                context.send_after(after, sent, step.get("token", ""))
            case "cancel":
                context.cancel_delayed_message(step["token"])
            case "wait":
                await asyncio.sleep(step["ms"] / 1000)
                await carry_out(context, step["steps"])
            case "tell":
                write(context, "smoke/out", step["text"])
            case "report":
                values = context.address.id, storage.count or 0, storage.seen, storage.last or 0
                write(context, "smoke/states", " ".join(map(str, values)))
            case unknown:
                raise ValueError(f"unknown step {unknown}")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))
    from function_process import serve

    serve(functions, int(os.environ.get("PORT", "0")))
