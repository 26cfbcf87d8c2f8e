"""Connections between the processes of a job, on real sockets."""

from __future__ import annotations

import selectors
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.runtime.resident.connection import (
    DRIVER,
    UNKNOWN,
    FrameConnection,
    begin_connect,
    connect,
    greet,
    parsed_greeting,
)
from millrace.runtime.resident.frames import PREFIX, Frame, FrameKind, TransportError, framed

TOKEN = b"0123456789abcdef"


@pytest.fixture
def ends() -> Iterator[tuple[FrameConnection, FrameConnection]]:
    here, there = socket.socketpair()
    connections = FrameConnection(here, 0), FrameConnection(there, 1)
    here.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    yield connections
    for connection in connections:
        connection.close()


def received(connection: FrameConnection, frames: int) -> list[Frame]:
    """The next frames, all of which have been sent."""
    result: list[Frame] = []
    while len(result) < frames:
        result += connection.receive()
    return result


def test_bytes_that_the_kernel_does_not_take_wait(
    ends: tuple[FrameConnection, FrameConnection],
) -> None:
    here, there = ends
    bodies = [bytes([n]) * 30_000 for n in range(100)]
    for body in bodies:
        here.send(FrameKind.BUFFER, body)
    assert here.push()
    assert here.has_waiting
    frames: list[Frame] = []
    while here.has_waiting:
        assert here.push()
        frames += there.receive()
    frames += received(there, len(bodies) - len(frames))
    assert frames == [(FrameKind.BUFFER, body) for body in bodies]
    assert here.bytes_out == there.bytes_in == sum(map(len, bodies)) + 100 * PREFIX.size


def test_a_long_frame_gives_way_to_other_connections() -> None:
    here, there = socket.socketpair()
    sender, receiver = FrameConnection(here, 0), FrameConnection(there, 1)
    body = bytes(range(256)) * 40_000
    sender.send(FrameKind.BUFFER, body[:1000], body[1000:])
    received_at_once: list[int] = []
    frames: list[Frame] = []
    while not frames:
        assert sender.push()
        before = receiver.bytes_in
        frames += receiver.receive()
        received_at_once.append(receiver.bytes_in - before)
    assert frames == [(FrameKind.BUFFER, body)]
    assert len(received_at_once) >= 3
    assert max(received_at_once) <= 1 << 22
    sender.close()
    receiver.close()


def test_many_small_frames_keep_their_order(ends: tuple[FrameConnection, FrameConnection]) -> None:
    here, there = ends
    for number in range(200):
        here.send(FrameKind.NEWS, b"%d" % number)
    here.push()
    assert received(there, 200) == [(FrameKind.NEWS, b"%d" % n) for n in range(200)]


def test_nothing_has_arrived_yet(ends: tuple[FrameConnection, FrameConnection]) -> None:
    _, there = ends
    assert list(there.receive()) == []
    assert there.is_open


def test_frames_before_the_end_of_a_connection_are_received(
    ends: tuple[FrameConnection, FrameConnection],
) -> None:
    here, there = ends
    here.send(FrameKind.WIRED, b"1")
    here.push()
    here.close()
    assert received(there, 1) == [(FrameKind.WIRED, b"1")]
    assert list(there.receive()) == []
    assert not there.is_open


def test_a_send_to_a_peer_that_has_gone_tells_so(
    ends: tuple[FrameConnection, FrameConnection],
) -> None:
    here, there = ends
    there.close()
    here.send(FrameKind.WIRED, b"1")
    assert not here.push()
    assert not here.is_open
    here.close()
    assert not here.has_waiting


def test_a_stranger_may_send_short_frames_only() -> None:
    """A peer whose greeting was right may send long ones."""
    stranger, mine = socket.socketpair()
    connection = FrameConnection(mine, UNKNOWN)
    stranger.sendall(PREFIX.pack(1 << 20, FrameKind.GREETING))
    with pytest.raises(TransportError, match="a frame of 1048576 bytes"):
        list(connection.receive())
    connection.close()
    stranger.close()
    peer, mine = socket.socketpair()
    connection = FrameConnection(mine, UNKNOWN)
    connection.authenticated(3)
    peer.sendall(PREFIX.pack(1 << 20, FrameKind.BUFFER))
    assert list(connection.receive()) == []
    assert connection.peer == 3
    connection.close()
    peer.close()


