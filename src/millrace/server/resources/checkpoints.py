"""The checkpoints of a job."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal

import msgspec

from millrace.common.config import options
from millrace.common.config.configuration import Configuration
from millrace.engine.job_details import CheckpointStats, RestoredCheckpoint, StateSize
from millrace.filesystem.location import is_local
from millrace.server.api_route import ApiError, ApiRequest, ApiRoute
from millrace.server.job_server import JobServer
from millrace.server.observed_job import ObservedJob, ObservedVertex

__all__ = ["ROUTES", "checkpoint_config", "checkpoint_statistics"]

PERCENTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}
_NO_LIMIT = (1 << 31) - 1


class TaskCheckpoint(msgspec.Struct, frozen=True):
    """The share of a vertex in a checkpoint."""

    id: int
    status: str
    latest_ack_timestamp: int
    checkpointed_size: int
    state_size: int
    end_to_end_duration: int
    num_subtasks: int
    num_acknowledged_subtasks: int
    alignment_buffered: int = 0
    processed_data: int = 0
    persisted_data: int = 0


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A checkpoint, complete or failed."""

    id: int
    """Number of the checkpoint; -1 if it failed before it had one."""
    class_name: str = msgspec.field(name="className")
    status: Literal["COMPLETED", "FAILED", "IN_PROGRESS"]
    is_savepoint: bool = False
    savepoint_format: str | None = msgspec.field(name="savepointFormat", default=None)
    trigger_timestamp: int
    latest_ack_timestamp: int
    checkpointed_size: int
    """Bytes that the checkpoint wrote."""
    state_size: int
    """Size in bytes of all state in the checkpoint."""
    end_to_end_duration: int
    alignment_buffered: int = 0
    processed_data: int = 0
    persisted_data: int = 0
    num_subtasks: int
    num_acknowledged_subtasks: int
    checkpoint_type: str = "CHECKPOINT"
    tasks: dict[str, TaskCheckpoint] = {}
    external_path: str | None = None
    discarded: bool | None = None
    """Whether the checkpoint has been deleted, so that no job can start from it."""
    failure_timestamp: int | None = None
    failure_message: str | None = None
    epoch: int = 0
    """First epoch that is not part of the checkpoint."""
    written_ms: float = 0.0
    """Part of the duration until the checkpoint was written; sinks committed afterwards."""


class CheckpointCounts(msgspec.Struct, frozen=True):
    """Numbers of checkpoints of the newest run, by their state."""

    restored: int
    total: int
    in_progress: int
    completed: int
    failed: int


class StatsSummary(msgspec.Struct, frozen=True):
    """Summary of one figure over the remembered checkpoints; None if unknown."""

    min: int | None = None
    max: int | None = None
    avg: int | None = None
    p50: float | None = None
    p90: float | None = None
    p95: float | None = None
    p99: float | None = None
    p999: float | None = None


class CheckpointSummary(msgspec.Struct, frozen=True):
    """Summary of the remembered checkpoints."""

    checkpointed_size: StatsSummary
    state_size: StatsSummary
    end_to_end_duration: StatsSummary
    alignment_buffered: StatsSummary
    processed_data: StatsSummary
    persisted_data: StatsSummary


class RestoredCheckpointStatistics(msgspec.Struct, frozen=True):
    """The snapshot that a run began from."""

    id: int
    restore_timestamp: int
    is_savepoint: bool
    external_path: str


class LatestCheckpoints(msgspec.Struct, frozen=True):
    """The latest checkpoint of each kind; None if there was none."""

    completed: Checkpoint | None = None
    savepoint: Checkpoint | None = None
    failed: Checkpoint | None = None
    restored: RestoredCheckpointStatistics | None = None


class CheckpointStatistics(msgspec.Struct, frozen=True):
    """Answer of ``/jobs/:jobid/checkpoints``."""

    counts: CheckpointCounts
    summary: CheckpointSummary
    latest: LatestCheckpoints
    history: list[Checkpoint]
    """Checkpoints, the newest first."""


