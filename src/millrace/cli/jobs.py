"""The jobs of a checkpoint directory, running or not."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from millrace.common.errors import CheckpointError, JobControlError
from millrace.common.job import JobID, JobStatus
from millrace.common.similar_names import did_you_mean
from millrace.engine.archived_job import read_archive
from millrace.engine.control_mailbox import Mailbox, RunNote
from millrace.engine.job_record import RECORD, JobRecord, read_record
from millrace.filesystem.location import local_location
from millrace.state.checkpoint.directory import checkpoint_dir, complete_checkpoints
from millrace.state.checkpoint.manifest import Manifest, read_manifest

__all__ = ["Job", "KeptCheckpoint", "find_job", "jobs_in"]

_ID = re.compile(r"[a-z0-9-]+-[0-9a-f]{8}")
_FILES = ("lease.json", RECORD)
"""Files of a job that ran: its directory has at least one of them, and only the second if the
checkpoints are in an object store."""
_STATES = {
    JobStatus.RUNNING.name: "killed",
    JobStatus.FINISHED.name: "finished",
    JobStatus.SUSPENDED.name: "stopped",
    JobStatus.CANCELED.name: "cancelled",
    JobStatus.FAILED.name: "failed",
}
"""The state of a job that is not running, by the status in the record of its last run."""
SHORTEST = 4
"""The fewest characters of an id that select a job: a typing error must not end another one."""


@dataclass(frozen=True, slots=True)
class KeptCheckpoint:
    """The newest known complete checkpoint of a job."""

    number: int
    time: int
    """ms since the epoch of Unix."""
    path: str
    """Its directory, which may be in an object store."""


@dataclass(frozen=True, slots=True)
class Job:
    """A job, as read from its directory."""

    directory: Path
    run: RunNote | None
    """The process that runs the job; None if the job is not running."""
    newest: Manifest | None
    """The manifest of the newest complete checkpoint; None if the job's directory has no readable
    one."""
    record: JobRecord | None = None
    """The record of the last run; None if it is missing or unreadable."""
    unknown_reason: str = ""
    """Why it cannot be determined whether it is running; empty: it can."""

    @property
    def id(self) -> str:
        """Id of the job: the name of its directory."""
        return self.directory.name

    @property
    def name(self) -> str:
        """Name that the program gives; the id if no file has the name."""
        if self.run is not None:
            return self.run.job_name
        if self.record is not None:
            return self.record.job_name
        return self.newest.job_name if self.newest is not None else self.id

    @property
    def state(self) -> str:
        """The state of the job.

        It is "running", "unknown" (see `unknown_reason`), or how the last run ended: "finished"
        (its input has ended), "stopped", "cancelled", "failed" or "killed" (its process has died).
        """
        if self.unknown_reason:
            return "unknown"
        if self.run is not None:
            return "running"
        if self.record is None:
            return "finished" if self._input_ended else "stopped"
        if self.record.status == JobStatus.FINISHED.name and self._input_ended is False:
            return "stopped"  # with a savepoint
        return _STATES.get(self.record.status, "unknown")

    @property
    def _input_ended(self) -> bool | None:
        """Whether the input has ended; None if no checkpoint tells."""
        if self.record is not None and self.record.input_ended is not None:
            return self.record.input_ended
        return self.newest.finished if self.newest is not None else None

    @property
    def checkpoint(self) -> KeptCheckpoint | None:
        """The newest complete checkpoint; None if none is known. For checkpoints outside the
        job's directory, it is taken from the job's last report, which may be a second old if the
        job was killed."""
        if self.newest is not None:
            number = self.newest.checkpoint
            return KeptCheckpoint(
                number, self.newest.timestamp, checkpoint_dir(self.directory, number)
            )
        if self.record is None or self.record.checkpoints in ("", str(self.directory)):
            return None
        archive = read_archive(self.directory)
        told = archive.details.checkpoint if archive is not None else None
        if archive is None or told is None:
            return None
        recent = archive.details.checkpoints.recent
        time = next((c.triggered for c in recent if c.number == told), archive.time)
        return KeptCheckpoint(told, time, checkpoint_dir(self.record.checkpoints, told))

    @property
    def executor(self) -> str:
        """The executor of the last run, ``epochs`` or ``resident``; empty if it is not known."""
        archive = read_archive(self.directory)
        return archive.executor if archive is not None else ""

    @property
    def error(self) -> str:
        """The error of the last run; empty if it did not fail."""
        return self.record.error if self.record is not None and self.run is None else ""

    def matches(self, name_or_id: str) -> bool:
        """Whether a word is the job's name or one of its ids."""
        announced = self.record.job_id if self.record is not None else self.id
        return name_or_id in (self.id, announced, self.name, str(JobID.from_name(self.name)))


def jobs_in(base: Path) -> Iterator[Job]:
    """All jobs of a checkpoint directory, sorted by id."""
    if base.is_dir():
        for directory in sorted(base.iterdir()):
            if _is_of_a_job(directory):
                yield read_job(directory)


def _is_of_a_job(directory: Path) -> bool:
    try:
        return any((directory / name).is_file() for name in _FILES)
    except PermissionError:  # another user's: decide by the form of the name
        return _ID.fullmatch(directory.name) is not None


def read_job(directory: Path) -> Job:
    """The job that keeps its checkpoints in ``directory``."""
    try:
        # the record last: a run that ends meanwhile would look as if it had been killed
        running = Mailbox(directory).running()
        return Job(directory, running, _newest(directory), read_record(directory))
    except JobControlError as error:
        return Job(directory, None, _newest(directory), unknown_reason=str(error))


def _newest(directory: Path) -> Manifest | None:
    if not os.access(directory, os.R_OK | os.X_OK):
        return None
    for number in reversed(complete_checkpoints(directory)):
        try:
            return read_manifest(directory, number)
        except CheckpointError:  # damaged, or just being removed
            continue
    return None


def find_job(base: Path, word: str) -> Job:
    """Find a job by its name, its id, the first characters of the id or its directory.

    Raises:
        JobControlError: no job matches ``word``, or several do.
        UnsupportedFileSystemSchemeError: ``word`` is a URI of a file system that is not local.
    """
    directory = local_location(word) if "/" in word else None
    if directory is not None and _is_of_a_job(directory):
        return read_job(directory)
    jobs = list(jobs_in(base))
    matching = [job for job in jobs if job.matches(word)]
    if not matching and len(word) >= SHORTEST:
        matching = [job for job in jobs if job.id.startswith(word)]
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise JobControlError(_ambiguous(word, matching))
    raise JobControlError(_not_found(base, word, jobs))


def _ambiguous(word: str, jobs: Sequence[Job]) -> str:
    return f"{word!r} could be {' or '.join(job.id for job in jobs)}; name the id"


def _not_found(base: Path, word: str, jobs: Sequence[Job]) -> str:
    known = [job.name for job in jobs] + [job.id for job in jobs]
    hint = did_you_mean(word, known, "see 'millrace list', or --checkpoint-dir")
    return f"there is no job {word!r} in {base}{hint}"
