"""What can be seen of a running job, epoch by epoch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from millrace.common.functions.accumulators import Accumulator, merge_all
from millrace.runtime.buffer import MAX_WATERMARK, MIN_WATERMARK
from millrace.runtime.epoch import Ack
from millrace.runtime.metrics import Summary


@dataclass
class Progress:
    """Totals of a run so far."""

    job_name: str = ""
    epoch: int = 0
    epochs: int = 0
    """Accepted in this run."""
    checkpoint: int | None = None
    """Number of the newest checkpoint."""
    records: int = 0
    """Read from sources in this run."""
    records_per_second: float = 0.0
    """In the last epoch."""
    watermark: int | None = None
    """The lowest of all stages that have one, ms since the epoch; None before the first."""
    epoch_ms: float = 0.0
    restarts: int = 0
    refused: int = 0
    """Epochs that had to run again because their answers did not fit together."""
    cached: dict[str, int] = field(default_factory=dict)
    """How subtasks found their state: current, replayed, restored, new."""
    metrics: dict[str, dict[int, dict[str, Any]]] = field(default_factory=dict)
    """The functions' own metrics: per operator uid and subtask."""
    accumulators: dict[str, Accumulator[Any, Any]] = field(default_factory=dict)
    """By name, over all operators and subtasks."""
    _counted: set[tuple[str, str]] = field(default_factory=set)
    """(operator uid, name) of the metrics that count."""

    def observe(self, acks: list[Ack], source_stages: set[int], epoch_ms: float) -> None:
        """An epoch has been accepted."""
        read = sum(ack.records_in for ack in acks if ack.stage in source_stages)
        self.epochs += 1
        self.records += read
        self.epoch_ms = epoch_ms
        self.records_per_second = read / max(epoch_ms, 1e-3) * 1000
        marks = [ack.watermark for ack in acks if MIN_WATERMARK < ack.watermark < MAX_WATERMARK]
        if marks:
            self.watermark = min(marks)
        for ack in acks:
            self.cached[ack.cached] = self.cached.get(ack.cached, 0) + 1
            self._observe_metrics(ack)
            merge_all(self.accumulators, ack.accumulators)

    def forget_gauges(self) -> None:
        """The job goes on with other subtasks, which tell theirs anew; what was counted stays."""
        for uid, by_subtask in self.metrics.items():
            for subtask, values in by_subtask.items():
                kept = {name: v for name, v in values.items() if (uid, name) in self._counted}
                by_subtask[subtask] = kept

    def _observe_metrics(self, ack: Ack) -> None:
        for uid, values in ack.metrics.items():
            known = self.metrics.setdefault(uid, {}).setdefault(ack.subtask, {})
            for name, value in values.items():
                before = known.get(name)
                if isinstance(value, Summary) and isinstance(before, Summary):
                    value = before.plus(value)
                known[name] = value
        for uid, counts in ack.counts.items():
            known = self.metrics.setdefault(uid, {}).setdefault(ack.subtask, {})
            for name, count in counts.items():
                self._counted.add((uid, name))
                known[name] = known.get(name, 0) + count


Listener = Callable[[Progress], None]
"""Called after every accepted epoch, in the engine's thread; must be quick."""