class Externalization(msgspec.Struct, frozen=True):
    """Retention of checkpoints after the job's end: they are always retained."""

    enabled: bool = True
    delete_on_cancellation: bool = False


class CheckpointConfigInfo(msgspec.Struct, frozen=True):
    """Answer of ``/jobs/:jobid/checkpoints/config``."""

    mode: str
    interval: int
    """Milliseconds between checkpoints."""
    timeout: int
    min_pause: int
    max_concurrent: int
    externalization: Externalization
    state_backend: str
    checkpoint_storage: str
    unaligned_checkpoints: bool
    tolerable_failed_checkpoints: int
    aligned_checkpoint_timeout: int
    checkpoints_after_tasks_finish: bool
    retained: int


def checkpoint_statistics(job: ObservedJob) -> CheckpointStatistics:
    """The checkpoints of the newest run."""
    history = job.details.checkpoints
    recent = [_checkpoint(job, stats) for stats in history.recent]
    complete = [checkpoint for checkpoint in recent if checkpoint.status == "COMPLETED"]
    failed = [checkpoint for checkpoint in recent if checkpoint.status == "FAILED"]
    durations = [checkpoint.end_to_end_duration for checkpoint in complete]
    nothing = stats_summary([0] if complete else [])
    return CheckpointStatistics(
        counts=CheckpointCounts(
            restored=int(history.restored is not None),
            total=history.completed + history.failed,
            in_progress=0,
            completed=history.completed,
            failed=history.failed,
        ),
        summary=CheckpointSummary(
            checkpointed_size=stats_summary(
                [checkpoint.checkpointed_size for checkpoint in complete]
            ),
            state_size=stats_summary([checkpoint.state_size for checkpoint in complete]),
            end_to_end_duration=stats_summary(durations),
            alignment_buffered=nothing,
            processed_data=nothing,
            persisted_data=nothing,
        ),
        latest=LatestCheckpoints(
            completed=complete[0] if complete else None,
            failed=failed[0] if failed else None,
            restored=_restored(history.restored),
        ),
        history=recent,
    )


