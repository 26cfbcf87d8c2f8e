"""Threads that wait for an idle consumer's next message, or for a socket, without a server."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from queue import Empty, SimpleQueue
from typing import Any

import pytest

from millrace.connectors.wake_ups import MessageWaiter, SocketWaiter

LONG = 60
"""Seconds after which a test fails instead of waiting on."""


class Broker:
    """Messages that arrive when the test says so."""

    def __init__(self) -> None:
        self.arriving: SimpleQueue[Any] = SimpleQueue()
        self.woken = threading.Event()
        self.asked = threading.Semaphore(0)

    def consume(self, patience: float) -> list[Any]:
        self.asked.release()
        try:
            arrived = self.arriving.get(timeout=patience)
        except Empty:
            return []
        if isinstance(arrived, Exception):
            raise arrived
        return [arrived]


def test_a_message_wakes_the_reader() -> None:
    broker = Broker()
    waiter = MessageWaiter(broker.consume, broker.woken.set)
    assert not waiter.is_waiting
    waiter.wait()
    assert waiter.is_waiting
    broker.arriving.put("a")
    assert broker.woken.wait(LONG)
    assert not waiter.is_waiting  # the reader may take messages itself
    assert waiter.take() == ["a"]
    assert waiter.take() == []
    waiter.close()


def test_nothing_is_taken_before_the_next_wait() -> None:
    broker = Broker()
    waiter = MessageWaiter(broker.consume, broker.woken.set)
    waiter.wait()
    broker.arriving.put("a")
    assert broker.woken.wait(LONG)
    broker.arriving.put("b")
    assert waiter.take() == ["a"]
    broker.woken.clear()
    waiter.wait()
    assert broker.woken.wait(LONG)
    assert waiter.take() == ["b"]
    waiter.close()


def test_what_was_found_stays_until_it_is_taken() -> None:
    broker = Broker()
    waiter = MessageWaiter(broker.consume, broker.woken.set)
    waiter.wait()
    broker.arriving.put("a")
    assert broker.woken.wait(LONG)
    broker.arriving.put("b")
    waiter.wait()  # the message came between the reader's look and this call
    assert not waiter.is_waiting
    assert waiter.take() == ["a"]
    waiter.close()


def test_an_error_wakes_the_reader_and_is_raised_there() -> None:
    broker = Broker()
    waiter = MessageWaiter(broker.consume, broker.woken.set)
    waiter.wait()
    broker.arriving.put(OSError("away"))
    assert broker.woken.wait(LONG)
    with pytest.raises(OSError, match="away"):
        waiter.take()
    assert waiter.take() == []
    waiter.close()


def test_a_waiting_thread_ends_with_the_reader() -> None:
    before = set(threading.enumerate())
    broker = Broker()
    waiter = MessageWaiter(broker.consume, broker.woken.set)
    waiter.wait()
    assert broker.asked.acquire(timeout=LONG)
    waiter.close()
    assert set(threading.enumerate()) <= before
    assert not broker.woken.is_set()


def test_a_call_is_made_at_once_while_nothing_waits() -> None:
    broker = Broker()
    waiter = MessageWaiter(broker.consume, broker.woken.set)
    callers: list[threading.Thread] = []
    waiter.call(lambda: callers.append(threading.current_thread()))
    assert callers == [threading.current_thread()]
    waiter.close()


def test_calls_are_made_in_order_between_two_waits() -> None:
    broker = Broker()
    waiter = MessageWaiter(broker.consume, broker.woken.set)
    made: list[tuple[str, str]] = []
    over = threading.Event()

    def note(number: str) -> None:
        made.append((number, threading.current_thread().name))

    waiter.wait()
    assert broker.asked.acquire(timeout=LONG)
    for number in "abc":
        waiter.call(lambda number=number: note(number))  # type: ignore[misc]
    waiter.call(over.set)
    assert over.wait(LONG)
    assert made == [(number, "messages") for number in "abc"]
    waiter.close()


def test_calls_that_no_wait_follows_are_made_by_the_reader() -> None:
    broker = Broker()
    consuming, found = threading.Event(), threading.Event()

    def consume(patience: float) -> list[Any]:
        consuming.set()
        assert found.wait(LONG)
        return ["a"]

    made: list[str] = []
    waiter = MessageWaiter(consume, broker.woken.set)
    waiter.wait()
    assert consuming.wait(LONG)
    waiter.call(lambda: made.append("commit"))
    assert made == []
    found.set()
    assert broker.woken.wait(LONG)
    assert made == []
    assert waiter.take() == ["a"]
    assert made == ["commit"]
    waiter.close()


def test_a_failed_call_wakes_the_reader_and_is_raised_there() -> None:
    broker = Broker()
    waiter = MessageWaiter(broker.consume, broker.woken.set)

    def fail() -> None:
        raise OSError("away")

    waiter.wait()
    assert broker.asked.acquire(timeout=LONG)
    waiter.call(fail)
    assert broker.woken.wait(LONG)
    with pytest.raises(OSError, match="away"):
        waiter.take()
    waiter.close()


def test_calls_that_are_left_are_made_at_the_end() -> None:
    broker = Broker()
    waiter = MessageWaiter(broker.consume, broker.woken.set)
    made: list[str] = []
    waiter.wait()
    assert broker.asked.acquire(timeout=LONG)
    waiter.call(lambda: made.append("commit"))
    waiter.close()
    assert made == ["commit"]


class Sockets:
    """Both ends of a connection, and a waiter at one of them."""

    def __init__(self) -> None:
        self.here, self.there = socket.socketpair()
        self.woken = threading.Semaphore(0)
        self.waiter = SocketWaiter(self.woken.release)

    def wait(self) -> None:
        self.waiter.wait(self.here.fileno())

    def is_woken(self) -> bool:
        return self.woken.acquire(timeout=LONG)

    def close(self) -> None:
        self.waiter.close()
        self.here.close()
        self.there.close()


@pytest.fixture
def sockets() -> Iterator[Sockets]:
    opened = Sockets()
    yield opened
    opened.close()


def test_what_arrives_at_a_socket_wakes_the_reader_once(sockets: Sockets) -> None:
    sockets.wait()
    sockets.there.send(b"a")
    assert sockets.is_woken()
    sockets.there.send(b"b")
    assert not sockets.woken.acquire(timeout=0.05)  # nobody has begun to wait again
    assert sockets.here.recv(10) == b"ab"


def test_what_has_arrived_before_wakes_the_reader(sockets: Sockets) -> None:
    sockets.there.send(b"a")
    sockets.wait()
    assert sockets.is_woken()
    sockets.wait()  # it has not been read
    assert sockets.is_woken()


def test_a_closed_connection_wakes_the_reader(sockets: Sockets) -> None:
    sockets.wait()
    sockets.there.close()
    assert sockets.is_woken()


def test_the_connection_that_waits_is_the_last_one(sockets: Sockets) -> None:
    """A reader that has connected anew may have the file descriptor of its former connection."""
    sockets.wait()
    number = sockets.here.fileno()
    there, here = socket.socketpair()
    with there:
        os.dup2(here.fileno(), number)  # closes what was there
        here.close()
        sockets.wait()
        there.send(b"a")
        assert sockets.is_woken()
        assert sockets.here.recv(10) == b"a"


def test_a_forgotten_socket_wakes_nobody(sockets: Sockets) -> None:
    sockets.wait()
    sockets.waiter.forget()
    sockets.waiter.close()  # what was asked for is done
    sockets.there.send(b"a")
    assert not sockets.woken.acquire(blocking=False)


def test_the_thread_of_a_socket_ends_with_the_reader() -> None:
    before = set(threading.enumerate())
    opened = Sockets()
    opened.wait()
    opened.close()
    assert set(threading.enumerate()) <= before
    assert not opened.woken.acquire(blocking=False)
