from __future__ import annotations

import time
from threading import Event

from millrace.engine.clock import SystemClock


def test_it_tells_the_machines_time() -> None:
    assert abs(SystemClock().now() - time.time() * 1000) < 5_000


def test_it_does_not_wait_for_the_past() -> None:
    clock = SystemClock()
    clock.wait_until(clock.now() - 10_000, Event())


def test_it_waits_until_interrupted() -> None:
    interrupted = Event()
    interrupted.set()
    clock = SystemClock()
    clock.wait_until(None, interrupted)
    clock.wait_until(clock.now() + 10**9, interrupted)


def test_it_waits_for_the_future() -> None:
    clock = SystemClock()
    at = clock.now() + 20
    clock.wait_until(at, Event())
    assert clock.now() >= at - 2
