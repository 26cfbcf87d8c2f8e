"""SocketTransport: messages between tasks that are processes, over one connection per pair.

A swap sends and receives at the same time, as much as the kernel takes and gives: two tasks that
send each other more than sockets hold do not wait for each other. Messages go from the memory of
arrays into that of arrays where their lengths are known.

A task that fails tells the others and closes its connections. The others may be about to send to
it: a send that breaks is no proof that the process died, so what has arrived is read first.
"""

from __future__ import annotations

import select
import selectors
import socket
import struct
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from millrace.runtime.resident.connection import (
    LINK_TIMEOUT,
    FrameConnection,
    Strangers,
    connect,
    greet,
    parsed_greeting,
)
from millrace.runtime.resident.control import WorkerAddress
from millrace.runtime.resident.frames import PREFIX, FrameKind, TransportError
from millrace.runtime.resident.listener import Listener
from millrace.runtime.supersteps.task_transport import (
    Parts,
    PeerFailedError,
    PeerLostError,
    require_same_call,
)

__all__ = ["SocketTransport", "connected_transport"]

_HEAD = struct.Struct("<16sQ")
"""Name of the call, and length of the message in bytes."""
_ABORT = "(abort)"
_PIECES = 64
"""Number of pieces that are handed to the kernel at once."""
_PURPOSE = "supersteps"
WIRING_PATIENCE = 60.0
"""Seconds in which all tasks must have connected."""
_ABORT_PATIENCE = 1.0
"""Seconds for telling the other tasks of a failure, and for hearing of one."""


class SocketTransport:
    """Connections of one task to all others. See `TaskTransport`.

    Args:
        index: number of the task.
        links: connected socket to each other task.
    """

    def __init__(self, index: int, links: Mapping[int, socket.socket]) -> None:
        self.index = index
        self.parallelism = len(links) + 1
        self._links = dict(links)
        self._by_descriptor = {link.fileno(): task for task, link in links.items()}
        for link in links.values():
            link.setblocking(False)

    def swap(
        self, call: str, outgoing: Sequence[Parts], incoming: Sequence[Any] | None = None
    ) -> list[memoryview]:
        """Send a message to each other task, and receive one from each."""
        sending: dict[int, _Sending] = {}
        receiving: dict[int, _Receiving] = {}
        poll = select.poll()
        for task, link in self._links.items():
            sending[task] = _Sending(call, outgoing[task])
            target = None if incoming is None else memoryview(incoming[task]).cast("B")
            receiving[task] = _Receiving(target)
            with suppress(OSError):  # what is lost is seen when the link is polled
                if sending[task].send(link):
                    del sending[task]
            poll.register(link, self._events(task, sending, receiving))
        messages = [memoryview(b"")] * self.parallelism
        loss: _Loss | None = None
        while sending or receiving:
            ready = poll.poll(None if loss is None else loss.remaining_milliseconds())
            if not ready:
                break
            for descriptor, _ in ready:
                task = self._by_descriptor[descriptor]
                link = self._links[task]
                try:
                    if task in sending and sending[task].send(link):
                        del sending[task]
                except OSError as error:
                    del sending[task]
                    loss = loss or _Loss(error)
                try:
                    if task in receiving and receiving[task].receive(link):
                        messages[task] = self._checked(call, task, receiving.pop(task))
                except (OSError, PeerLostError) as error:
                    sending.pop(task, None)
                    del receiving[task]
                    loss = loss or _Loss(error)
                events = self._events(task, sending, receiving)
                if events:
                    poll.modify(link, events)
                else:
                    poll.unregister(link)
        if loss is not None:
            raise PeerLostError(
                f"the connection to a task of the graph job broke: {loss.error}"
            ) from loss.error
        return messages

    def _events(
        self, task: int, sending: Mapping[int, object], receiving: Mapping[int, object]
    ) -> int:
        return (select.POLLOUT if task in sending else 0) | (
            select.POLLIN if task in receiving else 0
        )

    def _checked(self, call: str, task: int, received: _Receiving) -> memoryview:
        if received.call == _ABORT:
            raise PeerFailedError(f"task {task} has failed, or ended before this one")
        require_same_call(call, self.index, received.call, task)
        return received.body

    def abort(self) -> None:
        """Tell the other tasks that this task has ended."""
        for link in self._links.values():
            with suppress(OSError):
                link.settimeout(_ABORT_PATIENCE)
                link.sendall(_HEAD.pack(_ABORT.encode(), 0))

    def close(self) -> None:
        """Close the connections."""
        for link in self._links.values():
            with suppress(OSError):
                link.close()


class _Loss:
    """A broken connection. The task at its other end may have failed rather than died. In that
    case, a message about the failure arrives soon, from that task or from another one.

    Args:
        error: how the loss was seen.
    """

    def __init__(self, error: Exception) -> None:
        self.error = error
        self._until = time.monotonic() + _ABORT_PATIENCE

    def remaining_milliseconds(self) -> float:
        """Time for which messages of failures are awaited."""
        return max(0.0, 1000 * (self._until - time.monotonic()))


