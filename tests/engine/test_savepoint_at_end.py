from __future__ import annotations

from concurrent.futures import CancelledError, Future

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
