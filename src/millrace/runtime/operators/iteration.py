"""Both ends of a loop: the tail collects the records to feed back, the head emits them in the next
epoch.

The records that the tail takes in epoch n are its operator state, so they are part of every
checkpoint and are redistributed like any state. In epoch n + 1 the head with the same index reads
them there; both are in one worker process. If head and tail are chained, records go round within
the epoch, up to `MAX_ROUNDS` times. The head delays the end of the input (the maximum watermark)
until no records circulate any more.
"""

from __future__ import annotations

from typing import Any

from millrace.common.types.batch import RowBatch
from millrace.runtime.buffer import MAX_WATERMARK
from millrace.runtime.declared_state import DeclaredValue, declared_table
from millrace.runtime.epoch import Ack, EpochContext
from millrace.runtime.operator import LoopTail, Operator
from millrace.runtime.operator_state_declaration import OperatorStateDeclaration
from millrace.state.internal_tables import FEEDBACK
from millrace.state.redistribution_mode import RedistributionMode
from millrace.state.serialization.payload import decode, encode
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
_BATCH = 4096
"""Approximate number of records in one element of that list."""
MAX_ROUNDS = 64
"""Maximum number of rounds in a loop of chained operators within an epoch."""

Taken = list[tuple[list[Any], list[int] | None]]
"""Batches of records with their event times."""


def fed_back(state: SubtaskState, tail: str) -> list[bytes]:
    """Records fed back in the epoch before, from the state of the tail with this uid."""
    table = state.table(TableId(tail, _FEEDBACK.name), _FEEDBACK.table_kind)
    return [table.data[place] for place in sorted(table.data)]


class IterationHeadOperator(Operator):
    """Emits its input, and the records fed back in the epoch before."""

    operator_states = (_ENDING,)

    def __init__(self, loop: str) -> None:
        self.loop = loop
        self.tail: LoopTail | None = None
        """The tail, if it is in the same chain."""
        self._went_round = False
        """Whether records were fed back in this epoch."""

    def open(self) -> None:
        self.tail = self.context.tails.get(self.loop)
        self._ending = DeclaredValue(self, _ENDING)

    def restore(self) -> None:
        ending, passed = self._ending.get(("", self.watermark))
        self.holds_end = ending == "held"
        if self.holds_end:
            self.watermark = passed

    def output_idle(self, input_idle: bool) -> bool:
        return input_idle and not self._went_round

    def begin_epoch(self, epoch: EpochContext) -> None:
        feedback = epoch.feedback.get(self.loop, ())
        self._went_round = bool(feedback)
        for payload in feedback:
            values, timestamps = decode(payload)
            self.output.emit(RowBatch(values, timestamps))
        if self.loop in epoch.drained and self.holds_end:
            self._end("released")
            super().process_watermark(MAX_WATERMARK)

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        self.output.emit(RowBatch(values, timestamps))

    def process_watermark(self, timestamp: int) -> None:
        if timestamp == MAX_WATERMARK:
            self._end("held")
        else:
            super().process_watermark(timestamp)

    def flush(self) -> None:
        for _ in range(MAX_ROUNDS if self.tail is not None else 0):
            taken = self.tail.take() if self.tail is not None else []
            for values, timestamps in taken:
                self._went_round = True
                self.output.emit(RowBatch(values, timestamps))
            if not taken:
                break

    def end_epoch(self, ended: bool) -> None:
        self.flush()

    def _end(self, state: str) -> None:
        self.holds_end = state == "held"
        self._ending.put((state, self.watermark))

    def contribute(self, ack: Ack) -> None:
        if self.holds_end:
            ack.progress.ended = False
            ack.loops.held.append(self.loop)


class IterationTailOperator(Operator):
    """Collects the records to feed back, and keeps them as operator state until the next epoch."""

    operator_states = (_FEEDBACK,)

    def __init__(self, loop: str) -> None:
        self.loop = loop

    def open(self) -> None:
        self.context.tails[self.loop] = self
        self._table = declared_table(self, _FEEDBACK)
        self._taken: Taken = []
        self._records = 0

    def begin_epoch(self, epoch: EpochContext) -> None:
        for place in list(self._table.data):
            self._table.remove(place)
        self._taken = []
        self._records = 0

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        self._taken.append((values, timestamps))

    @property
    def wants_barrier(self) -> bool:
        """Whether records wait for the next epoch."""
        return bool(self._taken)

    def take(self) -> Taken:
        """Take the records fed back so far in this epoch, to emit them at once."""
        taken, self._taken = self._taken, []
        return taken

    def end_epoch(self, ended: bool) -> None:
        subtask = self.context.subtask_index
        for number, batch in enumerate(_gathered(self._taken)):
            self._table.put((subtask, number), encode(batch))
            self._records += len(batch[0])
        self._taken = []

    def contribute(self, ack: Ack) -> None:
        if self._records:
            ack.loops.feedback[self.loop] = self._records


def _gathered(taken: Taken) -> Taken:
    """The same records, joined to fewer batches."""
    gathered: Taken = []
    for values, timestamps in taken:
        last_values, last_times = gathered[-1] if gathered else (None, None)
        fits = last_values is not None and len(last_values) < _BATCH
        if fits and (last_times is None) is (timestamps is None):
            assert last_values is not None
            last_values += values
            if last_times is not None and timestamps is not None:
                last_times += timestamps
        else:
            gathered.append((list(values), None if timestamps is None else list(timestamps)))
    return gathered
