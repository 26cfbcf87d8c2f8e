"""Looks at a job again and again, wherever it is: its overview and its log."""

from __future__ import annotations

import os
from pathlib import Path

from millrace.cli.job_overview import JobOverview, overview_of_archive, overview_of_server
from millrace.cli.operated_job import DirectoryJob, OperatedJob
from millrace.cli.served_job import ServedJob
from millrace.cli.state_directory import state_directory
from millrace.common.errors import JobControlError
from millrace.engine.archived_job import read_archive

__all__ = ["LogReader", "job_overview", "log_reader"]

BLOCK = 64 << 10
"""Most bytes of a log that are read at once."""


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


class LogReader:
    """Reads the log of a job from an offset on."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __call__(self, offset: int) -> tuple[str, int]:
        """What was written since ``offset`` bytes (negative: from the end), and where it goes on.

        Raises:
            JobControlError: the file cannot be read.
        """
        try:
            with self._path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                start = max(0, size + offset) if offset < 0 else offset
                start = 0 if start > size else start  # it was begun anew
                file.seek(start)
                data = file.read(BLOCK)
        except OSError as error:
            raise JobControlError(f"the log cannot be read: {error}") from None
        whole = data.decode(errors="ignore").encode()
        # bytes at the end that are no character may be the beginning of one
        taken = len(whole) if data.startswith(whole) and len(data) - len(whole) < 4 else len(data)
        return data[:taken].decode(errors="replace"), start + taken


def log_reader(job: OperatedJob) -> LogReader:
    """The log of a job that runs alone.

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
    return LogReader(max(logs, key=lambda path: path.stat().st_mtime))
