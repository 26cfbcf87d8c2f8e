"""The last hour of each job, with one point per second, in the server's memory."""

from __future__ import annotations

import logging
import math
import struct
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event, Lock, Thread

from millrace.server.observed_job import ObservedJob

__all__ = ["HistoryPoint", "HistorySampler", "point_of"]

log = logging.getLogger(__name__)

PERIOD = 1.0
"""Seconds between two points."""
SPAN = 3_600_000
"""Milliseconds for which points are kept by default."""
_POINT = struct.Struct("<q7d")
"""Packed form of a point, which takes a fraction of the memory of a tuple."""


@dataclass(frozen=True, slots=True)
class HistoryPoint:
    """Figures of a job at one second; None for a figure that is unknown."""

    time: int
    """ms since the epoch of Unix."""
    records_per_second: float | None = None
    epoch_ms: float | None = None
    checkpoint_ms: float | None = None
    checkpoint_bytes: float | None = None
    """Size in bytes of all state in the newest checkpoint."""
    watermark_lag_ms: float | None = None
    busy_ratio: float | None = None
    """Share of time in which the busiest subtask is busy."""
    latency_ms: float | None = None
    """Milliseconds that the slowest of the newest latency markers took. Without markers, the
    duration of the newest epoch, which is the latency of its first record."""

    def packed(self) -> bytes:
        """The point as a few bytes."""
        values = (
            self.records_per_second,
            self.epoch_ms,
            self.checkpoint_ms,
            self.checkpoint_bytes,
            self.watermark_lag_ms,
            self.busy_ratio,
            self.latency_ms,
        )
        return _POINT.pack(self.time, *(math.nan if value is None else value for value in values))

    @staticmethod
    def unpacked(data: bytes) -> HistoryPoint:
        """The point that `packed` made into bytes."""
        time, *values = _POINT.unpack(data)
        return HistoryPoint(time, *(None if math.isnan(value) else value for value in values))


def point_of(job: ObservedJob) -> HistoryPoint | None:
    """The newest figures that a job has reported; None if it has reported none."""
    if job.archive is None:
        return None
    details = job.details
    newest = next(
        (checkpoint for checkpoint in details.checkpoints.recent if checkpoint.number is not None),
        None,
    )
    busy = [stage.busy_ms_per_second / 1_000 for stage in details.stages]
    latency = max(
        (latency_figures.last for latency_figures in details.latencies), default=details.epoch_ms
    )
    has_lag = details.watermark is not None and job.is_running
    return HistoryPoint(
        time=job.now,
        records_per_second=details.records_per_second
        if details.epochs and job.is_running
        else None,
        epoch_ms=details.epoch_ms if details.epochs else None,
        checkpoint_ms=newest.duration if newest is not None else None,
        checkpoint_bytes=newest.full_size if newest is not None else None,
        watermark_lag_ms=max(0, job.now - (details.watermark or 0)) if has_lag else None,
        busy_ratio=min(max(busy), 1.0) if busy and job.is_running else None,
        latency_ms=latency if details.epochs and job.is_running else None,
    )


class HistorySampler:
    """Samples the figures of each job.

    Args:
        jobs: those that have not ended.
        now: the time, in ms since the epoch of Unix.
        span: milliseconds for which points are kept.
    """

    def __init__(
        self,
        jobs: Callable[[], list[ObservedJob]],
        now: Callable[[], int],
        span: int = SPAN,
    ) -> None:
        self._jobs = jobs
        self._now = now
        self._span = span
        self._points: dict[str, deque[bytes]] = {}
        self._lock = Lock()
        self._closed = Event()
        self._thread = Thread(target=self._follow, name="millrace-history", daemon=True)

    def start(self) -> None:
        """Begin to sample."""
        self._thread.start()

    def close(self) -> None:
        """Stop sampling."""
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join()

    def points(self, job: str, since: int = 0) -> list[HistoryPoint]:
        """The points of a job after a time (ms since the Unix epoch), the oldest first."""
        with self._lock:
            known = list(self._points.get(job, ()))
        points = map(HistoryPoint.unpacked, known)
        return [point for point in points if point.time > since]

    def sample(self) -> None:
        """Take a point of each job, and drop points that are too old."""
        points = [(job.id, point_of(job)) for job in self._jobs()]
        with self._lock:
            for id, point in points:
                if point is not None:
                    most = round(self._span / 1_000 / PERIOD)
                    self._points.setdefault(id, deque(maxlen=most)).append(point.packed())
            self._forget()

    def _forget(self) -> None:
        oldest = self._now() - self._span
        for id, ring in list(self._points.items()):
            while ring and _POINT.unpack(ring[0])[0] < oldest:
                ring.popleft()
            if not ring:
                del self._points[id]

    def _follow(self) -> None:
        while not self._closed.wait(PERIOD):
            try:
                self.sample()
            except Exception:  # the registry may be back in a moment
                log.exception("the history of jobs could not be recorded")
