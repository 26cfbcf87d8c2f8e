"""Busy, back-pressured and idle time of a subtask, by a manual clock that its function advances."""

from __future__ import annotations

import pytest
from tests.runtime.resident.driven_subtask import Clock, Driven, use_manual_clock

from millrace.runtime.chain import OperatorChain


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    use_manual_clock(monkeypatch)


def test_the_time_of_the_function_is_busy_and_the_rest_idle() -> None:
    driven = Driven()
    Clock.advance(0.2)
    driven.send(3)
    driven.work()
    Clock.advance(0.77)
    assert driven.barrier() == pytest.approx((0.03, 0))
    assert Clock.seconds == pytest.approx(1)


def test_work_in_the_turn_that_ends_the_epoch_is_busy() -> None:
    driven = Driven()
    driven.send(3)
    assert driven.barrier() == pytest.approx((0.03, 0))


def test_time_after_the_acknowledgement_belongs_to_the_next_epoch() -> None:
    driven = Driven()
    assert driven.barrier() == (0, 0)
    driven.refuse_output()
    Clock.advance(0.5)  # it waits for its plan
    driven.begin()
    driven.send(2)
    driven.work()
    Clock.advance(0.5)
    driven.take_output()
    assert driven.barrier() == pytest.approx((0.02, 0.5))


def test_a_subtask_that_waits_for_its_turn_has_something_to_do() -> None:
    driven = Driven()
    driven.send(2)
    driven.turn()  # one record: others work now
    Clock.advance(0.5)
    assert driven.barrier() == pytest.approx((0.52, 0))


def test_back_pressure_ends_when_the_output_is_taken() -> None:
    """Not with the next turn, which may be a long time away: there is no more input."""
    driven = Driven()
    driven.refuse_output()
    driven.send(1)
    driven.work()
    Clock.advance(0.5)
    driven.take_output()
    Clock.advance(0.2)
    assert driven.barrier() == pytest.approx((0.01, 0.5))


def test_a_subtask_with_input_is_busy_when_its_output_is_taken() -> None:
    driven = Driven()
    driven.refuse_output()
    driven.send(1)
    driven.work()
    driven.send(1)
    Clock.advance(0.5)
    driven.take_output()
    Clock.advance(0.2)
    assert driven.barrier() == pytest.approx((0.22, 0.5))


def test_a_function_that_takes_no_more_requests_is_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    driven, room = Driven(), [0]
    monkeypatch.setattr(OperatorChain, "room", lambda chain: room[0])
    driven.send(1)
    driven.turn()
    Clock.advance(0.5)
    room[0] = 1
    assert driven.barrier() == pytest.approx((0.51, 0))


def test_without_input_it_is_idle() -> None:
    driven = Driven()
    Clock.advance(10)
    assert driven.barrier() == (0, 0)
