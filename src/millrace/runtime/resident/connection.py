"""FrameConnection: a socket without blocking, with a queue of frames to send."""

from __future__ import annotations

import errno
import hmac
import os
import selectors
import socket
from collections import deque
from collections.abc import Iterator
from contextlib import suppress

from millrace.runtime.resident.frames import (
    MOST_BYTES,
    UNKNOWN_BYTES,
    Body,
    Frame,
    FrameKind,
    FrameReader,
    TransportError,
    framed,
)

__all__ = [
    "DRIVER",
    "UNKNOWN",
    "FrameConnection",
    "Greeting",
    "Strangers",
    "begin_connect",
    "connect",
    "encoded_greeting",
    "greet",
    "listening",
    "parsed_greeting",
    "tcp_address",
]

_MOST_READ = 1 << 22
"""Bytes after which a connection gives way to the others."""
_SENT_AHEAD = 1 << 22
"""Bytes that the kernel should keep for a process of this host: it takes them after its turn, which
may be long, and this process sends further ones after its own. The kernel may grant less."""
BACKLOG = 512
"""Connections that the kernel keeps until they are accepted."""
MOST_STRANGERS = 64
"""Connections without a greeting that are kept open."""
DRIVER = -1
UNKNOWN = -2
_PIECES = 192
"""Number of pieces that are handed to the kernel at once."""
_HERE_PATIENCE = 1.0
"""Seconds to wait for a process of this host that has 512 connections to accept."""
LINK_TIMEOUT = 20.0
"""Seconds after which sent bytes without an answer break a connection (a lost host)."""


class FrameConnection:
    """One end of a connection between two processes of a job.

    Args:
        link: connected socket.
        peer: number of the other process's task, or `DRIVER`. `UNKNOWN` until its greeting has been
            read: it must then be short.
        link_timeout: seconds without an answer after which the connection is broken.
        is_connecting: whether the socket is still being connected. Frames wait until it is.
    """

    def __init__(
        self,
        link: socket.socket,
        peer: int,
        link_timeout: float = LINK_TIMEOUT,
        is_connecting: bool = False,
    ) -> None:
        link.setblocking(False)
        if link.family == socket.AF_UNIX:
            with suppress(OSError):  # more than the system allows
                link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SENT_AHEAD)
        else:
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            with suppress(OSError, AttributeError):  # Linux
                link.setsockopt(
                    socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(1000 * link_timeout)
                )
        self.socket = link
        self.peer = peer
        self._reader = FrameReader(UNKNOWN_BYTES) if peer == UNKNOWN else FrameReader()
        self._waiting: deque[memoryview] = deque()
        self.is_open = True
        self.is_connecting = is_connecting
        self.bytes_in = self.bytes_out = 0

    def authenticated(self, peer: int) -> None:
        """Trust the peer from now on, because its greeting was correct."""
        self.peer = peer
        self._reader.limit = MOST_BYTES

    def fileno(self) -> int:
        """File descriptor, for selectors."""
        return self.socket.fileno()

    @property
    def has_waiting(self) -> bool:
        """Whether queued bytes have not been sent yet."""
        return bool(self._waiting)

    def send(self, kind: FrameKind, *body: bytes | memoryview) -> None:
        """Queue a frame for sending; its body may be given in pieces."""
        self._waiting.extend(map(memoryview, framed(kind, *body)))

    def connected(self) -> bool:
        """Note that the kernel has finished connecting. Returns whether the connection was made."""
        self.is_connecting = False
        self.is_open = not self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        return self.is_open

    def push(self) -> bool:
        """Send as many bytes as the kernel accepts. Returns False if the connection is broken."""
        waiting = self._waiting
        while waiting and self.is_open and not self.is_connecting:
            pieces = [waiting[n] for n in range(min(len(waiting), _PIECES))]
            try:
                sent = self.socket.sendmsg(pieces)
            except (BlockingIOError, InterruptedError):
                break
            except OSError:
                self.is_open = False
                break
            self.bytes_out += sent
            self._drop(sent)
        return self.is_open

    def _drop(self, sent: int) -> None:
        waiting = self._waiting
        while sent:
            first = waiting[0]
            if sent < len(first):
                waiting[0] = first[sent:]
                return
            sent -= len(first)
            waiting.popleft()

    def push_in(self, selector: selectors.BaseSelector) -> bool:
        """Send as many bytes as the kernel accepts, and let the selector report when the kernel
        accepts more. Returns False if the connection is broken.
        """
        if not self.push():
            return False
        wanted = selectors.EVENT_READ
        if self.has_waiting:
            wanted |= selectors.EVENT_WRITE
        if selector.get_key(self).events != wanted:
            selector.modify(self, wanted, self)
        return True

    def receive(self) -> Iterator[Frame]:
        """Frames that have arrived, up to some megabytes. `is_open` is False after the last frame
        of a peer that has closed the connection.

        Raises:
            TransportError: the peer sent something that is no frame.
        """
        left, reader = _MOST_READ, self._reader
        while left > 0 and self.is_open:
            space = reader.space()[:left]
            try:
                count = self.socket.recv_into(space)
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                self.is_open = False
                return
            if not count:
                self.is_open = False
                return
            self.bytes_in += count
            left -= count
            yield from reader.received(count)
            if count < len(space):  # nothing else has arrived
                return

    def close(self) -> None:
        """Close the socket."""
        self.is_open = False
        self._waiting.clear()
        with suppress(OSError):
            self.socket.close()


