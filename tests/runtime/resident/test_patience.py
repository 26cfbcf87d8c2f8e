"""Subtasks of a saturated worker gather records; those of any other worker do not wait."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from tests.runtime.resident.driven_subtask import CHANNEL, Clock, Driven, use_manual_clock

from millrace.runtime.buffer import MIN_WATERMARK, end_of
from millrace.runtime.resident import resident_worker
from millrace.runtime.resident.epoch_news import EpochNews
from millrace.runtime.resident.patience import SATURATED_TIMEOUT, Patience
from millrace.runtime.resident.resident_worker import ResidentWorker

TIMEOUT = 0.005


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    use_manual_clock(monkeypatch)


def patience(timeout: float | None = TIMEOUT, saturated: float = SATURATED_TIMEOUT) -> Patience:
    return Patience(timeout, saturated)


def saturated() -> Patience:
    made = patience()
    made.observe(idle=0.0, busy=2.0, has_worked=True)
    assert made.is_saturated
    return made


def may_wait(driven: Driven) -> bool:
    return driven.subtask.may_wait(int(Clock.seconds * 1000), Clock.seconds)


@pytest.mark.parametrize("idle_share", [0.0, 0.2, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("step", [0.0002, 0.02, 0.5])
def test_a_worker_that_is_idle_for_a_quarter_of_the_time_is_not_saturated(
    idle_share: float, step: float
) -> None:
    tested = patience()
    for _ in range(int(2 / step)):
        tested.observe(idle_share * step, (1 - idle_share) * step, has_worked=True)
    assert tested.is_saturated is (idle_share < 0.25)


def test_a_worker_is_saturated_after_a_fraction_of_a_second_and_never_after_one_record() -> None:
    tested = patience()
    tested.observe(idle=5.0, busy=0.02, has_worked=True)
    assert not tested.is_saturated
    for _ in range(20):
        tested.observe(idle=0.0, busy=0.02, has_worked=True)
    assert tested.is_saturated


def test_a_step_without_work_ends_the_patience_at_once() -> None:
    tested = saturated()
    tested.observe(idle=0.0, busy=0.0001, has_worked=False)
    assert not tested.is_saturated


@pytest.mark.parametrize("timeout", [0.0, None, 0.05, 0.2])
def test_a_timeout_of_0_none_or_a_long_one_holds_in_a_saturated_worker_too(
    timeout: float | None,
) -> None:
    tested = patience(timeout)
    tested.observe(idle=0.0, busy=2.0, has_worked=True)
    assert not tested.is_saturated


def test_little_input_waits_until_it_is_enough() -> None:
    driven = Driven(0.001, saturated())
    driven.send(20)
    driven.work()  # the pace is 1 ms: about five records are a piece
    driven.send(3)
    assert may_wait(driven)
    driven.send(3)
    assert not may_wait(driven)


def test_little_input_waits_for_the_timeout_at_most() -> None:
    driven = Driven(0.001, saturated())
    driven.send(20)
    driven.work()
    Clock.advance(SATURATED_TIMEOUT)
    driven.work()  # sends the output
    driven.send(1)
    assert may_wait(driven)
    Clock.advance(SATURATED_TIMEOUT - 0.001)
    assert may_wait(driven)
    Clock.advance(0.001)
    assert not may_wait(driven)


def test_nothing_waits_when_a_barrier_has_come_or_the_worker_is_not_saturated() -> None:
    driven = Driven(0.001, patience())
    driven.send(20)
    driven.work()
    driven.send(1)
    assert not may_wait(driven)

    driven = Driven(0.001, saturated())
    driven.send(20)
    driven.work()
    driven.send(1)
    assert may_wait(driven)
    end = end_of(0, *CHANNEL, 1, MIN_WATERMARK, False, [21])
    driven.subtask.gate.put_barrier(CHANNEL, end, 21, False)
    assert not may_wait(driven)


@pytest.mark.parametrize("seconds", [0.003, 0.01, 0.1])
def test_slow_records_do_not_wait(seconds: float) -> None:
    driven = Driven(seconds, saturated())
    driven.send(3)
    driven.work()
    assert driven.subtask.outbox.records == 3
    driven.send(1)
    assert not may_wait(driven)


def test_a_subtask_with_little_to_do_does_not_wait_for_the_turns_of_others() -> None:
    driven = Driven(0.001, saturated())
    for _ in range(20):
        driven.send(1)
        driven.turn()
        Clock.advance(0.1)
    driven.send(1)
    assert not may_wait(driven)


def test_output_waits_for_more_in_a_saturated_worker_only() -> None:
    tested = patience()
    driven = Driven(0.001, tested)
    driven.send(20)
    driven.work()
    assert driven.subtask.outbox.records == 20

    tested.observe(idle=0.0, busy=2.0, has_worked=True)
    driven.send(3)
    driven.work()
    assert driven.subtask.outbox.records == 20
    due = driven.subtask.due_at(int(Clock.seconds * 1000), Clock.seconds)
    assert due == pytest.approx(SATURATED_TIMEOUT - 0.003)
    Clock.advance(SATURATED_TIMEOUT)
    driven.work()
    assert driven.subtask.outbox.records == 23


def test_output_is_sent_when_the_input_of_a_saturated_worker_has_ended() -> None:
    tested = saturated()
    driven = Driven(0.001, tested)
    driven.send(20)
    driven.work()
    sent = driven.subtask.outbox.records
    driven.send(3)
    driven.work()
    assert driven.subtask.outbox.records == sent < 20
    tested.observe(idle=0.0, busy=0.0001, has_worked=False)
    Clock.advance(TIMEOUT)
    driven.work()
    assert driven.subtask.outbox.records == 23


def worker_with(
    driven: Driven, shared: Patience, monkeypatch: pytest.MonkeyPatch
) -> ResidentWorker:
    """A worker without sockets."""
    worker = object.__new__(ResidentWorker)
    worker._subtasks, worker._patience = [driven.subtask], shared
    worker._first, worker._turn_since, worker._turns, worker._ready_ahead = 0, None, None, []
    worker._news = EpochNews()
    worker._connect_until, worker._clock = None, lambda: int(Clock.seconds * 1000)
    worker._held = SimpleNamespace(watchdog=SimpleNamespace(end=lambda: None))
    clocks = SimpleNamespace(perf_counter=Clock.now, monotonic=Clock.now)
    monkeypatch.setattr(resident_worker, "time", clocks)
    return worker


def test_a_saturated_worker_sends_its_output_before_it_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another worker may wait for this output."""
    shared = saturated()
    driven = Driven(0.001, shared)
    worker = worker_with(driven, shared, monkeypatch)
    driven.send(20)
    driven.work()
    sent = driven.subtask.outbox.records
    driven.send(4)
    assert worker._run_subtasks()
    assert driven.subtask.outbox.records == sent < 24
    waited = 0.0
    while driven.subtask.outbox.records < 24:
        wait = worker._wait()
        waited += wait
        Clock.advance(wait)
        worker._run_subtasks()
    assert waited <= TIMEOUT


def test_input_that_may_wait_gets_its_turn_if_no_other_subtask_needs_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shared = saturated()
    driven = Driven(0.001, shared)
    worker = worker_with(driven, shared, monkeypatch)
    driven.send(20)
    driven.work()
    driven.send(1)
    assert may_wait(driven)
    assert worker._run_subtasks()
    assert driven.subtask.gate.records == 0
