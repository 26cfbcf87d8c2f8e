"""Whatever is asked of a job in whatever order: nothing is lost and nothing answered twice."""

from __future__ import annotations

import tempfile
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from millrace.common import RestartStrategies
from millrace.common.completable_future import CompletableFuture
from millrace.common.errors import CheckpointError, JobExecutionError, MillraceError
from millrace.common.job import JobStatus
from millrace.engine.command_bus import CommandBus
from millrace.engine.job_requests import (
    AfterSavepoint,
    CancelRequest,
    RescaleRequest,
    SavepointRequest,
    StopRequest,
    answer,
)
from millrace.engine.job_state import STATES, JobStateMachine
from millrace.testing import MiniJob

PATIENCE = 180.0


def bus(interrupted: list[str] | None = None) -> tuple[CommandBus, JobStateMachine]:
    calls = interrupted if interrupted is not None else []
    states = JobStateMachine(lambda: 0)
    return CommandBus(states, lambda: calls.append("interrupted")), states


def test_requests_wait_in_their_order() -> None:
    made, _ = bus()
    first, second = SavepointRequest("a", AfterSavepoint.GO_ON), RescaleRequest(2)
    made.submit(first)
    made.submit(second)
    assert made.wanted.is_set()
    assert (made.take(), made.take(), made.take()) == (first, second, None)


def test_a_request_that_nobody_wants_any_more_is_not_begun() -> None:
    made, _ = bus()
    made.submit(SavepointRequest("a", AfterSavepoint.GO_ON)).cancel()
    assert made.waiting
    assert made.take() is None


def test_a_savepoint_without_a_directory_is_refused_at_once() -> None:
    made, states = bus()
    with pytest.raises(CheckpointError, match="needs a directory: name one"):
        made.submit(SavepointRequest(None, AfterSavepoint.STOP)).result(0)
    assert not made.waiting
    configured = CommandBus(states, lambda: None, savepoint_dir="savepoints")
    configured.submit(SavepointRequest(None, AfterSavepoint.STOP))
    assert configured.waiting


def test_stopping_waits_for_nothing() -> None:
    made, states = bus()
    assert made.submit(StopRequest()).result(0) is None
    assert made.stop_wanted
    assert made.ending.is_set()
    assert states.status is JobStatus.CREATED


def test_cancelling_interrupts_an_epoch_each_time() -> None:
    interrupted: list[str] = []
    made, states = bus(interrupted)
    made.submit(CancelRequest())
    made.submit(CancelRequest())
    assert states.status is JobStatus.CANCELLING
    assert interrupted == ["interrupted"] * 2


def test_what_is_too_late_is_refused_with_the_reason() -> None:
    made, states = bus()
    made.submit(CancelRequest())
    with pytest.raises(JobExecutionError, match="is being cancelled, so it cannot make a savepoin"):
        made.submit(SavepointRequest("a", AfterSavepoint.GO_ON)).result(0)
    states.enter(JobStatus.CANCELED)
    with pytest.raises(JobExecutionError, match="has ended: it was cancelled, so it cannot change"):
        made.submit(RescaleRequest(2)).result(0)


def test_who_waits_at_the_end_is_told_why_it_ended() -> None:
    made, _ = bus()
    waiting, serving = RescaleRequest(2), RescaleRequest(3)
    made.submit(waiting)
    made.close([serving], ValueError("no luck"))
    for request in (waiting, serving):
        with pytest.raises(
            JobExecutionError, match="ended before it could change its parallelism: no luck"
        ):
            request.done.result(0)
    with pytest.raises(JobExecutionError, match="the job has ended"):
        made.submit(RescaleRequest(4)).result(0)


def test_answering_twice_is_a_mistake_unless_nobody_listens() -> None:
    request = RescaleRequest(2)
    answer(request, None)
    with pytest.raises(Exception, match="FINISHED"):
        answer(request, None)
    forgotten = RescaleRequest(2)
    forgotten.done.cancel()
    answer(forgotten, None)


class Operated(RuleBasedStateMachine):
    """A running job of which anything is asked between any two epochs."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.job = MiniJob(checkpoint_dir=self.folder.name).__enter__()
        self.job.env.set_restart_strategy(RestartStrategies.fixed_delay_restart(2, 0))
        failures = self.failures = [0]

        def brittle(value: int) -> int:
            if failures[0]:
                failures[0] -= 1
                raise ValueError("brittle")
            return value

        self.source = self.job.source()
        self.job.collect(self.source.stream.map(brittle).key_by(lambda v: v % 3).reduce(max))
        self.job.process()
        self.entered = [JobStatus.RUNNING]
        machine = self.job.client._manager.states
        unwatched = machine._set

        def watched(status: JobStatus) -> None:
            self.entered.append(status)
            unwatched(status)

        machine._set = watched  # type: ignore[method-assign]
        self.asked: list[CompletableFuture[Any]] = []
        self.ends = 0

    @property
    def ended(self) -> bool:
        return self.job.client.get_job_execution_result().done()

    def _epoch(self) -> None:
        try:
            self.job.process()
        except MillraceError:
            assert self.ended

    @precondition(lambda self: not self.ended)
    @rule(values=st.lists(st.integers(0, 9), max_size=3))
    def run_epoch(self, values: list[int]) -> None:
        self.source.push(*values)
        self._epoch()

    @precondition(lambda self: not self.ended)
    @rule()
    def fail(self) -> None:
        self.failures[0] = 1
        self.source.push(1)
        self._epoch()

    @rule(directory=st.sampled_from([None, "savepoints"]), after=st.sampled_from(AfterSavepoint))
    def savepoint(self, directory: str | None, after: AfterSavepoint) -> None:
        path = None if directory is None else f"{self.folder.name}/{directory}"
        request = SavepointRequest(path, after)
        self.asked.append(self.job.client._manager.bus.submit(request))

    @rule(parallelism=st.integers(-1, 3))
    def rescale(self, parallelism: int) -> None:
        self.asked.append(self.job.client.rescale(parallelism))

    @rule()
    def forget(self) -> None:
        for future in self.asked:
            future.cancel()

    @rule()
    def stop(self) -> None:
        self.job.client.stop()

    @rule()
    def cancel(self) -> None:
        self.asked.append(self.job.client.cancel())

    def teardown(self) -> None:
        try:
            self.job.__exit__(None, None, None)
            for future in self.asked:
                if not future.cancelled():
                    refusal = future.exception(PATIENCE)
                    assert refusal is None or isinstance(refusal, MillraceError)
            for before, after in zip(self.entered, self.entered[1:], strict=False):
                assert after in STATES[before].followed_by
            details = self.job.client.progress()
            assert details.status is self.entered[-1]
            assert details.status.is_terminal_state()
            assert details.running is None
            outcome = self.job.client.get_job_execution_result().exception()
            assert outcome is None or isinstance(outcome, MillraceError)
            assert (outcome is None) == (details.status is JobStatus.FINISHED)
        finally:
            self.folder.cleanup()


TestOperated = Operated.TestCase
TestOperated.settings = settings(max_examples=25, stateful_step_count=12, deadline=None)
