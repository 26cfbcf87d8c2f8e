"""Both ends of a loop: the tail takes what is to be fed back, the head emits it in the next epoch.

What the tail takes in epoch n travels with its acknowledgement and the plan of epoch n + 1, and is
part of every checkpoint in between. The end of the input (the maximum watermark) is held at the
head until nothing goes round any more.
"""

from __future__ import annotations

from typing import Any

from millrace.common.types.batch import RowBatch
from millrace.runtime.buffer import MAX_WATERMARK
from millrace.runtime.declared_state import DeclaredValue
from millrace.runtime.epoch import Ack
from millrace.runtime.operator import Operator
from millrace.runtime.operator_state_declaration import OperatorStateDeclaration
from millrace.state.redistribution_mode import RedistributionMode


def _least_ended(kept: list[tuple[str, int]]) -> tuple[str, int]:
    """The loop is over when it is over for all."""
    return min(kept, key=lambda ending: (ending[0] == "released", ending[1]))


_ENDING = OperatorStateDeclaration("@ended", RedistributionMode.MERGE, _least_ended)
"""Whether the end of the input is held or released, and the watermark before it."""


class IterationHeadOperator(Operator):
    """Emits its input, and what was fed back in the epoch before."""

    operator_states = (_ENDING,)

    def __init__(self, loop: str) -> None:
        self.loop = loop
        self.feedback: tuple[bytes, ...] = ()
        """What was fed back to this subtask; set before each epoch."""
        self.drained = False
        """Whether nothing goes round any more and the inputs have ended; set before each epoch."""

    def open(self) -> None:
        self._ending = DeclaredValue(self, _ENDING)

    def restore(self) -> None:
        ending, passed = self._ending.get(("", self.watermark))
        self.holds_end = ending == "held"
        if self.holds_end:
            self.watermark = passed

    def idle_after(self, idle: bool) -> bool:
        return idle and not self.feedback

    def begin_epoch(self, epoch: int, now: int) -> None:
        for payload in self.feedback:
            values, timestamps = self.context.state.codec.decode(payload)
            self.output.emit(RowBatch(values, timestamps))
        if self.drained and self.holds_end:
            self._end("released")
            super().process_watermark(MAX_WATERMARK)

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        self.output.emit(RowBatch(values, timestamps))

    def process_watermark(self, timestamp: int) -> None:
        if timestamp == MAX_WATERMARK:
            self._end("held")
        else:
            super().process_watermark(timestamp)

    def _end(self, state: str) -> None:
        self.holds_end = state == "held"
        self._ending.put((state, self.watermark))

    def contribute(self, ack: Ack) -> None:
        if self.holds_end:
            ack.ended = False
            ack.held.append(self.loop)


class IterationTailOperator(Operator):
    """Takes what is to be fed back."""

    def __init__(self, loop: str) -> None:
        self._loop = loop

    def open(self) -> None:
        self._taken: list[bytes] = []

    def begin_epoch(self, epoch: int, now: int) -> None:
        self._taken = []

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        self._taken.append(self.context.state.codec.encode((values, timestamps)))

    def contribute(self, ack: Ack) -> None:
        if self._taken:
            ack.feedback[self._loop] = self._taken
