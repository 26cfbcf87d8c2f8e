"""The driver's side of loops: what is fed back, and when a loop has run dry."""

from __future__ import annotations

from collections.abc import Iterable

from millrace.common.errors import CheckpointError
from millrace.plan.job_graph import LoopNode
from millrace.runtime.epoch import Ack
from millrace.state.checkpoint.plain_shape import require
from millrace.state.serialization.payload import encode
from millrace.state.serialization.snapshot_codec import SAFE

_SNAPSHOT = tuple[dict[tuple[str, int], list[bytes]], list[str]]

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
        running = {ack.stage for ack in acks if not ack.ended}
        self._drained = {
            loop
            for loop, node in self._nodes.items()
            if holding.count(loop) == node.parallelism
            and not busy & node.body
            and not running & node.feeders
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
        """Part of every checkpoint; loops go by the uids of their heads there."""
        uid_of = {loop: node.uid for loop, node in self._nodes.items()}
        pending = {(uid_of[loop], index): b for (loop, index), b in self._pending.items()}
        return encode((pending, sorted(uid_of[loop] for loop in self._drained)))

    def restore(self, snapshot: bytes, allow_non_restored: bool = False) -> None:
        """Take over what `snapshot` gave; what goes round in a loop that the job does not have is
        left behind if ``allow_non_restored``.

        Raises CheckpointError when something goes round in a loop that the job does not have.
        """
        content = SAFE.decode(snapshot)
        try:
            require(content, _SNAPSHOT, "what goes round in loops")
        except TypeError as error:
            raise CheckpointError(f"the checkpoint is damaged: {error}") from error
        pending, drained = content
        loop_of = {node.uid: loop for loop, node in self._nodes.items()}
        if allow_non_restored:
            pending = {key: batches for key, batches in pending.items() if key[0] in loop_of}
        for uid, _ in pending:
            if uid not in loop_of:
                raise CheckpointError(
                    f"the checkpoint has records in an iteration with uid {uid}, which the job "
                    "does not have; it was made by another version of the job. Give operators "
                    "fixed uids, or leave the records behind with --allow-non-restored-state"
                )
        self._pending = {}
        for (uid, index), batches in sorted(pending.items()):
            loop = loop_of[uid]
            place = loop, index % self._nodes[loop].parallelism
            self._pending.setdefault(place, []).extend(batches)
        self._drained = {loop_of[uid] for uid in drained if uid in loop_of}
