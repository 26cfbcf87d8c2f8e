"""The jobs that keep their checkpoints in a directory, whether they run or not."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from millrace.common.errors import CheckpointError, JobControlError
from millrace.common.job import JobID, JobStatus
from millrace.engine.control_mailbox import Mailbox, RunNote
from millrace.engine.job_record import JobRecord, read_record
from millrace.filesystem.location import local_location
from millrace.state.checkpoint.directory import complete_checkpoints
from millrace.state.checkpoint.manifest import Manifest, read_manifest

__all__ = ["Job", "find_job", "jobs_in"]

_ID = re.compile(r"[a-z0-9-]+-[0-9a-f]{8}")
_LEASE = "lease.json"
"""Every job that ever ran has one."""
_STATES = {
    JobStatus.RUNNING.name: "killed",
    JobStatus.FINISHED.name: "finished",
    JobStatus.SUSPENDED.name: "stopped",
    JobStatus.CANCELED.name: "cancelled",
    JobStatus.FAILED.name: "failed",
}
"""What the record of a run says of a job that nobody runs."""
SHORTEST = 4
"""Characters of an id that stand for it: a slip of the finger should not end a job."""


@dataclass(frozen=True, slots=True)
class Job:
    """A job as its directory tells."""

    directory: Path
    run: RunNote | None
    """Who runs it; None: nobody."""
    newest: Manifest | None
    """Of its newest complete checkpoint; None: there is none that can be read."""
    record: JobRecord | None = None
    """Of its last run; None: there is none that can be read."""
    hidden: str = ""
    """Why it cannot be seen whether somebody runs it."""

    @property
    def id(self) -> str:
        """The name of its directory."""
        return self.directory.name

    @property
    def name(self) -> str:
        """As in the program; the id if there is nothing that tells."""
        if self.run is not None:
            return self.run.job_name
        if self.record is not None:
            return self.record.job_name
        return self.newest.job_name if self.newest is not None else self.id

    @property
    def state(self) -> str:
        """ "running"; how its last run ended: "finished" (its input has ended), "stopped",
        "cancelled", "failed", "killed" (its process has died); "unknown": see `hidden`."""
        if self.hidden:
            return "unknown"
        if self.run is not None:
            return "running"
        input_ended = self.newest is not None and self.newest.finished
        if self.record is None:
            return "finished" if input_ended else "stopped"
        if self.record.status == JobStatus.FINISHED.name and self.newest is not None:
            return "finished" if input_ended else "stopped"  # with a savepoint
        return _STATES.get(self.record.status, "unknown")

    @property
    def error(self) -> str:
        """Why it failed; empty: it did not."""
        return self.record.error if self.record is not None and self.run is None else ""

    def is_called(self, word: str) -> bool:
        """Whether ``word`` is its name or one of its ids."""
        return word in (self.id, self.name, str(JobID.from_name(self.name)))


def jobs_in(checkpoint_dir: Path) -> Iterator[Job]:
    """All jobs of a checkpoint directory, by id."""
    if checkpoint_dir.is_dir():
        for directory in sorted(checkpoint_dir.iterdir()):
            if _is_of_a_job(directory):
                yield read_job(directory)


def _is_of_a_job(directory: Path) -> bool:
    try:
        return (directory / _LEASE).is_file()
    except PermissionError:  # another user's; other things have other names
        return _ID.fullmatch(directory.name) is not None


def read_job(directory: Path) -> Job:
    """The job that keeps its checkpoints in ``directory``."""
    try:
        # the record last: a run that ends meanwhile would look as if it had been killed
        running = Mailbox(directory).running()
        return Job(directory, running, _newest(directory), read_record(directory))
    except JobControlError as error:
        return Job(directory, None, _newest(directory), hidden=str(error))


def _newest(directory: Path) -> Manifest | None:
    if not os.access(directory, os.R_OK | os.X_OK):
        return None
    for number in reversed(complete_checkpoints(directory)):
        try:
            return read_manifest(directory, number)
        except CheckpointError:  # damaged, or just being removed
            continue
    return None


def find_job(checkpoint_dir: Path, word: str) -> Job:
    """The job that people call ``word``: its name, its id or the beginning of it (four characters
    or more), its directory.

    Raises:
        JobControlError: there is none, or there are several.
        UnsupportedFileSystemSchemeError: it is a URI of another file system.
    """
    directory = local_location(word) if "/" in word else None
    if directory is not None and (directory / _LEASE).is_file():
        return read_job(directory)
    jobs = list(jobs_in(checkpoint_dir))
    found = [job for job in jobs if job.is_called(word)]
    if not found and len(word) >= SHORTEST:
        found = [job for job in jobs if job.id.startswith(word)]
    if len(found) == 1:
        return found[0]
    raise JobControlError(_several(word, found) if found else _none(checkpoint_dir, word, jobs))


def _several(word: str, jobs: Sequence[Job]) -> str:
    return f"{word!r} could be {' or '.join(job.id for job in jobs)}; name the id"


def _none(checkpoint_dir: Path, word: str, jobs: Sequence[Job]) -> str:
    near = get_close_matches(word, [job.name for job in jobs] + [job.id for job in jobs], n=1)
    hint = f"; did you mean {near[0]!r}?" if near else "; see 'millrace list', or --checkpoint-dir"
    return f"there is no job {word!r} in {checkpoint_dir}{hint}"
