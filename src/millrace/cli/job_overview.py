"""Overview of a job and its stages for ``info`` and ``top``, wherever the job runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from millrace.engine.archived_job import ArchivedJob
from millrace.engine.control_commands import waits_for
from millrace.engine.job_details import StageDetails

__all__ = ["JobOverview", "StageRow", "overview_of_archive", "overview_of_server"]


@dataclass(frozen=True, slots=True)
class StageRow:
    """A stage: a chain of operators."""

    name: str
    parallelism: int
    records_in: int
    records_out: int
    in_per_second: float | None
    out_per_second: float | None
    busy: float | None
    """0 to 1, of the busiest subtask."""
    watermark_lag: int | None
    """Milliseconds."""


@dataclass(frozen=True, slots=True)
class JobOverview:
    """A job at one moment; None for values that are unknown."""

    name: str
    id: str
    status: str
    since: int | None
    """Time at which the job took this status, ms since the Unix epoch."""
    epoch: int
    epoch_ms: float
    records: int
    records_per_second: float
    watermark: int | None
    restarts: int
    checkpoint: int | None
    checkpoint_ms: float | None
    """Duration of the newest checkpoint, in ms."""
    state_bytes: int | None
    """Size of the state in the newest checkpoint, in bytes."""
    began: int | None = None
    """ms since the epoch of Unix."""
    checkpoints: int = 0
    """Completed in this run."""
    failed_checkpoints: int = 0
    error: str = ""
    """The newest thing that went wrong."""
    waits_for: str = ""
    stages: tuple[StageRow, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    state: str = ""
    """State of an ended job without a server, as in ``millrace list``."""
    executor: str = ""
    """The executor, and why the job has it; empty as long as that is not known."""
    checkpoints_in: str = ""
    """Directory of checkpoints of a job without a server."""


def overview_of_archive(id: str, archive: ArchivedJob) -> JobOverview:
    """Overview of a job without a server, from the report in its directory."""
    details = archive.details
    newest = next((c for c in details.checkpoints.recent if c.number is not None), None)
    planned = {stage.uid: stage.parallelism for stage in archive.stages}
    return JobOverview(
        name=details.job_name,
        id=id,
        status=details.status.name,
        since=details.since.get(details.status),
        began=min(details.since.values(), default=None),
        epoch=details.epoch,
        epoch_ms=details.epoch_ms,
        records=details.records,
        records_per_second=details.records_per_second,
        watermark=details.watermark,
        restarts=details.restarts,
        checkpoint=details.checkpoint,
        checkpoint_ms=newest.duration if newest is not None else None,
        state_bytes=newest.full_size if newest is not None else None,
        checkpoints=details.checkpoints.completed,
        failed_checkpoints=details.checkpoints.failed,
        error=details.exceptions[0].cause if details.exceptions else "",
        waits_for="" if details.status.is_terminal_state() else waits_for(details),
        stages=tuple(_row(stage, planned.get(stage.uid, 0)) for stage in details.stages),
        settings=archive.settings,
        executor=_executor(archive.executor, archive.executor_reason),
    )


def _executor(kind: str, reason: str) -> str:
    return f"{kind}: {reason}" if reason else kind


def _row(stage: StageDetails, planned: int) -> StageRow:
    return StageRow(
        stage.name,
        stage.parallelism or len(stage.subtasks) or planned,
        stage.records_in,
        stage.records_out,
        stage.records_in_per_second,
        stage.records_out_per_second,
        stage.busy_ms_per_second / 1000,
        stage.watermark_lag,
    )


def overview_of_server(
    job: Mapping[str, Any], checkpoints: Mapping[str, Any], exceptions: Mapping[str, Any]
) -> JobOverview:
    """Overview of a server's job, from the answers of ``/jobs/:jobid``, its ``checkpoints`` and
    its ``exceptions``."""
    newest = (checkpoints.get("latest") or {}).get("completed") or {}
    counts = checkpoints.get("counts") or {}
    return JobOverview(
        name=job["name"],
        id=job["jid"],
        status=job["state"],
        since=job["timestamps"].get(job["state"]) or None,
        began=job["start-time"],
        epoch=job["epoch"],
        epoch_ms=job["epoch-ms"],
        records=job["records"],
        records_per_second=job["records-per-second"],
        watermark=job["watermark"],
        restarts=job["restarts"],
        checkpoint=newest.get("id"),
        checkpoint_ms=newest.get("end_to_end_duration"),
        state_bytes=newest.get("state_size"),
        checkpoints=counts.get("completed", 0),
        failed_checkpoints=counts.get("failed", 0),
        error=exceptions.get("root-exception") or job["error"],
        waits_for=job["waits-for"],
        executor=_executor(job["executor"], job["executor-reason"]),
        stages=tuple(map(_served_row, job["vertices"])),
    )


def _served_row(vertex: Mapping[str, Any]) -> StageRow:
    return StageRow(
        vertex["name"],
        vertex["parallelism"],
        vertex["metrics"]["read-records"],
        vertex["metrics"]["write-records"],
        vertex["records-in-per-second"],
        vertex["records-out-per-second"],
        vertex["busy-ratio"],
        vertex["watermark-lag-ms"],
    )
