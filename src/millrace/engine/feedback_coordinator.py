"""Driver's side of loops: whether records are in a loop, and when a loop has run dry."""

from __future__ import annotations

from collections.abc import Iterable

from millrace.job_graph.job_graph import LoopNode
from millrace.runtime.epoch import Ack


class FeedbackCoordinator:
    """Counts the records that were in loops when the last epoch ended; the records themselves are
    in the tails' state.

    The counts are not part of checkpoints: the first epoch after a restore reports them again.
    """

    def __init__(self, nodes: Iterable[LoopNode]) -> None:
        self._nodes = {node.loop: node for node in nodes}
        self._pending: dict[str, int] = {}
        """Number of records in each loop that has records."""
        self._drained: set[str] = set()

    @property
    def pending(self) -> bool:
        """Whether any records have to be fed back."""
        return bool(self._pending)

    @property
    def has_run_dry(self) -> bool:
        """Whether the next epoch must tell a loop's head that the loop has run dry."""
        return bool(self._drained)

    @property
    def has_news(self) -> bool:
        """Whether a loop gives the next epoch something to do."""
        return self.pending or bool(self._drained)

    def accept(self, acks: list[Ack]) -> None:
        """Process an accepted epoch: count the records that the next epoch feeds back, and find
        the loops that have run dry."""
        self._pending = {}
        for ack in acks:
            for loop, records in ack.loops.feedback.items():
                self._pending[loop] = self._pending.get(loop, 0) + records
        holding = [loop for ack in acks for loop in ack.loops.held]
        # requests and timers inside a loop may still give what goes round
        busy = {
            ack.stage
            for ack in acks
            if ack.progress.next_wakeup is not None or ack.loops.waits_for_requests
        }
        busy |= {self._nodes[loop].stage for loop in self._pending}
        running = {ack.stage for ack in acks if not ack.progress.ended}
        self._drained = {
            loop
            for loop, node in self._nodes.items()
            if holding.count(loop) == node.parallelism
            and not busy & node.body
            and not running & node.feeders
        }

    def drained(self, stage: int) -> tuple[str, ...]:
        """Loops with their head in ``stage`` that have no records left."""
        return tuple(loop for loop in sorted(self._drained) if self._nodes[loop].stage == stage)