class _Sending:
    """Message that is being sent."""

    def __init__(self, call: str, parts: Parts) -> None:
        pieces = [memoryview(part).cast("B") for part in parts]
        length = sum(map(len, pieces))
        self._pieces = [memoryview(_HEAD.pack(call.encode(), length)), *filter(len, pieces)]
        self._first = 0

    def send(self, link: socket.socket) -> bool:
        """Send what the kernel takes. Returns whether all is sent."""
        pieces = self._pieces
        while self._first < len(pieces):
            try:
                sent = link.sendmsg(pieces[self._first : self._first + _PIECES])
            except (BlockingIOError, InterruptedError):
                return False
            while sent:
                length = len(pieces[self._first])
                if sent < length:
                    pieces[self._first] = pieces[self._first][sent:]
                    break
                sent -= length
                pieces[self._first] = memoryview(b"")
                self._first += 1
        return True


class _Receiving:
    """Message that is being received.

    Args:
        target: memory for the message; None if its length is not known.
    """

    def __init__(self, target: memoryview | None) -> None:
        self._target = target
        self._buffer = memoryview(bytearray(_HEAD.size))
        self._at = 0
        self.call = ""
        self.body = memoryview(b"")

    def receive(self, link: socket.socket) -> bool:
        """Receive what has arrived. Returns whether the message is complete.

        Raises:
            PeerLostError: the other task has closed the connection.
        """
        while True:
            while self._at < len(self._buffer):
                try:
                    count = link.recv_into(self._buffer[self._at :])
                except (BlockingIOError, InterruptedError):
                    return False
                if not count:
                    raise PeerLostError("a task of the graph job closed its connection")
                self._at += count
            if self.call:
                self.body = self._buffer
                return True
            self._begin()

    def _begin(self) -> None:
        """Take the head, and prepare for the body."""
        name, length = _HEAD.unpack(self._buffer)
        self.call = name.rstrip(b"\0").decode()
        target = self._target
        if target is not None and length == len(target):
            self._buffer = target
        else:
            self._buffer = memoryview(bytearray(length))
        self._at = 0


def connected_transport(
    index: int, listener: Listener, places: Sequence[WorkerAddress], token: bytes, attempt: int
) -> SocketTransport:
    """The transport of a task. The task connects to the tasks with lower numbers; tasks with higher
    numbers connect to it.

    Args:
        index: number of the task.
        listener: its sockets.
        places: address of each task.
        token: secret of the job, which each connection tells first.
        attempt: number of the attempt. Tasks of another one are refused.

    Raises:
        PeerLostError: not all tasks have connected in time.
    """
    links: dict[int, socket.socket] = {}
    try:
        for other in range(index):
            addresses = places[other].addresses_from(places[index])
            link = connect(*addresses, patience=WIRING_PATIENCE)
            links[other] = link
            greet(link, (token, _PURPOSE, attempt, index))
            if len(link.recv(PREFIX.size, socket.MSG_WAITALL)) != PREFIX.size:
                raise PeerLostError(f"task {other} of the graph job refused a connection")
        _accept(listener, links, range(index + 1, len(places)), token, attempt)
    except OSError as error:
        raise PeerLostError(f"a task of the graph job does not answer: {error}") from error
    finally:
        if len(links) < len(places) - 1:
            for link in links.values():
                link.close()
    for link in links.values():
        _guard(link)
    return SocketTransport(index, links)


def _accept(
    listener: Listener,
    links: dict[int, socket.socket],
    expected: range,
    token: bytes,
    attempt: int,
) -> None:
    """Accept the connections of the expected tasks."""
    missing = set(expected)
    until = time.monotonic() + WIRING_PATIENCE
    with selectors.DefaultSelector() as selector:
        for server in listener.sockets:
            selector.register(server, selectors.EVENT_READ, None)
        strangers = Strangers(selector)
        while missing:
            events = selector.select(max(0.0, until - time.monotonic()))
            if not events:
                raise PeerLostError(f"tasks {sorted(missing)} of the graph job did not connect")
            for key, _ in events:
                if key.data is None:
                    strangers.accept(key.fileobj)  # type: ignore[arg-type]
                    continue
                connection: FrameConnection = key.data
                task = _greeted(connection, token, attempt)
                if task is None and connection.is_open:
                    continue
                selector.unregister(connection)
                strangers.forget(connection)
                if task in missing:
                    assert task is not None
                    connection.socket.setblocking(True)
                    connection.socket.sendall(PREFIX.pack(0, FrameKind.WIRED))
                    links[task] = connection.socket
                    missing.discard(task)
                else:
                    connection.close()
        for stranger in list(strangers):
            stranger.close()


def _greeted(connection: FrameConnection, token: bytes, attempt: int) -> int | None:
    """Task that has greeted at a connection. None if none has yet; a wrong greeting closes it."""
    try:
        for kind, body in connection.receive():
            _, purpose, number, task = parsed_greeting(kind, body, token)
            if purpose != _PURPOSE or number != attempt:
                raise TransportError("a greeting of another attempt")
            return task
    except TransportError:
        connection.is_open = False
    return None


def _guard(link: socket.socket) -> None:
    """Let the kernel find out that the other host is lost."""
    link.settimeout(None)
    if link.family != socket.AF_UNIX:
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        with suppress(OSError, AttributeError):  # Linux
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(1000 * LINK_TIMEOUT))
