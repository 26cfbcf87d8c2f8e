"""Waiting for an idle consumer's next message, without a broker."""

from __future__ import annotations

import threading
from queue import Empty, SimpleQueue
from typing import Any

import pytest

from millrace.connectors.kafka.message_waiter import MessageWaiter

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
    broker = Broker()
    waiter = MessageWaiter(broker.consume, broker.woken.set)
    waiter.wait()
    assert broker.asked.acquire(timeout=LONG)
    waiter.close()
    assert not any(thread.name == "Kafka messages" for thread in threading.enumerate())
    assert not broker.woken.is_set()
