"""SocketTextSource against a server of the test's own."""

import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.connectors.errors import SocketSourceError
from millrace.connectors.socket import SocketPosition, SocketTextSource

DEADLINE_S = 30


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(DEADLINE_S)
        yield listener


def source_of(server: socket.socket, **options: str) -> SocketTextSource:
    return SocketTextSource("127.0.0.1", server.getsockname()[1], **options)


def read_until(reader, enough: Callable[[list[str]], bool]) -> list[str]:
    """Reads, which never waits, until there is enough; gives up after a while."""
    values: list[str] = []
    pause = threading.Event()
    for _ in range(DEADLINE_S * 100):
        values += reader.read(2).values
        if enough(values) or reader.finished():
            return values
        pause.wait(0.01)
    raise AssertionError(f"only {values} in {DEADLINE_S} s")


def test_lines_arrive_until_the_server_closes(source_harness, server) -> None:
    harness = source_harness(source_of(server))
    [split] = harness.discover()
    reader = harness.reader(split)
    assert reader.read(10).values == []
    peer, _ = server.accept()
    with peer:
        peer.sendall(b"to be\r\nor n")
        assert read_until(reader, lambda values: len(values) >= 1) == ["to be"]
        peer.sendall("ot\n\nthé end".encode())
    assert read_until(reader, lambda values: False) == ["or not", "", "thé end"]
    assert reader.position() == (4, True)


def test_an_ended_source_does_not_connect_again(source_harness, server) -> None:
    harness = source_harness(source_of(server))
    [split] = harness.discover()
    reader = harness.reader(split, SocketPosition(3, ended=True))
    assert reader.finished()
    reader.close()
    server.setblocking(False)
    with pytest.raises(BlockingIOError):
        server.accept()


def test_another_delimiter(source_harness, server) -> None:
    harness = source_harness(source_of(server, delimiter="||"))
    [split] = harness.discover()
    reader = harness.reader(split)
    peer, _ = server.accept()
    with peer:
        peer.sendall(b"a\n|")
        peer.sendall(b"|b||")
    assert read_until(reader, lambda values: False) == ["a\n", "b"]


def test_a_refused_connection_says_what_to_do_and_is_tried_again(source_harness, server) -> None:
    harness = source_harness(source_of(server))
    server.close()
    [split] = harness.discover()
    for _ in range(2):
        with pytest.raises(SocketSourceError, match="start the server first"):
            read_until(harness.reader(split), lambda values: False)


def test_bytes_that_are_not_text_are_an_error(source_harness, server) -> None:
    harness = source_harness(source_of(server))
    [split] = harness.discover()
    reader = harness.reader(split)
    peer, _ = server.accept()
    with peer:
        peer.sendall(b"\xff\n")
    with pytest.raises(SocketSourceError, match="not utf-8"):
        read_until(reader, lambda values: False)


def test_closing_the_reader_closes_the_connection(source_harness, server) -> None:
    harness = source_harness(source_of(server))
    [split] = harness.discover()
    reader = harness.reader(split)
    peer, _ = server.accept()
    with peer:
        peer.settimeout(DEADLINE_S)
        peer.sendall(b"x\n")
        read_until(reader, lambda values: len(values) >= 1)
        reader.close()
        assert peer.recv(1) == b""


@pytest.mark.parametrize(
    "arguments", [("host", 0), ("host", 70000), ("host", 1, ""), ("host", 1, "\n", "klingon")]
)
def test_wrong_arguments_are_refused(arguments: tuple) -> None:
    with pytest.raises(JobDefinitionError):
        SocketTextSource(*arguments)
