from __future__ import annotations

from threading import Event

import pytest

from millrace.common.time import Duration
from millrace.testing import ManualClock


def test_stands_still_until_moved() -> None:
    clock = ManualClock(5)
    clock.advance(10)
    clock.advance(Duration.of_seconds(1))
    assert clock.now() == 1015


def test_waiting_moves_it_and_is_noted() -> None:
    clock = ManualClock(5)
    clock.wait_until(50, Event())
    clock.wait_until(20, Event())
    assert clock.now() == 50
    assert clock.waits == [5, 50, 50, 20]


def test_an_interrupted_wait_ends_at_once() -> None:
    clock = ManualClock(5)
    interrupted = Event()
    interrupted.set()
    clock.wait_until(50, interrupted)
    assert clock.now() == 5


def test_waiting_for_ever_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="never continue"):
        ManualClock().wait_until(None, Event())
