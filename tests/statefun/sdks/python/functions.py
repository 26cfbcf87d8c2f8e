"""Functions of the tests, served with the Python SDK of Stateful Functions. They are the same in
all languages; README.md beside this directory says what each does. ``greeter_functions`` has the
others, ``smoke_functions`` the worker of the smoke test."""

from __future__ import annotations

import os
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[2] / "smoke"))

from function_process import serve
from greeter_functions import functions
from smoke_functions import STATES, WORKER, worker

from statefun import (
    BoolType,
    Context,
    DoubleType,
    FloatType,
    IntType,
    LongType,
    Message,
    StringType,
    ValueSpec,
    egress_message_builder,
    make_json_type,
    message_builder,
)

KINDS = {
    "bool": BoolType,
    "int": IntType,
    "long": LongType,
    "float": FloatType,
    "double": DoubleType,
    "string": StringType,
    "json": make_json_type("test/json"),
}
TEN_SECONDS = timedelta(seconds=10)


def tell(context: Context, value: Any, kind: Any = StringType) -> None:
    context.send_egress(egress_message_builder("test/out", value, kind))


@functions.bind(
    "test/short",
    [
        ValueSpec("written", IntType, expire_after_write=TEN_SECONDS),
        ValueSpec("called", IntType, expire_after_call=TEN_SECONDS),
    ],
)
def short(context: Context, message: Message) -> None:
    storage, text = context.storage, message.as_string()
    if text == "write":
        storage.written = (storage.written or 0) + 1
        storage.called = (storage.called or 0) + 1
    elif text != "read":
        delay, word = text.split(" ")
        later = message_builder("test/short", context.address.id, str_value=word)
        context.send_after(timedelta(milliseconds=int(delay)), later)
        return
    tell(context, f"{text} {storage.written} {storage.called}")


@functions.bind("test/types", [ValueSpec(name, kind) for name, kind in KINDS.items()])
def types(context: Context, message: Message) -> None:
    storage = context.storage
    for name, kind in KINDS.items():
        if not message.is_type(kind):
            continue
        value, former = message.as_type(kind), getattr(storage, name)
        if former is not None:
            tell(context, former, kind)
        if value == "forget":
            for each in KINDS:
                delattr(storage, each)
        else:
            setattr(storage, name, value)
            tell(context, value, kind)


if __name__ == "__main__":
    functions.bind(WORKER, STATES)(worker)
    serve(functions, int(os.environ.get("PORT", "0")))