class Strangers:
    """Accepted connections whose greeting has not arrived yet. Only the newest few are kept.

    Args:
        selector: selector of the loop that receives their greetings.
    """

    def __init__(self, selector: selectors.BaseSelector) -> None:
        self._selector = selector
        self._waiting: list[FrameConnection] = []

    def __iter__(self) -> Iterator[FrameConnection]:
        return iter(self._waiting)

    def accept(self, server: socket.socket, link_timeout: float = LINK_TIMEOUT) -> None:
        """Accept a connection, and wait for its greeting."""
        with suppress(OSError):
            connection = FrameConnection(server.accept()[0], UNKNOWN, link_timeout)
            self._selector.register(connection, selectors.EVENT_READ, connection)
            self._waiting.append(connection)
        if len(self._waiting) > MOST_STRANGERS:
            oldest = self._waiting.pop(0)
            self._selector.unregister(oldest)
            oldest.close()

    def trust(self, connection: FrameConnection, peer: int) -> None:
        """Note that the greeting of a connection was correct."""
        self._waiting.remove(connection)
        connection.authenticated(peer)

    def forget(self, connection: FrameConnection) -> bool:
        """Remove a closed connection. Returns whether its greeting was still missing."""
        is_stranger = connection in self._waiting
        if is_stranger:
            self._waiting.remove(connection)
        return is_stranger


def listening(host: str, port: int = 0) -> tuple[socket.socket, int]:
    """A socket that listens at an address of this machine, and its port.

    Args:
        port: port at which it listens; 0 for any that is free.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    server = socket.create_server((host, port), family=family, backlog=BACKLOG)
    return server, int(server.getsockname()[1])


def tcp_address(host: str, port: int) -> str:
    """Address for `connect`."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


Greeting = tuple[bytes, str, int, int]
"""Token, purpose of the connection, number of the attempt or generation, number of the task."""


def greet(link: socket.socket, greeting: Greeting) -> None:
    """Send the first frame of a connection, while the socket still blocks."""
    link.sendall(b"".join(framed(FrameKind.GREETING, encoded_greeting(greeting))))


def encoded_greeting(greeting: Greeting) -> bytes:
    """Body of the first frame of a connection."""
    token, purpose, number, task = greeting
    return b" ".join([token, purpose.encode(), str(number).encode(), str(task).encode()])


def parsed_greeting(kind: int, body: Body, token: bytes) -> Greeting:
    """The greeting in the first frame of a connection. No pickled data is loaded.

    Raises:
        TransportError: the peer does not know the token, or sends something else.
    """
    parts = body.split(b" ")
    if kind != FrameKind.GREETING or len(parts) != 4:
        raise TransportError("no greeting")
    if not hmac.compare_digest(parts[0], token):
        raise TransportError("a greeting with a wrong token")
    try:
        return bytes(parts[0]), parts[1].decode(), int(parts[2]), int(parts[3])
    except ValueError:
        raise TransportError("no greeting") from None


def connect(*addresses: str, patience: float = 10.0) -> socket.socket:
    """A socket connected to the first of the addresses (``unix:PATH`` or ``HOST:PORT``) that
    accepts the connection.

    Raises:
        OSError: nothing answers at any of them.
    """
    *others, last = addresses
    for address in others:
        with suppress(OSError):
            return _connected(address, patience)
    return _connected(last, patience)


def begin_connect(*addresses: str) -> tuple[socket.socket, bool]:
    """Begin to connect to the first of the addresses that does not refuse immediately. Returns the
    socket, and whether its connection is still being made: another host may have vanished, and this
    function does not wait for it.

    Raises:
        OSError: all of them refuse.
    """
    *others, last = addresses
    for address in others:
        with suppress(OSError):
            return _begun(address)
    return _begun(last)


def _begun(address: str) -> tuple[socket.socket, bool]:
    if address.startswith("unix:"):
        return _connected(address, _HERE_PATIENCE), False
    host, _, port = address.rpartition(":")
    family, kind, protocol, _, place = socket.getaddrinfo(
        host.strip("[]"), int(port), type=socket.SOCK_STREAM
    )[0]
    link = socket.socket(family, kind, protocol)
    link.setblocking(False)
    error = link.connect_ex(place)
    if error and error != errno.EINPROGRESS:
        link.close()
        raise OSError(error, os.strerror(error))
    return link, bool(error)


def _connected(address: str, patience: float) -> socket.socket:
    if address.startswith("unix:"):
        link = socket.socket(socket.AF_UNIX)
        link.settimeout(patience)
        try:
            link.connect(address.removeprefix("unix:"))
        except OSError:
            link.close()
            raise
        return link
    host, _, port = address.rpartition(":")
    return socket.create_connection((host.strip("[]"), int(port)), patience)
