"""Common base of the enumerators of DataFrames. They offer one batch at a time, and the lanes of
the source read its partitions.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from millrace.common.errors import JobExecutionError
from millrace.common.source import (
    BatchDelivery,
    Consumed,
    EnumeratorContext,
    Lane,
    SourceEvent,
    SplitEnumerator,
)

if TYPE_CHECKING:
    from millrace.spark.feeds import BatchFeed

__all__ = ["LaneEnumerator"]


class LaneEnumerator(SplitEnumerator):
    """Offers one batch per epoch, and tracks the consumed batches.

    A lane is a split that lasts as long as the source: watermarks are made per lane. There are as
    many as batches have had partitions, at most one per subtask: a lane that never had a partition
    would hold event time back.
    """

    def __init__(self) -> None:
        self._lanes = 0
        self._offered: BatchDelivery | None = None
        """The batch for an epoch to consume; None if the last batch was consumed."""
        self._answers: dict[int, int] = {}
        """Number of records of the last batch, by subtask."""

    def start(self, context: EnumeratorContext) -> None:
        self._context = context

    @property
    @abstractmethod
    def _feed(self) -> BatchFeed:
        """Feed that holds the offered batches."""

    @abstractmethod
    def _consumed(self, delivery: BatchDelivery) -> None:
        """Handle a batch that was read, as of the next checkpoint."""

    def _offer(self, delivery: BatchDelivery) -> Sequence[Lane]:
        """Offer a batch to all subtasks, and return the additional lanes that it needs."""
        self._offered = delivery
        self._answers.clear()
        for subtask in range(self._context.parallelism):
            self._context.send_source_event(subtask, delivery)
        wanted = min(len(delivery.partitions), self._context.parallelism)
        new = [Lane(f"lane-{number}", number) for number in range(self._lanes, wanted)]
        self._lanes = max(self._lanes, wanted)
        return new

    def handle_source_event(self, subtask: int, event: SourceEvent) -> None:
        assert isinstance(event, Consumed)
        if event.feed != self._feed.id:
            return
        self._answers[subtask] = event.records
        offered = self._offered
        if offered is not None and offered.batch == event.batch:
            if self._feed.delivered != event.batch:
                raise JobExecutionError(
                    "from_spark() reads DataFrames on Spark only: this job runs in the process of "
                    "the program, as tests do; give it its records by from_collection()"
                )
            self._offered = None
            self._feed.batches.pop(event.batch, None)
            self._consumed(offered)
