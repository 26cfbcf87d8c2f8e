"""Base of operators whose subtasks compute results together, in rounds of steps.

In a step each subtask sends one bundle of messages to each other one, through a loop. It takes the
next step when it has the bundles of all. A bundle tells how many messages its sender has sent in
this step in all, so that every subtask knows when a phase is over, and all of them know it at the
same step: nobody coordinates them. A round has a number of phases. It begins when any subtask has
changes, and the others join with theirs. Further changes wait for the next round.

On resident tasks a subtask holds its barrier until all subtasks have all the input before the
barrier, and a round with this input is over. Then no message is under way, and results are those
of all changes before the barrier. With a Spark job per epoch each step takes an epoch, so that
results lag; what is needed to go on is in the state.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millrace.common.functions.output_tag import OutputTag
from millrace.common.types.batch import ImmutableRows
from millrace.graph.streams.changelog import SHARE, PacedOperator
from millrace.runtime.declared_state import DeclaredValue
from millrace.runtime.epoch import EpochContext
from millrace.runtime.operator_state_declaration import OperatorStateDeclaration
from millrace.runtime.operators.iteration import IterationHeadOperator
from millrace.state.redistribution_mode import RedistributionMode
from millrace.state.serialization.payload import decode, encode

__all__ = ["BUNDLES", "LockstepOperator", "Messages", "target_of"]

BUNDLES: OutputTag[Any] = OutputTag("bundles")
"""Output of the bundles, which are fed back."""
_MOST = 1 << 17
"""Most messages of a bundle that are sent in one piece."""


class Messages(NamedTuple):
    """Messages that a subtask sends to other subtasks.

    Args:
        rows: the messages.
        targets: subtask to which each goes.
    """

    rows: pa.RecordBatch
    targets: npt.NDArray[Any]


class _Bundle(NamedTuple):
    """Messages from one subtask to another in one step, or some of these messages.

    Args:
        target, sender: indices of subtasks.
        round, step: number of the round, and of the step in it.
        parts: number of parts of the bundle.
        sent: number of messages of the sender to all subtasks in this step.
        note: number of the sender's, which is added up.
        is_last: whether the round has all of the sender's input before a barrier.
        rows: encoded messages. None if there are none.
    """

    target: int
    sender: int
    round: int
    step: int
    parts: int
    sent: int
    note: int
    is_last: bool
    rows: bytes | None


_Place = tuple[int, int]
"""Numbers of a round and of a step in it."""


class _Progress(NamedTuple):
    """Progress of a subtask when an epoch ended.

    Args:
        parallelism: number of subtasks.
        round: number of the open round, or of the last one.
        open: encoded progress in the open round. None if there is none.
    """

    parallelism: int
    round: int
    open: bytes | None


def _merged(kept: list[tuple[int, int, bytes | None]]) -> tuple[int, int, bytes | None]:
    """Progress after a rescaling. A round that was open is not continued."""
    rounds = [_Progress(*progress) for progress in kept]
    is_open = any(progress.open is not None for progress in rounds)
    latest = max(progress.round for progress in rounds)
    return rounds[0].parallelism, latest, b"" if is_open else None


_PROGRESS = OperatorStateDeclaration("@progress", RedistributionMode.MERGE, _merged)


def target_of(subtask: int, count: int) -> int:
    """Number of the partition that carries bundles to a subtask."""
    return subtask


class LockstepOperator(PacedOperator, IterationHeadOperator):
    """Computes results in rounds, together with the other subtasks. It is the beginning of the loop
    that brings the messages.

    Args:
        loop: the loop.
    """

    operator_states = (*IterationHeadOperator.operator_states, _PROGRESS)
    phases = 1
    """Number of phases of a round."""
    message_schema: pa.Schema
    """Columns of the messages."""

    def __init__(self, loop: str) -> None:
        IterationHeadOperator.__init__(self, loop)

    # -- what is computed ------------------------------------------------------------------

    @abstractmethod
    def has_input(self) -> bool:
        """Whether changes have arrived that have not been processed in a round yet."""

    @abstractmethod
    def begin_phase(self, phase: int, anew: bool) -> Messages | None:
        """Begin a phase of a round. The first one takes the changes.

        Args:
            anew: whether the round computes everything anew, from all edges.
        """

    @abstractmethod
    def receive(self, phase: int, rows: pa.RecordBatch) -> Messages | None:
        """Process messages; returns the messages that follow from them."""

    @abstractmethod
    def end_round(self, note: int) -> None:
        """Emit the results. ``note`` is the sum of all subtasks' notes."""

    def note(self) -> int:
        """A number that is added up over all subtasks, in the last step of a round."""
        return 0

    @abstractmethod
    def progress(self) -> Any:
        """State of the open round that is in no table, and that a restored subtask needs to
        continue the round."""

    @abstractmethod
    def resume(self, progress: Any) -> None:
        """Continue a round after a restore."""

    # -- lifecycle -------------------------------------------------------------------------

    def open(self) -> None:
        PacedOperator.open(self)
        IterationHeadOperator.open(self)
        self._index, self._count = self.context.subtask_index, self.context.parallelism
        self._progress = DeclaredValue(self, _PROGRESS)
        self._is_at_barrier = self._is_released = False

    def restore(self) -> None:
        IterationHeadOperator.restore(self)
        kept = self._progress.get((self._count, 0, None))
        parallelism, self._round, saved = _Progress(*kept)
        self._phase = self._step = 0
        self._is_open = False
        self._bundles: dict[_Place, dict[int, list[_Bundle]]] = {}
        self._is_last = self._are_all_last = False
        self._seconds = 0.0
        self._anew = saved is not None and (parallelism != self._count or not saved)
        if saved and not self._anew:
            opened, bundles, progress = decode(saved)
            self._is_open, self._phase, self._step, self._anew = opened
            for bundle in bundles:
                self._keep(_Bundle(*bundle))
            if self._is_open:
                self.resume(progress)

    def begin_epoch(self, epoch: EpochContext) -> None:
        self._is_at_barrier = self._is_released = self._is_last = False
        IterationHeadOperator.begin_epoch(self, epoch)

    def has_changes(self) -> bool:
        return not self._is_open and (self._anew or self.has_input())

    def give_results(self) -> None:
        self._begin()
        self._advance()

    def end_epoch(self, ended: bool) -> None:
        PacedOperator.end_epoch(self, ended)
        saved = None
        if self._is_open or self._bundles:
            opened = self._is_open, self._phase, self._step, self._anew
            waiting = [
                tuple(part)
                for bundles in self._bundles.values()
                for parts in bundles.values()
                for part in parts
            ]
            saved = encode((opened, waiting, self.progress() if self._is_open else None))
        self._progress.put((self._count, self._round, saved))

    # -- barriers --------------------------------------------------------------------------

    @property
    def holds_barrier(self) -> bool:
        return self._count > 1 and not self._is_released

    def meet_barrier(self) -> None:
        if self._count > 1:
            self._is_at_barrier = True
            self._announce()
            self._advance()

    def _announce(self) -> None:
        """Begin a round that has all the input before the barrier, unless there was one."""
        is_told = self._is_last or self._is_released
        if self._is_at_barrier and not (self._is_open or is_told):
            self._begin()

    # -- rounds ----------------------------------------------------------------------------

    def feed(self, values: list[Any], timestamps: list[int] | None) -> None:
        self._went_round = True
        began = time.thread_time()  # the pace does not depend on other processes
        for value in values:
            bundle = _Bundle(*value)
            latest = self._round if self._is_open else self._round + 1
            if bundle.round >= latest:  # others are of before a rescaling
                self._keep(bundle)
        self._advance()
        self._seconds += time.thread_time() - began

    def _keep(self, bundle: _Bundle) -> None:
        bundles = self._bundles.setdefault((bundle.round, bundle.step), {})
        bundles.setdefault(bundle.sender, []).append(bundle)

    def _begin(self) -> None:
        """Begin a round, or join the others in it."""
        self._round += 1
        self._phase = self._step = 0
        self._is_open, self._is_last = True, self._is_at_barrier
        messages = self.begin_phase(0, self._anew)
        if self._count == 1:
            for phase in range(1, self.phases):
                self.begin_phase(phase, self._anew)
            self._finish(self.note())
        else:
            self._send(messages)

    def _advance(self) -> None:
        """Take steps as long as the bundles of all subtasks are there."""
        while True:
            if not self._is_open:
                if (self._round + 1, 0) not in self._bundles:
                    return
                self._begin()
            place = self._round, self._step
            bundles = self._bundles.get(place, {})
            if len(bundles) < self._count:
                return
            parts = [part for parts in bundles.values() for part in parts]
            if len(parts) < sum(several[0].parts for several in bundles.values()):
                return
            del self._bundles[place]
            self._take_step(parts, [several[0] for several in bundles.values()])

    def _take_step(self, parts: list[_Bundle], firsts: list[_Bundle]) -> None:
        if self._step == 0:
            self._are_all_last = all(bundle.is_last for bundle in firsts)
        if any(bundle.sent for bundle in firsts):
            messages = self.receive(self._phase, self._decoded(parts))
        elif self._phase + 1 < self.phases:
            self._phase += 1
            messages = self.begin_phase(self._phase, self._anew)
        else:
            self._finish(sum(bundle.note for bundle in firsts))
            return
        self._step += 1
        self._send(messages)

    def _finish(self, note: int) -> None:
        """End the round. If it had all the input of all subtasks, barriers may pass."""
        self._is_open = self._anew = False
        self.end_round(note)
        if self._are_all_last:
            self._is_released, self._are_all_last = True, False
        self._due = self.context.clock() + round(1000 * SHARE * self._seconds)
        self._seconds = 0.0
        self._announce()

    # -- bundles ---------------------------------------------------------------------------

    def _send(self, messages: Messages | None) -> None:
        """Send a bundle to each subtask."""
        sent = 0 if messages is None else len(messages.targets)
        note = self.note()
        made: list[Any] = []
        for target in range(self._count):
            pieces: list[bytes | None] = []
            if messages is not None:
                pieces += _pieces(messages, target)
            for rows in pieces or [None]:
                bundle = _Bundle(
                    target, self._index, self._round, self._step,
                    max(1, len(pieces)), sent, note, self._is_last, rows,
                )  # fmt: skip
                if target == self._index:
                    self._keep(bundle)
                else:
                    made.append(tuple(bundle))
        self.side_output(BUNDLES).emit(ImmutableRows(made, None))

    def _decoded(self, parts: list[_Bundle]) -> pa.RecordBatch:
        """Messages of several bundles."""
        schema = self.message_schema
        encoded = [pa.py_buffer(part.rows) for part in parts if part.rows is not None]
        rows = [pa.ipc.read_record_batch(buffer, schema) for buffer in encoded]
        return pa.concat_batches(rows) if rows else pa.RecordBatch.from_pylist([], schema)


def _pieces(messages: Messages, target: int) -> list[bytes]:
    """Encoded messages to a subtask."""
    chosen = np.flatnonzero(messages.targets == target)
    return [
        messages.rows.take(pa.array(chosen[start : start + _MOST])).serialize().to_pybytes()
        for start in range(0, chosen.size, _MOST)
    ]
