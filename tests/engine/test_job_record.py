"""What is kept of a run that has ended."""

from __future__ import annotations

from pathlib import Path

from millrace.common.errors import JobExecutionError, LeaseLostError
from millrace.common.job import JobStatus
from millrace.engine.job_record import RECORD, RecordedRun, read_record


def recorded(directory: Path) -> RecordedRun:
    run = RecordedRun("count", "count-1", "run-1", "/srv/job.py")
    run.started(str(directory))
    return run


def test_a_run_and_its_end(tmp_path: Path) -> None:
    assert read_record(tmp_path) is None
    run = recorded(tmp_path)
    begun = read_record(tmp_path)
    assert begun is not None
    assert (begun.status, begun.ended, begun.job_name) == ("RUNNING", None, "count")
    run.ended(JobStatus.FAILED, JobExecutionError("no disk"))
    ended = read_record(tmp_path)
    assert ended is not None
    assert (ended.status, ended.error, ended.since) == ("FAILED", "no disk", begun.since)
    assert ended.ended is not None
    assert (tmp_path / RECORD).stat().st_mode & 0o777 == 0o600


def test_a_long_error_keeps_its_ends(tmp_path: Path) -> None:
    recorded(tmp_path).ended(JobStatus.FAILED, JobExecutionError("a" + "." * 10**6 + "z"))
    record = read_record(tmp_path)
    assert record is not None
    assert len(record.error) < 10_000
    assert (record.error[0], record.error[-1]) == ("a", "z")


def test_a_run_that_did_not_begin_leaves_no_record(tmp_path: Path) -> None:
    run = RecordedRun("count", "count-1", "run-1", "")
    run.ended(JobStatus.FAILED, JobExecutionError("the lease is another run's"))
    assert not list(tmp_path.iterdir())


def test_damage_is_no_record(tmp_path: Path) -> None:
    for content in (b"", b"{", b'{"job_name": 7}', b"\xff" * 100):
        (tmp_path / RECORD).write_bytes(content)
        assert read_record(tmp_path) is None


def test_a_superseded_run_leaves_the_record_of_its_successor(tmp_path: Path) -> None:
    """It fails as soon as it finds out; the job has finished meanwhile."""
    paused = recorded(tmp_path)
    successor = RecordedRun("count", "count-1", "run-2", "/srv/job.py")
    successor.started(str(tmp_path))
    successor.ended(JobStatus.FINISHED, None)
    paused.ended(JobStatus.FAILED, JobExecutionError("it has lost its lease"))
    record = read_record(tmp_path)
    assert record is not None
    assert (record.run_id, record.status, record.error) == ("run-2", "FINISHED", "")


def test_a_run_that_was_fenced_off_does_not_say_that_the_job_has_failed(tmp_path: Path) -> None:
    """Its successor may not have begun yet."""
    recorded(tmp_path).ended(JobStatus.FAILED, LeaseLostError("a newer leader has the job"))
    record = read_record(tmp_path)
    assert record is not None
    assert record.status == "RUNNING"
