"""Enumerator of a queue's consumers: one split for each subtask, or a single split."""

from __future__ import annotations

from collections.abc import Sequence

from millrace.common.source import EnumeratorContext, SourceSplit, SplitEnumerator

__all__ = ["QueueEnumerator"]


class QueueEnumerator(SplitEnumerator):
    """Gives each subtask a consumer of the queue.

    Args:
        single: whether the job has only one consumer. Each consumer remembers its own ids, so a
            redelivered message must go to the same consumer.
    """

    def __init__(self, single: bool) -> None:
        self._single = single
        self._made = 0

    def start(self, context: EnumeratorContext) -> None:
        self._wanted = 1 if self._single else context.parallelism

    def discover(self, now: int) -> Sequence[SourceSplit]:
        new = [SourceSplit(f"consumer-{number}") for number in range(self._made, self._wanted)]
        self._made = max(self._made, self._wanted)
        return new

    def no_more_splits(self) -> bool:
        return False

    def snapshot_state(self) -> int:
        return self._made

    def restore_state(self, state: int) -> None:
        self._made = state
