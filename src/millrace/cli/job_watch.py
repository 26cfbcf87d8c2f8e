"""Looks at a job again and again, wherever it is: its overview and its log."""

from __future__ import annotations

from collections.abc import Callable

from millrace.cli.job_overview import JobOverview, overview_of_archive, overview_of_server
from millrace.cli.operated_job import DirectoryJob, OperatedJob
from millrace.cli.served_job import ServedJob
from millrace.cli.state_directory import state_directory
from millrace.common.errors import JobControlError
from millrace.engine.archived_job import read_archive
from millrace.server.log_part import log_part

__all__ = ["job_overview", "log_reader"]


def job_overview(job: OperatedJob) -> JobOverview:
    """How a job is doing.

    Raises:
        JobControlError: it tells nothing of itself, or its server does not answer.
    """
    if isinstance(job, ServedJob):
        path = f"/jobs/{job.id}"
        get = job.client.get
        return overview_of_server(
            get(path), get(f"{path}/checkpoints"), get(f"{path}/exceptions")
        )
    assert isinstance(job, DirectoryJob)
    archive = read_archive(job.job.directory)
    if archive is None:
        raise JobControlError(f"job '{job.name}' has told nothing of itself in {job.job.directory}")
    return overview_of_archive(job.id, archive)


def log_reader(job: OperatedJob) -> Callable[[int], tuple[str, int]]:
    """Reads the log of a job that runs alone: from an offset (negative: from the end) what was
    written, and where it goes on.

    Raises:
        JobControlError: it was not started by ``millrace run``, or its log is gone.
    """
    assert isinstance(job, DirectoryJob)
    run, record = job.job.run, job.job.record
    pid = run.pid if run is not None else record.pid if record is not None else None
    logs = list((state_directory() / "logs").glob(f"*-{pid}.log")) if pid is not None else []
    if not logs:
        raise JobControlError(
            f"job '{job.name}' has no log here: it was not started by 'millrace run', or not by you"
        )
    newest = max(logs, key=lambda path: path.stat().st_mtime)

    def read(offset: int) -> tuple[str, int]:
        part = log_part(newest, offset)
        return part.text, part.next

    return read
