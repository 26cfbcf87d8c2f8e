"""A job as the server sees it: the registry's record and the job's own report."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Lock

from millrace.common.job import JobStatus
from millrace.engine.archived_job import (
    ARCHIVE,
    ArchivedInput,
    ArchivedJob,
    ArchivedStage,
    read_archive,
)
from millrace.engine.job_details import JobDetails, StageDetails, SubtaskDetails
from millrace.metrics.job_metrics import JobMetrics
from millrace.metrics.measurement import Measurement
from millrace.server.job_process import JobProcess
from millrace.server.registry import RegisteredJob

__all__ = ["ObservedJob", "ObservedJobs", "ObservedVertex", "vertex_id"]

LOOK_AGAIN = 1_000
"""Milliseconds after which a job's directory is looked up again, because a program may begin
another job."""


def vertex_id(uid: str) -> str:
    """Id of a stage as Flink's clients expect it: 32 hexadecimal digits.

    Example:
        >>> vertex_id("count")
        'e2942a04780e223b215eb8b663cf5353'
    """
    return hashlib.md5(uid.encode(), usedforsecurity=False).hexdigest()


class MeasuredJob:
    """The metrics of a job, computed once per report."""

    def __init__(self, id: str) -> None:
        self._metrics = JobMetrics(id)
        self._lock = Lock()
        self._measured: tuple[ArchivedJob, Sequence[Measurement]] | None = None

    def of(self, archive: ArchivedJob) -> Sequence[Measurement]:
        """All metrics in a job's report."""
        with self._lock:
            if self._measured is None or self._measured[0] is not archive:
                measurements = self._metrics.of(archive.details, archive.time)
                self._measured = (archive, measurements)
            return self._measured[1]


@dataclass(frozen=True)
class ObservedVertex:
    """A stage of a job: its place in the graph and its figures."""

    uid: str
    name: str
    parallelism: int
    inputs: tuple[ArchivedInput, ...]
    details: StageDetails | None
    """Figures of the stage; None if the stage has reported none."""

    @cached_property
    def id(self) -> str:
        """Id of the vertex, 32 hexadecimal digits."""
        return vertex_id(self.uid)

    @property
    def subtasks(self) -> tuple[SubtaskDetails, ...]:
        """Subtasks in the newest epoch; empty before the first epoch."""
        return self.details.subtasks if self.details is not None else ()


@dataclass(frozen=True)
class ObservedJob:
    """A job at one moment."""

    job: RegisteredJob
    archive: ArchivedJob | None
    """The job's own report; None if the program has not begun a job."""
    now: int
    """ms since the epoch of Unix."""
    directory: Path | None = None
    """Directory of the job's checkpoints."""
    measured: MeasuredJob | None = None
    new_processes: Callable[[], int] = lambda: 0
    """Function that returns the number of restarts after the death of a process."""

    def measurements(self) -> Sequence[Measurement]:
        """All metrics of the job under Flink's names."""
        if self.archive is None:
            return ()
        return (self.measured or MeasuredJob(self.id)).of(self.archive)

    @property
    def id(self) -> str:
        """Id of the job, 32 hexadecimal digits."""
        return self.job.id

    @property
    def name(self) -> str:
        """Name from the request, else from the program, else the program's file name."""
        told = self.details.job_name
        return self.job.submission.name or told or Path(self.job.submission.program).stem

    @property
    def details(self) -> JobDetails:
        """The job's own report."""
        return self.archive.details if self.archive is not None else JobDetails()

    @cached_property
    def restarts(self) -> int:
        """Number of restarts, by new processes and within the newest process."""
        return self.new_processes() + self.details.restarts

    @property
    def end(self) -> int:
        """Time of the job's end, or the current time."""
        return self.now if self.job.ended is None else self.job.ended

    @property
    def is_running(self) -> bool:
        """Whether records flow."""
        return self.job.status in (JobStatus.RUNNING, JobStatus.CANCELLING)

    @property
    def is_stoppable(self) -> bool:
        """Whether the job can be stopped with a savepoint: it runs, and not in batch mode."""
        return self.job.status is JobStatus.RUNNING and not self.is_batch

    @property
    def is_batch(self) -> bool:
        """Whether the job runs in runtime mode BATCH."""
        return self.archive is not None and self.archive.batch

    @cached_property
    def vertices(self) -> tuple[ObservedVertex, ...]:
        """The stages of the job's graph, sources first."""
        if self.archive is None:
            return ()
        told = {stage.uid: stage for stage in self.archive.details.stages}
        return tuple(_vertex(stage, told.get(stage.uid)) for stage in self.archive.stages)

    def vertex(self, id: str) -> ObservedVertex | None:
        """The stage with the given id; None if there is none."""
        return next((vertex for vertex in self.vertices if vertex.id == id), None)


def _vertex(stage: ArchivedStage, details: StageDetails | None) -> ObservedVertex:
    # a job that was rescaled has another than it began with, even before its next epoch
    told = (details.parallelism or len(details.subtasks)) if details is not None else 0
    parallelism = told or stage.parallelism
    return ObservedVertex(stage.uid, stage.name, parallelism, stage.inputs, details)


@dataclass(slots=True)
class _Found:
    """The report of a job at its last reading."""

    directory: Path | None = None
    looked: int = -LOOK_AGAIN
    version: tuple[int, int] | None = None
    """Modification time and size of the file."""
    archive: ArchivedJob | None = None
    measured: MeasuredJob | None = None
    lock: Lock = field(default_factory=Lock)


class ObservedJobs:
    """Reader of jobs' reports, which reads each file only when it has changed; safe for several
    threads.

    Args:
        process: the process of a job.
        now: the time, in ms since the epoch of Unix.
    """

    def __init__(self, process: Callable[[str], JobProcess], now: Callable[[], int]) -> None:
        self._process = process
        self._now = now
        self._found: dict[str, _Found] = {}
        self._lock = Lock()

    def observe(
        self, job: RegisteredJob, new_processes: Callable[[], int] = lambda: 0
    ) -> ObservedJob:
        """The current state of a job.

        Args:
            new_processes: counts how often it was started again because its process had died.
        """
        now = self._now()
        with self._lock:
            state = self._found.get(job.id)
            if state is None:
                state = self._found[job.id] = _Found(measured=MeasuredJob(job.id))
        # who waits for a slow disk waits for one job alone
        with state.lock:
            self._refresh(job, state, now)
            return ObservedJob(
                job, state.archive, now, state.directory, state.measured, new_processes
            )

    def keep(self, ids: Iterable[str]) -> None:
        """Drop the reports of all jobs except the given ones."""
        kept = set(ids)
        with self._lock:
            self._found = {id: state for id, state in self._found.items() if id in kept}

    def _refresh(self, job: RegisteredJob, state: _Found, now: int) -> None:
        due = now - state.looked >= LOOK_AGAIN and not (job.is_over and state.archive is not None)
        if due or state.directory is None:
            state.directory = self._process(job.id).job_directory()
            state.looked = now
        if state.directory is None:
            return
        version = _version(state.directory / ARCHIVE)
        if version != state.version:
            archive = read_archive(state.directory)
            if archive is not None:
                state.archive, state.version = archive, version


def _version(path: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
