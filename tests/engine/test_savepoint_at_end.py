from __future__ import annotations

from concurrent.futures import CancelledError, Future
from threading import Event, Thread

import pytest

from millrace.common.errors import CheckpointError, JobCancelledError, JobExecutionError
from millrace.engine.savepoint_at_end import at_end


def test_of_a_job_that_failed_the_error_names_the_savepoint() -> None:
    savepoint, job = Future(), Future()
    both = at_end(savepoint, job)
    savepoint.set_result("/savepoints/a")
    job.set_exception(OSError("the disk is full"))
    with pytest.raises(JobExecutionError, match=r"/savepoints/a is complete.*the disk is full"):
        both.result(0)


def test_a_cancelled_job_ends_as_it_should() -> None:
    savepoint, job = Future(), Future()
    job.set_exception(JobCancelledError("after a savepoint"))
    both = at_end(savepoint, job)
    assert not both.done()
    savepoint.set_result("/savepoints/a")
    assert both.result(0) == "/savepoints/a"


def test_why_there_is_none_is_known_at_once() -> None:
    savepoint = Future()
    both = at_end(savepoint, Future())
    savepoint.set_exception(CheckpointError("no space"))
    with pytest.raises(CheckpointError, match="no space"):
        both.result(0)


def test_who_cancels_it_cancels_the_request() -> None:
    savepoint, job = Future(), Future()
    both = at_end(savepoint, job)
    assert both.cancel()
    assert savepoint.cancelled()


def test_a_request_that_was_cancelled_gives_no_savepoint() -> None:
    savepoint = Future()
    both = at_end(savepoint, Future())
    savepoint.cancel()
    with pytest.raises(CancelledError):
        both.result(0)


def test_cancelled_after_the_savepoint_was_complete() -> None:
    savepoint, job = Future(), Future()
    both = at_end(savepoint, job)
    savepoint.set_result("/savepoints/a")
    assert both.cancel()
    job.set_result(None)
    assert savepoint.result(0) == "/savepoints/a"


@pytest.mark.parametrize("error", [None, JobCancelledError("after a savepoint")])
def test_who_has_seen_the_end_of_the_job_has_the_savepoint(error: Exception | None) -> None:
    """Before the callbacks of the job's future have run, too: it wakes those who wait first."""
    savepoint, job = Future(), Future()
    has_woken, may_go_on = Event(), Event()
    seen: list[str] = []

    def before_the_others(_: object) -> None:
        has_woken.set()
        assert may_go_on.wait(60)

    def end() -> None:
        job.set_result(None) if error is None else job.set_exception(error)

    job.add_done_callback(before_the_others)
    both = at_end(savepoint, job)
    both.add_done_callback(lambda done: seen.append(done.result(0)))
    savepoint.set_result("/savepoints/a")
    assert not both.done()
    ending = Thread(target=end)
    ending.start()
    assert has_woken.wait(60)
    assert both.done()
    assert both.result(0) == "/savepoints/a"
    assert both.exception(0) is None
    assert not both.cancel()
    may_go_on.set()
    ending.join(60)
    assert seen == ["/savepoints/a"]


def test_who_has_seen_the_savepoint_fail_sees_it_here() -> None:
    """Before the callbacks of the savepoint's future have run, too."""
    savepoint = Future()
    has_woken, may_go_on = Event(), Event()

    def before_the_others(_: object) -> None:
        has_woken.set()
        assert may_go_on.wait(60)

    savepoint.add_done_callback(before_the_others)
    both = at_end(savepoint, Future())
    ending = Thread(target=savepoint.set_exception, args=[CheckpointError("no space")])
    ending.start()
    assert has_woken.wait(60)
    with pytest.raises(CheckpointError, match="no space"):
        both.result(0)
    may_go_on.set()
    ending.join(60)