def test_a_greeting_arrives_as_it_was_sent() -> None:
    here, there = socket.socketpair()
    connection = FrameConnection(there, UNKNOWN)
    greet(here, (TOKEN, "peer", 4, 7))
    [(kind, body)] = received(connection, 1)
    assert parsed_greeting(kind, body, TOKEN) == (TOKEN, "peer", 4, 7)
    here.close()
    connection.close()


@pytest.mark.parametrize(
    ("kind", "body", "reason"),
    [
        (FrameKind.GREETING, b"fedcba9876543210 peer 4 7", "a wrong token"),
        (FrameKind.GREETING, b"0123456789abcde peer 4 7", "a wrong token"),
        (FrameKind.GREETING, b" peer 4 7", "a wrong token"),
        (FrameKind.BUFFER, TOKEN + b" peer 4 7", "no greeting"),
        (99, TOKEN + b" peer 4 7", "no greeting"),
        (FrameKind.GREETING, b"", "no greeting"),
        (FrameKind.GREETING, TOKEN, "no greeting"),
        (FrameKind.GREETING, TOKEN + b" peer four 7", "no greeting"),
        (FrameKind.GREETING, TOKEN + b" \xff\xfe 4 7", "no greeting"),
        (FrameKind.GREETING, TOKEN + b" peer 4 7 8", "no greeting"),
        (FrameKind.GREETING, b"GET / HTTP/1.1\r\n\r\n", "no greeting"),
    ],
)
def test_a_stranger_is_refused(kind: int, body: bytes, reason: str) -> None:
    with pytest.raises(TransportError, match=reason):
        parsed_greeting(kind, body, TOKEN)


def test_a_connection_by_a_path_and_by_a_port(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    if len(path) > 100:  # a long temporary directory
        pytest.skip("no room for the path of a socket")
    unix = socket.socket(socket.AF_UNIX)
    unix.bind(path)
    tcp = socket.create_server(("127.0.0.1", 0))
    for server, address in (
        (unix, f"unix:{path}"),
        (tcp, f"127.0.0.1:{tcp.getsockname()[1]}"),
    ):
        server.listen(1)
        here = connect(address)
        there = FrameConnection(server.accept()[0], UNKNOWN)
        here.sendall(b"".join(framed(FrameKind.HEARTBEAT)))
        assert received(there, 1) == [(FrameKind.HEARTBEAT, b"")]
        here.close()
        there.close()
        server.close()


def test_a_tcp_connection_sends_at_once_and_notices_a_lost_host() -> None:
    server = socket.create_server(("127.0.0.1", 0))
    connection = FrameConnection(connect(f"127.0.0.1:{server.getsockname()[1]}"), DRIVER)
    link = connection.socket
    assert link.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    assert link.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    assert not link.getblocking()
    connection.close()
    server.close()


def test_nobody_listens(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        connect(f"unix:{tmp_path / 'none'}")


def test_frames_wait_until_a_connection_stands() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        link, is_connecting = begin_connect(f"127.0.0.1:{port}")
        connection = FrameConnection(link, 1, is_connecting=True)
        connection.send(FrameKind.WIRED, b"7")
        assert connection.push()
        assert connection.has_waiting
        there = FrameConnection(server.accept()[0], 0)
        assert is_connecting or sys.platform != "linux"
        assert connection.connected()
        assert connection.push()
        assert received(there, 1) == [(FrameKind.WIRED, b"7")]
        connection.close()
        there.close()


def test_a_connection_that_is_refused_later() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    try:
        link, is_connecting = begin_connect(f"127.0.0.1:{port}")
    except ConnectionRefusedError:
        return  # at once
    connection = FrameConnection(link, 1, is_connecting=is_connecting)
    with selectors.DefaultSelector() as selector:
        selector.register(connection, selectors.EVENT_WRITE)
        assert selector.select(60)
    assert not connection.connected()
    connection.close()
