"""Latency markers: the time that records take from a source to each operator.

A marker leaves a source when the source begins to read in an epoch, and takes the way of its
records. So it has arrived at a subtask once the subtask has processed its input of that epoch. The
answers of subtasks have both times, so no marker has to be sent between the records. Flink: class
``LatencyMarker``, and the docs, "Metrics", "End-to-End latency tracking".
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence

from millrace.engine.job_details import LatencyDetails
from millrace.runtime.epoch import Ack
from millrace.runtime.metrics import quantiles_of
from millrace.runtime.program import Program

__all__ = ["LatencyTracker"]


class LatencyTracker:
    """Keeps the latencies of the last markers.

    Args:
        interval: minimum milliseconds between two markers; 0 for no markers.
        history: number of latencies to keep per source and subtask.
    """

    def __init__(self, program: Program, interval: int, history: int = 128) -> None:
        self._program = program
        self._interval = interval
        self._history = history
        self._marked: float = -math.inf
        self._uids = {stage.id: stage.uid for stage in program.stages}
        self._reached = {
            stage.id: _reached(program, stage.id) for stage in program.stages if not stage.inputs
        }
        self._seen: dict[tuple[int, int, int], deque[float]] = {}
        """Latencies by source stage, stage and subtask."""
        self.details: tuple[LatencyDetails, ...] = ()

    def accepted(self, acks: Sequence[Ack], now: int) -> None:
        """Process an epoch that was accepted at ``now`` (ms since the epoch of Unix)."""
        if not self._interval or now - self._marked < self._interval:
            return
        self._marked = now
        for source, reached in self._reached.items():
            left = min((ack.time.began_at for ack in acks if ack.stage == source), default=None)
            if left is not None:
                self._arrived(source, left, (ack for ack in acks if ack.stage in reached))
        self.details = tuple(
            _details(self._uids[source], self._uids[stage], subtask, seen)
            for (source, stage, subtask), seen in self._seen.items()
        )

    def _arrived(self, source: int, left: float, acks: Iterable[Ack]) -> None:
        for ack in acks:
            key = source, ack.stage, ack.subtask
            seen = self._seen.setdefault(key, deque(maxlen=self._history))
            # clocks of two machines differ
            seen.append(max(ack.time.done_at - left, 0.0))


def _reached(program: Program, source: int) -> set[int]:
    """Stages that records of a source reach, the source's own stage included."""
    reached, left = {source}, [source]
    while left:
        stage = left.pop()
        new = {e.target_stage for e in program.edges if e.source_stage == stage} - reached
        reached |= new
        left += new
    return reached


def _details(source: str, stage: str, subtask: int, seen: Sequence[float]) -> LatencyDetails:
    ordered = sorted(seen)
    quantiles = quantiles_of(ordered)
    least, most = ordered[0], ordered[-1]
    return LatencyDetails(
        source, stage, subtask, len(seen), sum(ordered), least, most, quantiles, last=seen[-1]
    )
