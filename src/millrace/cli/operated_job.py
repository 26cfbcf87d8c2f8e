"""The job that a command operates: in a directory on this machine, or of a job server."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from millrace.cli.commands.grammar import checkpoint_dir, job_name, server_client
from millrace.cli.job_overview import JobOverview, overview_of_archive
from millrace.cli.jobs import Job, find_job, read_job
from millrace.cli.served_job import find_served_job
from millrace.cli.state_directory import state_directory
from millrace.common.errors import JobControlError
from millrace.server.log_part import log_part

__all__ = ["DirectoryJob", "OperatedJob", "operated_job"]


class OperatedJob(Protocol):
    """Operations that commands perform on a job, wherever the job runs."""

    @property
    def name(self) -> str:
        """Name that the program or the command line gives."""

    @property
    def id(self) -> str:
        """Id of the job: its directory's name, or 32 hexadecimal digits for a server's job."""

    def not_running(self) -> str | None:
        """Reason why the job does not run, in the form of the last part of a message: it begins
        with a colon or semicolon. None if the job runs."""

    def ask(
        self,
        command: str,
        arguments: dict[str, Any],
        timeout: float,
        waiting: Callable[[str], None],
    ) -> dict[str, Any]:
        """Answer of the job to one of `millrace.engine.control_commands.COMMANDS`."""

    def await_end(self, timeout: float) -> bool:
        """Wait for the job's end; False if it still runs after ``timeout`` seconds."""

    def failure(self) -> str:
        """Short reason of the last run's failure; empty if it did not fail."""

    def overview(self) -> JobOverview:
        """Overview of the job and its stages, at most a second old."""

    def log(self, offset: int) -> tuple[str, int]:
        """Text of the log from ``offset`` bytes (negative: from the end), and the next offset."""


@dataclass(frozen=True, slots=True)
class DirectoryJob:
    """A job without a server, operated through its directory."""

    job: Job

    @property
    def name(self) -> str:
        """Name that the program gave to the job."""
        return self.job.name

    @property
    def id(self) -> str:
        """Id of the job: the name of its directory."""
        return self.job.id

    def not_running(self) -> str | None:
        """None if the job runs; otherwise a text with its failure and the way to continue."""
        return None if self.job.run is not None else f"{self.failure()}{self._resume_hint()}"

    def ask(
        self,
        command: str,
        arguments: dict[str, Any],
        timeout: float,
        waiting: Callable[[str], None],
    ) -> dict[str, Any]:
        """Answer of the job to a command.

        Raises:
            JobControlError: it is not running, refuses, fails to do it, or does not answer in time.
        """
        from millrace.engine.control_client import ask

        return ask(self.job.directory, command, arguments, timeout, waiting)

    def await_end(self, timeout: float) -> bool:
        """Wait for the job's end; False if it still runs after ``timeout`` seconds."""
        from millrace.engine.control_client import await_end

        return await_end(self.job.directory, timeout)

    def failure(self) -> str:
        """Last line of the last run's error, which names the user's exception; empty if it did
        not fail."""
        record = read_job(self.job.directory).record
        if record is None or not record.error:
            return ""
        where = f" in operator '{record.operator}'" if record.operator else ""
        return f": it failed{where}: {record.error.strip().splitlines()[-1]}"

    def overview(self) -> JobOverview:
        """Overview of the job, from the report in its directory.

        Raises:
            JobControlError: the job has no readable report.
        """
        from millrace.engine.archived_job import read_archive

        archive = read_archive(self.job.directory)
        if archive is None:
            raise JobControlError(
                f"job '{self.name}' has written no report in {self.job.directory}"
            )
        overview = overview_of_archive(self.id, archive)
        state = "" if self.job.run is not None else self.job.state
        return replace(
            overview,
            state=state,
            # nobody noted when its process died
            since=None if state == "killed" else overview.since,
            waits_for="" if state else overview.waits_for,
            checkpoints_in=self._checkpoints_in(),
        )

    def _checkpoints_in(self) -> str:
        record = self.job.record
        return (record.checkpoints if record is not None else "") or str(self.job.directory)

    def log(self, offset: int) -> tuple[str, int]:
        """Text of the log from ``offset`` bytes (negative: from the end), and the next offset.

        Raises:
            JobControlError: the job was not started by ``millrace run``, or its log is gone.
        """
        part = log_part(self._log_file(), offset)
        return part.text, part.next

    def _log_file(self) -> Path:
        run, record = self.job.run, self.job.record
        pid = run.pid if run is not None else record.pid if record is not None else None
        logs = list((state_directory() / "logs").glob(f"*-{pid}.log")) if pid is not None else []
        if not logs:
            raise JobControlError(
                f"job '{self.name}' has no log here: it was not started by 'millrace run', "
                "or not by your user"
            )
        return max(logs, key=lambda path: path.stat().st_mtime)

    def _resume_hint(self) -> str:
        newest = self.job.checkpoint
        if newest is None:
            return ""
        return f"; to continue from its newest checkpoint: millrace run -s {newest.path} job.py"


def operated_job(args: argparse.Namespace) -> OperatedJob:
    """The job that the arguments of a command name.

    Raises:
        UsageError: the arguments name no job.
        JobControlError: there is no such job, or no permission to see whether it is running.
    """
    name = job_name(args)
    if args.server is not None:
        return find_served_job(server_client(args), name)
    job = find_job(checkpoint_dir(args), name)
    if job.unknown_reason:
        raise JobControlError(f"job '{job.name}': {job.unknown_reason}")
    return DirectoryJob(job)
