"""The driver's side of loops: what is fed back, and when a loop has run dry."""

from __future__ import annotations

from collections.abc import Iterable

from millrace.common.payload import decode, encode
from millrace.plan.job_graph import LoopNode
from millrace.runtime.epoch import Ack

Place = tuple[int, int]
"""(stage, subtask)."""


class FeedbackCoordinator:
    """Carries what tails took in one epoch to the heads in the next."""

    def __init__(self, nodes: Iterable[LoopNode]) -> None:
        self._nodes = {node.loop: node for node in nodes}
        self._pending: dict[tuple[str, int], list[bytes]] = {}
        """Per (loop, head subtask): encoded batches of records."""
        self._drained: set[str] = set()

    @property
    def pending(self) -> bool:
        """Whether anything has to be fed back."""
        return bool(self._pending)

    @property
    def has_news(self) -> bool:
        """Whether the next epoch has something to do because of a loop."""
        return self.pending or bool(self._drained)

    def accept(self, acks: list[Ack]) -> None:
        """An epoch has been accepted: what it was fed has been used, what it took is next."""
        self._pending = {
            (loop, ack.subtask): batches for ack in acks for loop, batches in ack.feedback.items()
        }
        holding = [loop for ack in acks for loop in ack.held]
        # requests and timers inside a loop may still give what goes round
        busy = {ack.stage for ack in acks if ack.next_wakeup is not None}
        busy |= {self._nodes[loop].stage for loop, _ in self._pending}
        self._drained = {
            loop
            for loop, node in self._nodes.items()
            if holding.count(loop) == node.parallelism and not busy & node.body
        }

    def feedback(self, place: Place) -> dict[str, tuple[bytes, ...]]:
        """Per loop, what is fed back to the heads in a subtask."""
        stage, subtask = place
        found = {
            loop: tuple(self._pending.get((loop, subtask), ()))
            for loop, node in self._nodes.items()
            if node.stage == stage
        }
        return {loop: batches for loop, batches in found.items() if batches}

    def drained(self, stage: int) -> tuple[str, ...]:
        """The loops with their head in a stage that nothing goes round in any more."""
        return tuple(loop for loop in sorted(self._drained) if self._nodes[loop].stage == stage)

    def snapshot(self) -> bytes:
        """Part of every checkpoint."""
        return encode((self._pending, sorted(self._drained)))

    def restore(self, snapshot: bytes) -> None:
        """Take over what `snapshot` gave."""
        pending, drained = decode(snapshot)
        self._pending = {place: b for place, b in pending.items() if place[0] in self._nodes}
        self._drained = {loop for loop in drained if loop in self._nodes}