def stats_summary(values: Sequence[int]) -> StatsSummary:
    """Summary of some values.

    Example:
        >>> figures = stats_summary([4, 1, 3, 2])
        >>> figures.min, figures.avg, figures.p50, figures.p99
        (1, 2, 2.5, 3.97)
    """
    if not values:
        return StatsSummary()
    ordered = sorted(values)
    quantiles = {name: _quantile(ordered, share) for name, share in PERCENTILES.items()}
    return StatsSummary(ordered[0], ordered[-1], sum(ordered) // len(ordered), **quantiles)


def _quantile(ordered: Sequence[int], share: float) -> float:
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    value = ordered[below] + (ordered[above] - ordered[below]) * (place - below)
    return round(value, 3)


def _restored(restored: RestoredCheckpoint | None) -> RestoredCheckpointStatistics | None:
    if restored is None:
        return None
    is_own = restored.number is not None
    number = restored.number if restored.number is not None else -1
    return RestoredCheckpointStatistics(number, restored.time, not is_own, "")


def _checkpoint(job: ObservedJob, stats: CheckpointStats) -> Checkpoint:
    failed = stats.number is None
    duration = round(stats.duration)
    end = stats.triggered + duration
    number = -1 if stats.number is None else stats.number
    subtasks = sum(vertex.parallelism for vertex in job.vertices)
    status: Literal["COMPLETED", "FAILED"] = "FAILED" if failed else "COMPLETED"
    return Checkpoint(
        id=number,
        class_name=status.lower(),
        status=status,
        trigger_timestamp=stats.triggered,
        latest_ack_timestamp=-1 if failed else end,
        checkpointed_size=stats.size,
        state_size=stats.full_size,
        end_to_end_duration=duration,
        num_subtasks=subtasks,
        num_acknowledged_subtasks=0 if failed else subtasks,
        tasks={vertex.id: _task(vertex, stats, status) for vertex in job.vertices},
        external_path=stats.path or None,
        discarded=None if failed else not _is_kept(job, stats),
        failure_timestamp=end if failed else None,
        failure_message=stats.failure,
        epoch=stats.epoch,
        written_ms=stats.written_ms,
    )


def _is_kept(job: ObservedJob, stats: CheckpointStats) -> bool:
    """Whether a job can still start from a checkpoint: it is one of the newest, and neither the
    job nor anybody else has deleted it."""
    if job.archive is None or job.details.checkpoint is None:
        return False
    completed = [c.number for c in job.details.checkpoints.recent if c.number is not None]
    newest = sorted(completed, reverse=True)[: job.archive.retained_checkpoints]
    gone = is_local(stats.path) and bool(stats.path) and not os.path.exists(stats.path)
    return stats.number in newest and not gone


def _task(vertex: ObservedVertex, stats: CheckpointStats, status: str) -> TaskCheckpoint:
    size = stats.stages.get(vertex.uid, StateSize(0, 0))
    return TaskCheckpoint(
        id=-1 if stats.number is None else stats.number,
        status=status,
        latest_ack_timestamp=stats.triggered + round(stats.duration),
        checkpointed_size=size.written,
        state_size=size.full,
        end_to_end_duration=round(stats.duration),
        num_subtasks=vertex.parallelism,
        num_acknowledged_subtasks=0 if stats.number is None else vertex.parallelism,
    )


def checkpoint_config(job: ObservedJob) -> CheckpointConfigInfo:
    """The checkpoint settings of a job.

    Raises:
        ApiError: 404 if the job has not begun.
    """
    if job.archive is None:
        raise ApiError(404, f"job {job.id} has not begun to make checkpoints")
    settings = Configuration(job.archive.settings)
    return CheckpointConfigInfo(
        mode="exactly_once",
        interval=job.archive.checkpoint_interval,
        timeout=_NO_LIMIT,
        min_pause=0,
        max_concurrent=1,
        externalization=Externalization(),
        state_backend=settings.get_string("state.backend.type", "hashmap") or "hashmap",
        checkpoint_storage=settings.get(options.CHECKPOINTING_DIR) or "",
        unaligned_checkpoints=False,
        tolerable_failed_checkpoints=_NO_LIMIT,
        aligned_checkpoint_timeout=0,
        checkpoints_after_tasks_finish=True,
        retained=job.archive.retained_checkpoints,
    )


def get_checkpoints(server: JobServer, request: ApiRequest) -> CheckpointStatistics:
    """Answer ``GET /jobs/:jobid/checkpoints``."""
    return checkpoint_statistics(server.observed(request))


def get_config(server: JobServer, request: ApiRequest) -> CheckpointConfigInfo:
    """Answer ``GET /jobs/:jobid/checkpoints/config``."""
    return checkpoint_config(server.observed(request))


def get_details(server: JobServer, request: ApiRequest) -> Checkpoint:
    """Answer ``GET /jobs/:jobid/checkpoints/details/:checkpointid``."""
    job = server.observed(request)
    wanted = request.path["checkpointid"]
    for checkpoint in checkpoint_statistics(job).history:
        if str(checkpoint.id) == wanted and checkpoint.status == "COMPLETED":
            return checkpoint
    raise ApiError(404, f"checkpoint {wanted[:40]} of job {job.id} is not remembered")


ROUTES = (
    ApiRoute(
        "GET",
        "/jobs/{jobid}/checkpoints",
        get_checkpoints,
        "The checkpoints of a job's newest run: figures, and the last ten.",
        CheckpointStatistics,
    ),
    ApiRoute(
        "GET",
        "/jobs/{jobid}/checkpoints/config",
        get_config,
        "The settings of a job's checkpoints.",
        CheckpointConfigInfo,
    ),
    ApiRoute(
        "GET",
        "/jobs/{jobid}/checkpoints/details/{checkpointid}",
        get_details,
        "One of the last checkpoints of a job.",
        Checkpoint,
    ),
)
