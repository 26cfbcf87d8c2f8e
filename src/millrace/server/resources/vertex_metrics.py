"""The records that go through a vertex, and how far its event time is."""

from __future__ import annotations

import msgspec

from millrace.server.observed_job import ObservedJob, ObservedVertex

__all__ = ["IOMetrics", "VertexRates", "io_metrics", "vertex_rates"]


class IOMetrics(msgspec.Struct, frozen=True, rename="kebab"):
    """Flink: ``IOMetricsInfo``. Bytes are not counted."""

    read_bytes: int = 0
    read_bytes_complete: bool = False
    write_bytes: int = 0
    write_bytes_complete: bool = False
    read_records: int = 0
    read_records_complete: bool = True
    write_records: int = 0
    write_records_complete: bool = True
    accumulated_backpressured_time: int = 0
    accumulated_idle_time: int = 0
    accumulated_busy_time: float = 0.0


class VertexRates(msgspec.Struct, frozen=True):
    """How a vertex is doing now; None: unknown."""

    records_in_per_second: float | None = None
    records_out_per_second: float | None = None
    busy_ratio: float | None = None
    """From 0 to 1."""
    watermark: int | None = None
    """ms since the epoch of Unix."""
    watermark_lag_ms: int | None = None


def io_metrics(vertex: ObservedVertex) -> IOMetrics:
    """The records of a vertex since the newest run began."""
    details = vertex.details
    if details is None:
        return IOMetrics()
    return IOMetrics(read_records=details.records_in, write_records=details.records_out)


def vertex_rates(job: ObservedJob, vertex: ObservedVertex) -> VertexRates:
    """How a vertex did in the newest epoch."""
    details = vertex.details
    if details is None:
        return VertexRates()
    watermark = details.watermark
    if not job.is_running:
        return VertexRates(0.0, 0.0, None, watermark)
    lag = None if watermark is None else max(0, job.now - watermark)
    epoch_ms = job.details.epoch_ms
    if epoch_ms <= 0:
        return VertexRates(None, None, None, watermark, lag)
    read = sum(subtask.records_in for subtask in vertex.subtasks)
    written = sum(subtask.records_out for subtask in vertex.subtasks)
    per_second = 1_000 / epoch_ms
    return VertexRates(read * per_second, written * per_second, None, watermark, lag)
