"""Statements about the jobs of a session: SHOW JOBS, DESCRIBE JOB and STOP JOB."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from zoneinfo import ZoneInfo

from millrace.common.config import options
from millrace.common.errors import JobDefinitionError, MillraceError
from millrace.common.types.logical.logical_type import RowType, VarCharType
from millrace.sql.statements import StopJob
from millrace.table.session_jobs import SessionJob
from millrace.table.table_result import TableResult
from millrace.table.table_session import TableSession

__all__ = ["describe_job", "show_jobs", "stop_job"]

_COLUMNS = ("job id", "job name", "status", "start time")


def show_jobs(session: TableSession) -> TableResult:
    """SHOW JOBS: the jobs of this session. Columns have Flink's names."""
    return _listed(session, session.jobs.all())


def describe_job(session: TableSession, id: str) -> TableResult:
    """DESCRIBE JOB: one job of this session.

    Raises:
        JobDefinitionError: the session has no such job.
    """
    jobs = [job for job in session.jobs.all() if job.id == id]
    if not jobs:
        raise JobDefinitionError(f"this session has no job with the id {id!r}; see SHOW JOBS")
    return _listed(session, jobs)


def stop_job(session: TableSession, statement: StopJob) -> TableResult:
    """STOP JOB: cancel a job of this session, or end it with a savepoint, whose path is the result.

    Raises:
        JobDefinitionError: no such job runs, or WITH DRAIN is without WITH SAVEPOINT.
        MillraceError: the savepoint cannot be written.
    """
    if statement.with_drain and not statement.with_savepoint:
        raise JobDefinitionError(
            "WITH DRAIN requires WITH SAVEPOINT, because it ends the input before the savepoint"
        )
    client = session.jobs.running(statement.job)
    if statement.with_savepoint:
        configuration = session.config.get_configuration()
        path = client.stop_with_savepoint(
            statement.with_drain, configuration.get(options.SAVEPOINT_DIR)
        ).result()
        return TableResult.of_rows(RowType.of(("savepoint path", VarCharType())), [(path,)])
    client.cancel()
    with suppress(MillraceError):  # how it has ended, SHOW JOBS tells
        client.result()
    return TableResult.ok()


def _listed(session: TableSession, jobs: Iterable[SessionJob]) -> TableResult:
    zone = ZoneInfo(session.config.get_local_timezone())
    rows = [
        (
            job.id,
            job.name,
            job.status,
            None
            if job.start is None
            else job.start.astimezone(zone).replace(tzinfo=None).isoformat(" ", "milliseconds"),
        )
        for job in jobs
    ]
    return TableResult.of_rows(RowType.of(*((name, VarCharType()) for name in _COLUMNS)), rows)
