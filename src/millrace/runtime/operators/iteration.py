"""Both ends of a loop: the tail collects the records to feed back, the head emits them.

Head and tail of the same index are in one worker process.

- On resident tasks, the head takes the records at once, until it has passed the barrier on. What
  the tail receives from then until its own barrier was in the loop when the epoch ended.
- With a Spark job per epoch, the head emits the records in the next epoch. If head and tail are
  chained, records go round within the epoch, up to `MAX_ROUNDS` times.

In both cases, the records that are left when the epoch ends are operator state of the tail, so they
are part of every checkpoint and are redistributed like any state. They are input of the next epoch.
The head delays the end of the input (the maximum watermark) until no records circulate any more.
"""

from __future__ import annotations

from typing import Any

from millrace.common.types.batch import RowBatch
from millrace.runtime.buffer import MAX_WATERMARK
from millrace.runtime.declared_state import DeclaredValue, declared_table
from millrace.runtime.epoch import Ack, EpochContext
from millrace.runtime.operator import LoopTail, Operator
from millrace.runtime.operator_state_declaration import OperatorStateDeclaration
from millrace.runtime.operators.feedback_queue import FeedbackQueue, Records
from millrace.state.internal_tables import FEEDBACK
from millrace.state.redistribution_mode import RedistributionMode
from millrace.state.serialization.payload import decode
from millrace.state.store import SubtaskState
from millrace.state.table_id import TableId


def _least_ended(kept: list[tuple[str, int]]) -> tuple[str, int]:
    """Ending state of a loop after a rescaling: the loop has ended only if it has ended in all
    former subtasks."""
    return min(kept, key=lambda ending: (ending[0] == "released", ending[1]))


_ENDING = OperatorStateDeclaration("@ended", RedistributionMode.MERGE, _least_ended)
"""Whether the end of the input is held or released, and the watermark before it."""


_FEEDBACK = OperatorStateDeclaration(FEEDBACK, RedistributionMode.SPLIT)
"""Encoded batches of records to feed back in the next epoch."""
MAX_ROUNDS = 64
"""Maximum number of rounds in a loop of chained operators within an epoch."""
_PIECE = 4096
"""Records that a head takes at once in such a round."""


def fed_back(state: SubtaskState, tail: str) -> list[bytes]:
    """Records that were fed back in the previous epoch, read from the state of the tail with this
    uid.
    """
    table = state.table(TableId(tail, _FEEDBACK.name), _FEEDBACK.table_kind)
    return [table.data[place] for place in sorted(table.data)]


class IterationHeadOperator(Operator):
    """Emits its input, and the records that are fed back."""

    operator_states: tuple[OperatorStateDeclaration, ...] = (_ENDING,)

    def __init__(self, loop: str) -> None:
        self.loop = loop
        self.tail: LoopTail | None = None
        """The tail, if it is in the same chain."""
        self._is_held = False
        """Whether the input has ended, and records may still circulate."""
        self._went_round = False
        """Whether records were fed back in this epoch."""
        self._feeds_at_once = False
        """Whether the executor takes records from the tail."""

    def open(self) -> None:
        self.tail = self.context.tails.get(self.loop)
        self._ending = DeclaredValue(self, _ENDING)

    def restore(self) -> None:
        ending, passed = self._ending.get(("", self.watermark))
        self._is_held = ending == "held"
        if self._is_held:
            self.watermark = passed

    @property
    def holds_end(self) -> bool:
        return self._is_held

    def output_idle(self, input_idle: bool) -> bool:
        return input_idle and not self._went_round

    def begin_epoch(self, epoch: EpochContext) -> None:
        self._feeds_at_once = epoch.feeds_at_once
        self._went_round = False
        for payload in epoch.feedback.get(self.loop, ()):
            self.feed(*decode(payload))
        if self.loop in epoch.drained and self._is_held:
            self._end("released")
            super().process_watermark(MAX_WATERMARK)

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        self.output.emit(RowBatch(values, timestamps))

    def process_watermark(self, timestamp: int) -> None:
        if timestamp == MAX_WATERMARK:
            self._end("held")
        else:
            super().process_watermark(timestamp)

    def meet_barrier(self) -> None:
        """Called on resident tasks when all input before a barrier has been processed. A head that
        holds the barrier still takes records that are fed back."""

    def feed(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Emit records that have been fed back."""
        self._went_round = True
        self.output.emit(RowBatch(values, timestamps))

    def flush(self) -> None:
        tail = self.tail
        if tail is None or self._feeds_at_once:
            return
        for _ in range(MAX_ROUNDS):
            left = tail.backlog
            if not left:
                break
            while left and (taken := tail.take(min(left, _PIECE))) is not None:
                left -= len(taken[0])
                self.feed(*taken)

    def end_epoch(self, ended: bool) -> None:
        self.flush()

    def _end(self, state: str) -> None:
        self._is_held = state == "held"
        self._ending.put((state, self.watermark))

    def contribute(self, ack: Ack) -> None:
        if self._is_held:
            ack.progress.ended = False
            ack.loops.held.append(self.loop)


class IterationTailOperator(Operator):
    """Collects the records to feed back. Records that are left at the end of an epoch become
    operator state.
    """

    operator_states = (_FEEDBACK,)

    def __init__(self, loop: str) -> None:
        self.loop = loop

    def open(self) -> None:
        self.context.tails[self.loop] = self
        self._table = declared_table(self, _FEEDBACK)
        self._queue = FeedbackQueue()
        self._feeds_at_once = False
        self._is_stored = False
        """Whether the table contains what waits in the queue."""
        self._records = 0

    def begin_epoch(self, epoch: EpochContext) -> None:
        self._feeds_at_once = epoch.feeds_at_once
        if not self._feeds_at_once:
            self._queue.clear()  # the head has read the table
        elif not self._is_stored:
            for payload in fed_back(self.context.state, self.context.uid):
                self._queue.put(*decode(payload))
        self._is_stored = False
        for place in list(self._table.data):
            self._table.remove(place)
        self._records = 0

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        self._queue.put(values, timestamps)

    @property
    def wants_barrier(self) -> bool:
        """Whether records wait for the next epoch."""
        return self.backlog > 0 and not self._feeds_at_once

    @property
    def backlog(self) -> int:
        """Number of records that wait for the head."""
        return self._queue.size

    def take(self, limit: int) -> Records | None:
        """Take at most ``limit`` records, which the head emits immediately. None if no records
        wait."""
        return self._queue.take(limit)

    def end_epoch(self, ended: bool) -> None:
        subtask = self.context.subtask_index
        for number, batch in enumerate(self._queue.encoded()):
            self._table.put((subtask, number), batch)
        self._records = self._queue.size
        self._is_stored = self._feeds_at_once
        if not self._feeds_at_once:
            self._queue.clear()

    def contribute(self, ack: Ack) -> None:
        if self._records:
            ack.loops.feedback[self.loop] = self._records

    def close(self) -> None:
        self._queue.clear()
