"""The table of states: what may follow what, and what is asked in vain."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.errors import JobExecutionError
from millrace.common.job import JobStatus
from millrace.engine.job_requests import RequestKind
from millrace.engine.job_state import STATES, JobStateMachine

WAYS = {
    JobStatus.CREATED: [],
    JobStatus.RUNNING: [JobStatus.RUNNING],
    JobStatus.RESTARTING: [JobStatus.RUNNING, JobStatus.RESTARTING],
    JobStatus.CANCELLING: [JobStatus.CANCELLING],
    JobStatus.FAILING: [JobStatus.FAILING],
    JobStatus.FAILED: [JobStatus.FAILING, JobStatus.FAILED],
    JobStatus.CANCELED: [JobStatus.CANCELLING, JobStatus.CANCELED],
    JobStatus.FINISHED: [JobStatus.RUNNING, JobStatus.FINISHED],
    JobStatus.SUSPENDED: [JobStatus.RUNNING, JobStatus.SUSPENDED],
}
"""How to get into each state."""


def brought_to(status: JobStatus) -> JobStateMachine:
    states = JobStateMachine(lambda: 0)
    for step in WAYS[status]:
        assert states.enter(step)
    assert states.status is status
    return states


def test_every_state_is_in_the_table_and_can_be_reached() -> None:
    assert set(STATES) == set(JobStatus) - {JobStatus.RECONCILING}
    reached = {JobStatus.CREATED}.union(*(rule.followed_by for rule in STATES.values()))
    assert reached == set(STATES)


def test_a_state_is_final_when_nothing_follows() -> None:
    assert {s for s, rule in STATES.items() if not rule.followed_by} == {
        status for status in JobStatus if status.is_terminal_state()
    }


@pytest.mark.parametrize(("before", "after"), list(itertools.product(STATES, STATES)))
def test_only_what_the_table_allows_can_follow(before: JobStatus, after: JobStatus) -> None:
    states = brought_to(before)
    if after in STATES[before].followed_by:
        assert states.enter(after)
        assert states.status is after
        return
    stays = before is JobStatus.CANCELLING and after in (JobStatus.RUNNING, JobStatus.RESTARTING)
    if stays:
        assert not states.enter(after)
    else:
        with pytest.raises(JobExecutionError, match=f"{before.name} cannot become {after.name}"):
            states.enter(after)
    assert states.status is before


@pytest.mark.parametrize("status", STATES)
def test_cancelling_begins_only_while_the_job_goes_on(status: JobStatus) -> None:
    states = brought_to(status)
    goes_on = status in (JobStatus.CREATED, JobStatus.RUNNING, JobStatus.RESTARTING)
    assert states.cancel() is goes_on
    assert states.status is (JobStatus.CANCELLING if goes_on else status)


@pytest.mark.parametrize(("status", "kind"), list(itertools.product(STATES, RequestKind)))
def test_what_is_refused_is_said_in_a_sentence(status: JobStatus, kind: RequestKind) -> None:
    refusal = brought_to(status).refusal(kind)
    if kind in STATES[status].accepts:
        assert refusal is None
    else:
        assert refusal is not None
        assert refusal.startswith("the job ")
        assert refusal.endswith(f", so it cannot {kind.value}")


def test_whoever_wants_a_job_to_end_is_never_refused() -> None:
    for rule in STATES.values():
        assert {RequestKind.STOP, RequestKind.CANCEL} <= rule.accepts


@given(st.lists(st.sampled_from(sorted(STATES, key=lambda s: s.value))))
def test_the_times_of_states_are_kept(steps: list[JobStatus]) -> None:
    clock = itertools.count()
    states = JobStateMachine(lambda: next(clock))
    entered = {JobStatus.CREATED: 0}
    for number, step in enumerate(
        [s for s in steps if _allowed(states, s) and states.enter(s)], start=1
    ):
        entered[step] = number
    assert states.since == entered


def _allowed(states: JobStateMachine, status: JobStatus) -> bool:
    return status in STATES[states.status].followed_by
