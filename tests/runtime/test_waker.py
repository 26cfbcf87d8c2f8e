"""Wake-up calls for a subtask's loop."""

from __future__ import annotations

from millrace.runtime.waker import Waker


def test_calls_before_a_turn_are_one() -> None:
    calls: list[str] = []
    waker = Waker()
    waker.listener = lambda: calls.append("woken")
    for _ in range(3):
        waker.wake()
    assert calls == ["woken"]
    assert waker.take()
    assert not waker.take()
    waker.wake()
    assert len(calls) == 2


def test_a_call_without_a_listener_is_kept() -> None:
    """The loop that begins to listen gives the subtask a turn."""
    waker = Waker()
    waker.wake()
    assert not waker.is_heard
    assert waker.is_set
    assert waker.take()
