"""Feedback: records go from the tail of a loop to its head, in the same process.

A record goes back as soon as the head has a turn, and nothing is serialized. Before an epoch ends,
nothing has to be counted or awaited: once the head has passed the barrier on, it takes no more, and
the tail stores what arrives until it has the barrier too. That is what was in the loop when the
epoch ended. A head that holds the barrier takes records until it lets go of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from millrace.runtime.operator import Operator
from millrace.runtime.operators.feedback_queue import MOST_IN_MEMORY
from millrace.runtime.operators.iteration import IterationHeadOperator, IterationTailOperator

__all__ = ["Feedback", "FeedbackChannel", "feedback_channel"]


class FeedbackChannel:
    """Queue of records from the tail of a loop to its head."""

    def __init__(self, head: IterationHeadOperator, tail: IterationTailOperator) -> None:
        self._head = head
        self._tail = tail

    @property
    def backlog(self) -> int:
        """Number of records that wait in the channel."""
        return self._tail.backlog

    @property
    def holds_barrier(self) -> bool:
        """Whether the head holds its barrier back, and still takes records."""
        return self._head.holds_barrier

    def meet_barrier(self) -> None:
        """Tell the head that all input before a barrier has been processed."""
        self._head.meet_barrier()

    def step(self, limit: int) -> int:
        """Feed back at most ``limit`` records. Returns the number of records."""
        taken = self._tail.take(limit)
        if taken is None:
            return 0
        self._head.feed(*taken)
        return len(taken[0])


class Feedback:
    """All feedback channels of one subtask: one per loop that begins in the subtask.

    Args:
        most: records that may wait before new input has to wait for them.
    """

    def __init__(
        self, channels: Sequence[FeedbackChannel] = (), most: int = MOST_IN_MEMORY
    ) -> None:
        self._channels = list(channels)
        self._most = most
        self._next = 0
        self._is_turn = False

    @property
    def has_records(self) -> bool:
        """Whether records wait."""
        return any(channel.backlog for channel in self._channels)

    @property
    def is_full(self) -> bool:
        """Whether so many records wait that new input must wait, too."""
        return sum(channel.backlog for channel in self._channels) >= self._most

    @property
    def holds_barrier(self) -> bool:
        """Whether the barrier must wait for records that are still being fed back."""
        return any(channel.holds_barrier for channel in self._channels)

    def meet_barrier(self) -> None:
        """Tell the heads that all input before a barrier has been processed."""
        for channel in self._channels:
            channel.meet_barrier()

    def takes_turn(self) -> bool:
        """Whether the next turn belongs to feedback: feedback and input alternate."""
        self._is_turn = not self._is_turn
        return self._is_turn

    def step(self, limit: int) -> int | None:
        """Process at most ``limit`` records of one loop; loops take turns. Returns the number of
        records; None if no records wait.
        """
        for _ in self._channels:
            channel = self._channels[self._next]
            self._next = (self._next + 1) % len(self._channels)
            count = channel.step(limit)
            if count:
                return count
        return None


def feedback_channel(
    loop: str, heads: Sequence[Operator], tails: Sequence[Operator]
) -> FeedbackChannel:
    """Feedback channel of a loop: its head and its tail may be in one chain or in two."""
    head = next(op for op in heads if isinstance(op, IterationHeadOperator) and op.loop == loop)
    tail = next(op for op in tails if isinstance(op, IterationTailOperator) and op.loop == loop)
    return FeedbackChannel(head, tail)
