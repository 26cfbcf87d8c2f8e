"""Functions of Flink's Python SDK for the benchmarks of Stateful Functions, and their server.

python sdk_functions.py        serves them; prints the port

The server answers a GET request with the number of invocations of ``bench/counter``.
"""

from __future__ import annotations

import asyncio
import time

import httptools

from statefun import (
    Context,
    IntType,
    LongType,
    Message,
    RequestReplyHandler,
    StatefulFunctions,
    ValueSpec,
    egress_message_builder,
    message_builder,
)

ADDRESSES = 1000
PRIME = 2_654_435_761
DELAYS = "bench/delays"
"""Egress of the microseconds that messages took."""

functions = StatefulFunctions()
counted = [0]
"""Number of invocations of ``bench/counter`` in this process."""


def next_id(id: str) -> str:
    return str((int(id) * PRIME + 1) % ADDRESSES)


@functions.bind("bench/counter", [ValueSpec("count", IntType)])
def counter(context: Context, message: Message) -> None:
    """Reads and writes an integer, and sends one message: how often it goes on."""
    counted[0] += 1
    storage = context.storage
    storage.count = (storage.count or 0) + 1
    left = message.as_int()
    if left:
        target = next_id(context.address.id)
        context.send(message_builder("bench/counter", target, int_value=left - 1))


@functions.bind("bench/player", [ValueSpec("left", IntType)])
def player(context: Context, message: Message) -> None:
    """Sends the ball back at once, and tells how long it was under way: it carries the time of
    sending in microseconds. A message of an ingress, ``opponent hops``, begins a game."""
    now = time.time_ns() // 1000
    if context.caller is None:
        opponent, hops = message.as_string().split()
        context.storage.left = int(hops)
    else:
        opponent = context.caller.id
        context.send_egress(egress_message_builder(DELAYS, now - message.as_long(), LongType))
        if context.storage.left is not None:
            context.storage.left -= 2
            if context.storage.left <= 0:
                return
    context.send(message_builder("bench/player", opponent, long_value=time.time_ns() // 1000))


@functions.bind("bench/slow", [ValueSpec("count", IntType)])
async def slow(context: Context, message: Message) -> None:
    """Takes its time, and sends the message on to another address."""
    await asyncio.sleep(0.5)
    context.storage.count = (context.storage.count or 0) + 1
    context.send(message_builder("bench/slow", next_id(context.address.id), int_value=0))


@functions.bind("bench/probe", [ValueSpec("count", LongType)])
def probe(context: Context, message: Message) -> None:
    """Counts, and tells how long a message took that says when it was due, in milliseconds."""
    storage = context.storage
    storage.count = (storage.count or 0) + 1
    due = message.as_long()
    if due:
        delay = time.time_ns() // 1000 - 1000 * due
        context.send_egress(egress_message_builder(DELAYS, delay, LongType))


class Connection(asyncio.Protocol):
    """Connection of a client, whose requests come one after the other."""

    handler = RequestReplyHandler(functions)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._parser = httptools.HttpRequestParser(self)
        self._body: list[bytes] = []

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        if self._parser.get_method() == b"GET":
            self._write(b"%d" % counted[0])
            return
        request = b"".join(self._body)
        self._body.clear()
        serving = self.handler.handle_async(request)
        asyncio.get_running_loop().create_task(self._answer(serving))

    async def _answer(self, serving: object) -> None:
        self._write(await serving)  # type: ignore[misc]

    def _write(self, reply: bytes) -> None:
        head = (
            "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"
            f"Content-Length: {len(reply)}\r\n\r\n"
        )
        self._transport.write(head.encode() + reply)


async def serve() -> None:
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve())
