"""Jobs in every state, as their processes would have left them, and a server that has them."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path

import msgspec

from millrace.common.job import JobStatus
from millrace.engine.archived_job import (
    ARCHIVE,
    ArchivedInput,
    ArchivedJob,
    ArchivedStage,
    RestartSettings,
)
from millrace.engine.job_details import (
    CheckpointHistory,
    CheckpointStats,
    ExceptionEntry,
    JobDetails,
    JobNotice,
    OperatorDetails,
    RescaleStats,
    RescaleStatus,
    RestoredCheckpoint,
    StageDetails,
    StageRescale,
    StateSize,
    SubtaskDetails,
)
from millrace.engine.job_record import JobRecord
from millrace.server.access_tokens import AccessTokens
from millrace.server.job_server import JobServer, ServerSettings
from millrace.server.registry import ProcessAttempt, RegisteredJob, Submission
from millrace.server.sql_registry import SqlRegistry
from millrace.server.supervisor import Supervisor

NO_TOKENS = AccessTokens()
LOCAL = "http://localhost"
"""Where a server without tokens is reached."""
NOW = 1_700_000_100_000
BEGUN = 1_700_000_000_000
RUNNING, FAILED, NEW, FINISHED = ("1" * 32, "2" * 32, "3" * 32, "4" * 32)
TRACEBACK = 'Traceback (most recent call last):\n  File "job.py", line 3\nValueError: no number'


class FixedClock:
    """Always the same time."""

    def now(self) -> int:
        return NOW


def subtask(
    read: int, written: int, watermark: int, worker: str, busy: float = 250.0
) -> SubtaskDetails:
    """A subtask after nine epochs of half a second, all alike."""
    return SubtaskDetails(
        read,
        written,
        watermark,
        worker,
        total_in=read * 9,
        total_out=written * 9,
        bytes_in=read * 90,
        bytes_out=written * 90,
        records_in_per_second=read * 2.0,
        records_out_per_second=written * 2.0,
        busy_ms_per_second=busy,
        back_pressured_ms_per_second=50.0,
        state_bytes=77,
        operators=(OperatorDetails(read * 9, written * 9, watermark),),
        busy_ms=round(4.5 * busy),
        back_pressured_ms=225,
        idle_ms=4_500 - 225 - round(4.5 * busy),
    )


def details(status: JobStatus) -> JobDetails:
    """A job with a source of two subtasks and a keyed count of one."""
    return JobDetails(
        job_name="clicks",
        status=status,
        since={JobStatus.CREATED: BEGUN, JobStatus.RUNNING: BEGUN + 5_000},
        epoch=9,
        epochs=9,
        checkpoint=3,
        checkpoints=CheckpointHistory(
            completed=3,
            failed=1,
            recent=(
                CheckpointStats(
                    3,
                    9,
                    BEGUN + 90_000,
                    40.4,
                    size=100,
                    full_size=5_000,
                    path="/checkpoints/clicks-00000000/chk-3",
                    written_ms=30.0,
                    stages={"count": StateSize(90, 4_000)},
                ),
                CheckpointStats(None, 7, BEGUN + 80_000, 15.0, "disk full"),
                CheckpointStats(2, 6, BEGUN + 70_000, 20.0),
            ),
            restored=RestoredCheckpoint(1, 4, BEGUN + 60_000),
        ),
        records=900,
        records_per_second=200.0,
        watermark=NOW - 3_000,
        epoch_ms=500.0,
        rescales=RESCALES,
        restarts=1,
        exceptions=(ExceptionEntry(BEGUN + 80_000, 7, TRACEBACK, "count", "{'word': None}"),),
        notices=(
            JobNotice("WARNING", "shop", "no price of 4", "count", (0, 1), BEGUN, BEGUN + 9_000, 6),
        ),
        stages=(
            StageDetails(
                "source",
                "Source: clicks",
                {"source": "Source: clicks"},
                900,
                880,
                NOW - 1_000,
                (
                    subtask(60, 50, NOW - 1_000, "host-a:11"),
                    subtask(40, 30, NOW - 500, "host-b:12"),
                ),
                200.0,
                160.0,
                250.0,
            ),
            StageDetails(
                "count",
                "count -> Sink",
                {"count": "count", "sink": "Sink: out"},
                880,
                100,
                NOW - 3_000,
                (subtask(80, 10, NOW - 3_000, "host-a:11", 900.0),),
                160.0,
                20.0,
                900.0,
            ),
        ),
        metrics={"count": {0: {"words": 7, "mode": "fast"}}, "sink": {-1: {"committed": 2}}},
    )


def rescale(
    number: int, wanted: int, to: int | None, status: RescaleStatus | None, failure: str = ""
) -> RescaleStats:
    stages = {
        "source": StageRescale("Source: clicks", 1, to),
        "count": StageRescale("count -> Sink", 1, 1 if to else None),
    }
    ended = None if status is None else BEGUN + 1_000 * number + 200
    return RescaleStats(
        f"{number:032x}", number, wanted, BEGUN + 1_000 * number, stages, ended, status,
        failure or None,
    )  # fmt: skip


RESCALES = (
    rescale(4, 5, 5, None),
    rescale(3, 999, None, RescaleStatus.FAILED, "parallelism 999 is above 128"),
    rescale(2, 1, 1, RescaleStatus.IGNORED),
    rescale(1, 2, 2, RescaleStatus.COMPLETED),
)
"""The newest one is under way."""


def archive(status: JobStatus = JobStatus.RUNNING) -> ArchivedJob:
    """What such a job tells."""
    return ArchivedJob(
        run_id="r1",
        max_parallelism=128,
        checkpoint_interval=1_000,
        retained_checkpoints=2,
        stages=(
            ArchivedStage("source", "Source: clicks", 2),
            ArchivedStage("count", "count -> Sink", 1, (ArchivedInput("source", "KEYED"),)),
        ),
        restart=RestartSettings("FixedDelayRestartStrategyConfiguration", {}, "fixed"),
        settings={"parallelism.default": "2", "s3.secret-key": "******"},
        details=details(status),
        time=NOW - 400,
    )


def record(status: str = "RUNNING") -> JobRecord:
    """The record of such a job."""
    return JobRecord(
        job_name="clicks",
        job_id="clicks-00000000",
        run_id="r1",
        program="clicks.py",
        host=socket.gethostname(),
        pid=1,
        since=BEGUN,
        status=status,
    )


def write_job(directory: Path, status: JobStatus = JobStatus.RUNNING) -> Path:
    """The directory of such a job below that of its process."""
    place = directory / "clicks-00000000"
    place.mkdir(parents=True)
    (place / "job.json").write_bytes(msgspec.json.encode(record()))
    (place / ARCHIVE).write_bytes(archive(status).encoded())
    (directory / "log.txt").write_text("first line\nsecond line\n")
    return place


def server_of(directory: Path, jobs_are_written: bool = True, **settings: object) -> JobServer:
    """A server with one job of each kind, whose supervisor does nothing."""
    registry = SqlRegistry(f"sqlite:///{directory}/registry.db")
    assert registry.claim()
    chosen = ServerSettings(directory, directory / "savepoints", "sqlite:///registry.db")
    for name, value in settings.items():
        chosen = replace(chosen, **{name: value})
    submission = Submission(str(directory / "clicks.py"), None, ("--fast",), ("--parallelism", "2"))
    jobs = [
        RegisteredJob(RUNNING, submission, JobStatus.RUNNING, created=BEGUN),
        RegisteredJob(
            FAILED, submission, JobStatus.FAILED, created=BEGUN, ended=NOW, error=TRACEBACK
        ),
        RegisteredJob(NEW, Submission("new.py", "brand new"), created=NOW - 10),
        RegisteredJob(
            FINISHED, submission, JobStatus.FINISHED, created=BEGUN - 1, ended=NOW - 50_000
        ),
    ]
    for job in jobs:
        registry.put_job(job)
    registry.put_attempt(ProcessAttempt(RUNNING, 0, 1, BEGUN, BEGUN + 10, "crashed: signal 9"))
    registry.put_attempt(ProcessAttempt(RUNNING, 1, 2, BEGUN + 20))
    if jobs_are_written:
        write_job(chosen.jobs / RUNNING)
        write_job(chosen.jobs / FINISHED, JobStatus.FINISHED)
    clock = FixedClock()
    supervisor = Supervisor(registry, chosen.jobs, clock=clock, follows=False)
    supervisor.lead(registry.last_token())
    return JobServer(chosen, registry, supervisor, clock)
