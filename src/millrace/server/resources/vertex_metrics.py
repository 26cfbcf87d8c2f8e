"""Throughput and event time of a vertex."""

from __future__ import annotations

from statistics import median

import msgspec

from millrace.engine.job_details import StageDetails, SubtaskDetails
from millrace.server.observed_job import ObservedJob, ObservedVertex

__all__ = ["IOMetrics", "VertexRates", "io_metrics", "subtask_io_metrics", "vertex_rates"]


class IOMetrics(msgspec.Struct, frozen=True, rename="kebab"):
    """Records, bytes and milliseconds of a vertex, summed over its subtasks (Flink:
    ``IOMetricsInfo``). Bytes that a source reads are not counted.
    """

    read_bytes: int = 0
    read_bytes_complete: bool = True
    write_bytes: int = 0
    write_bytes_complete: bool = True
    read_records: int = 0
    read_records_complete: bool = True
    write_records: int = 0
    write_records_complete: bool = True
    accumulated_backpressured_time: int = 0
    accumulated_idle_time: int = 0
    accumulated_busy_time: float = 0.0


class VertexRates(msgspec.Struct, frozen=True):
    """Current rates of a vertex; None if unknown."""

    records_in_per_second: float | None = None
    records_out_per_second: float | None = None
    busy_ratio: float | None = None
    """Share of time in which the busiest subtask is busy, from 0 to 1."""
    busy_ratio_median: float | None = None
    """The same share of the median subtask."""
    back_pressured_ratio: float | None = None
    """Largest share of time in which a subtask waits until its output is taken."""
    back_pressured_ratio_median: float | None = None
    skew: float | None = None
    """Records of the busiest subtask divided by the mean of all subtasks, from 1 to the
    parallelism."""
    watermark: int | None = None
    """ms since the epoch of Unix."""
    watermark_lag_ms: int | None = None


def io_metrics(vertex: ObservedVertex) -> IOMetrics:
    """Records through a vertex since the newest run began. Bytes and times since then or, if later,
    since the last rescaling.
    """
    details = vertex.details
    if details is None:
        return IOMetrics()
    of_subtasks = subtask_io_metrics(*details.subtasks)
    return msgspec.structs.replace(
        of_subtasks, read_records=details.records_in, write_records=details.records_out
    )


def subtask_io_metrics(*subtasks: SubtaskDetails) -> IOMetrics:
    """Records, bytes and times of some subtasks since the newest run began or the job was
    rescaled."""
    return IOMetrics(
        read_bytes=sum(subtask.bytes_in for subtask in subtasks),
        write_bytes=sum(subtask.bytes_out for subtask in subtasks),
        read_records=sum(subtask.total_in for subtask in subtasks),
        write_records=sum(subtask.total_out for subtask in subtasks),
        accumulated_backpressured_time=sum(subtask.back_pressured_ms for subtask in subtasks),
        accumulated_idle_time=sum(subtask.idle_ms for subtask in subtasks),
        accumulated_busy_time=float(sum(subtask.busy_ms for subtask in subtasks)),
    )


def vertex_rates(job: ObservedJob, vertex: ObservedVertex) -> VertexRates:
    """Rates of a vertex in the last seconds; zero for a job that has ended."""
    details = vertex.details
    if details is None or not job.details.epochs:
        return VertexRates()
    if not job.is_running:
        return VertexRates(0.0, 0.0, 0.0, watermark=details.watermark)
    subtasks = details.subtasks
    busy = [min(subtask.busy_ms_per_second / 1_000, 1.0) for subtask in subtasks]
    pressed = [min(subtask.back_pressured_ms_per_second / 1_000, 1.0) for subtask in subtasks]
    return VertexRates(
        records_in_per_second=details.records_in_per_second,
        records_out_per_second=details.records_out_per_second,
        busy_ratio=min(details.busy_ms_per_second / 1_000, 1.0),
        busy_ratio_median=median(busy) if busy else None,
        back_pressured_ratio=max(pressed, default=None),
        back_pressured_ratio_median=median(pressed) if pressed else None,
        skew=_skew(details),
        watermark=details.watermark,
        watermark_lag_ms=(
            None if details.watermark is None else max(0, job.now - details.watermark)
        ),
    )


def _skew(details: StageDetails) -> float | None:
    """Skew of a stage's subtasks; None if no records flow."""
    read = [subtask.records_in_per_second for subtask in details.subtasks]
    rates = read if any(read) else [subtask.records_out_per_second for subtask in details.subtasks]
    return max(rates) * len(rates) / sum(rates) if any(rates) else None
