"""Sink operator: drives a writer through epochs, and sends its committables to the engine."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from itertools import groupby
from operator import attrgetter
from typing import Any

from millrace.common.errors import JobExecutionError, SerializationError, StateError
from millrace.common.sink import (
    CommitMode,
    CommitRequest,
    CommitterContext,
    Sink,
    SinkWriter,
    SupportsOrphanSweep,
    WriterContext,
    WriterEpoch,
)
from millrace.common.types.batch import ColumnBatch, RowBatch
from millrace.runtime.committing import Committing
from millrace.runtime.declared_state import declared_table
from millrace.runtime.epoch import Ack, CommitPlan, EpochContext, Uncommitted
from millrace.runtime.metrics import RegisteredGroup
from millrace.runtime.operator import Operator
from millrace.runtime.operator_state_declaration import OperatorStateDeclaration
from millrace.state.operator_table import OperatorTable
from millrace.state.redistribution_mode import RedistributionMode
from millrace.state.serialization.payload import decode, encode
from millrace.state.table_id import TableId

_REASON_LENGTH = 1_000
_WRITERS = OperatorStateDeclaration("@writer", RedistributionMode.SPLIT, dropped_on_fork=True)
"""State of the writer, or of several writers if there are fewer subtasks now. Uncommitted data of a
parent job stays with the parent."""


class SinkOperator(Operator):
    """Writes with a `Sink`'s writer, and passes on its committables."""

    operator_states = (_WRITERS,)

    def __init__(self, sink: Sink[Any]) -> None:
        self._sink = sink
        self.takes = sink.takes

    def open(self) -> None:
        self._place = (self.context.subtask_index, 0)
        self._writer: SinkWriter[Any] | None = None
        self._writing: SinkWriter[Any] | None = None
        """The writer, in an epoch that it takes part in."""
        self._kept: bytes | None = None
        """Encoded state of the writer, as known to be in the table."""
        self._committables: list[bytes] = []
        self._returned: list[Any] = []
        """Parts of the last epoch's committables that can change: their list, and the first."""
        self._is_flushed = True
        """Whether the writer, if there is one, was told that nothing may stay open."""
        self._wakeup: int | None = None
        self._asked = False
        self._completed: int | None = None
        self._metrics = RegisteredGroup(self.context.metrics)
        self._logger = logging.getLogger(f"millrace.sink.{self.context.name}")
        self._commits_here = self._sink.commit_mode is CommitMode.IN_SUBTASK
        self._committing: Committing | None = None
        self._uncommitted: Uncommitted | None = None
        self._epoch = EpochContext(0, 0)

    def restore(self) -> None:
        # another worker may have opened or closed parts: ask when the next is due
        self._asked, self._wakeup = False, None
        self._kept = None
        self._drop_writer()
        self._told: tuple[str, ...] | None = None

    def begin_epoch(self, epoch: EpochContext) -> None:
        self._epoch = epoch
        self._committables = []
        if not self._asked:
            self._merge_states()
        commits = epoch.commits.get(self.context.uid)
        self._uncommitted = self._commit(commits) if commits else None

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        if self._writing is None:
            self._completed = checkpoint_id
        else:  # the epoch has begun ahead of its plan
            self._writing.notify_checkpoint_complete(checkpoint_id)

    def _commit(self, commits: Sequence[CommitPlan]) -> Uncommitted | None:
        """Commit the committables of the plan, those of each checkpoint when all older ones are
        committed, and return the ones to retry. None if there are none."""
        committing = self._committing or self._create_committing()
        tried = 0
        for _, of_turn in groupby(commits, attrgetter("turn")):
            requests = [CommitRequest(decode(i.committable)[1], i.retries) for i in of_turn]
            left = committing.attempt(requests)
            tried += len(requests)
            if left:
                error = next((request.error for request in left if request.error), None)
                reason = "" if error is None else f"{type(error).__name__}: {error}"
                again = [self._encoded(request.committable) for request in left]
                return Uncommitted(again, reason[:_REASON_LENGTH], len(commits) - tried)
        return None

    def _create_committing(self) -> Committing:
        context = CommitterContext(
            self.context.subtask_index,
            self.context.parallelism,
            self._writer or self._create_writer(),
            self._metrics,
            self._logger,
        )
        committer = self._sink.create_committer(context)
        if committer is None:
            raise JobExecutionError(
                f"sink '{self.context.name}' has committables but create_committer() returns None"
            )
        self._committing = Committing(self.context.name, committer, self._metrics, self._logger)
        return self._committing

    def _merge_states(self) -> None:
        """Merge the writer states of a former parallelism, of which a subtask may get several."""
        table = self._table()
        places = sorted(table.data) if table is not None else []
        if table is not None and places not in ([], [self._place]):
            states = [table.get(place) for place in places]
            for place in places:
                table.remove(place)
            table.put(self._place, self._sink.merge_writer_states(states))

    def _table(self, made: bool = False) -> OperatorTable | None:
        """Table of the writer state. None if the sink's writers have no state."""
        known = TableId(self.context.uid, _WRITERS.name) in self.context.state.tables
        return declared_table(self, _WRITERS) if known or made else None

    def _state(self) -> Any:
        table = self._table()
        return None if table is None else table.data.get(self._place)

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        writer = self._writing or self._begin_writing()
        writer.write(RowBatch(values, timestamps))

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        writer = self._writing or self._begin_writing()
        writer.write_columns(batch)

    def _create_writer(self) -> SinkWriter[Any]:
        table = self._table()
        state = None if table is None else table.get(self._place)
        context = WriterContext(
            subtask_index=self.context.subtask_index,
            parallelism=self.context.parallelism,
            run_id=self.context.run_id,
            directory=self._epoch.directory,
            metrics=self._metrics,
            logger=self._logger,
            current_time=self.context.clock,
            uid=self.context.uid,
        )
        self._writer = self._sink.create_writer(context, state)
        return self._writer

    def _begin_writing(self) -> SinkWriter[Any]:
        """The writer, after its `begin_epoch` for the current epoch was called."""
        writer = self._writing = self._writer or self._create_writer()
        epoch = self._epoch
        attempt = f"{epoch.attempt}-{self.context.place}"
        writer.begin_epoch(WriterEpoch(epoch.number, attempt, epoch.now))
        if self._completed is not None:
            writer.notify_checkpoint_complete(self._completed)
            self._completed = None
        return writer

    def _drop_writer(self) -> None:
        """Close the writer, and the committer, which may use the writer's connection."""
        for part in (self._committing, self._writer):
            if part is not None:
                with suppress(Exception):
                    part.close()
        self._committing = self._writer = self._writing = None
        self._returned, self._is_flushed = [], True

    def end_epoch(self, ended: bool) -> None:
        ended = ended or self._epoch.leaves_nothing_open
        if self._writing is None and not self._wanted(ended):
            return
        writer = self._writing or self._begin_writing()
        writer.flush(ended)
        committables = writer.prepare_commit(ended)
        self._require_new(committables, writer)
        self._committables = [self._encoded(item) for item in committables]
        self._keep(writer.snapshot_state())
        self._wakeup = writer.next_wakeup()
        self._writing, self._is_flushed = None, ended

    def _require_new(self, committables: Sequence[Any], writer: SinkWriter[Any]) -> None:
        """Refuse objects that `prepare_commit` already returned for the epoch before. A writer
        that keeps adding to one list would have its records committed again in every epoch."""
        before = self._returned
        objects = (committables, committables[0]) if committables else ()
        self._returned = [thing for thing in objects if isinstance(thing, list | dict)]
        if any(new is old for new in self._returned for old in before):
            raise StateError(
                f"{type(writer).__name__}.prepare_commit() of sink '{self.context.name}' returned "
                "an object that it had returned for the epoch before. A writer lives for many "
                "epochs: begin each with a new list, in begin_epoch() or when prepare_commit() "
                "returns"
            )

    def _encoded(self, committable: Any) -> bytes:
        if self._commits_here:
            # the checkpoint alone must tell which subtask commits it
            committable = (self.context.subtask_index, committable)
        try:
            return encode(committable)
        except SerializationError as error:
            raise SerializationError(
                f"a committable of sink '{self.context.name}' cannot be written: {error}; keep "
                "plain data in it"
            ) from error

    def _keep(self, state: Any) -> None:
        self._asked = True
        table = self._table(made=state is not None)
        if table is None:
            return
        if state is None:
            table.remove(self._place)
            self._kept = None
            return
        # the writer may go on changing what it returned: the table gets a copy
        encoded = encode(state)
        if encoded != self._kept:
            self._kept = encoded
            table.put(self._place, decode(encoded))

    def _wanted(self, ended: bool) -> bool:
        """Whether the writer must run although there are no new records: it is due, its data
        must be flushed at the end of the input, or its state was restored and its due time is
        unknown."""
        due = self.wants_barrier
        has_state = self._state() is not None
        unflushed = ended and not self._is_flushed
        return due or unflushed or (has_state and (ended or not self._asked))

    def contribute(self, ack: Ack) -> None:
        if self._committables:
            ack.committing.committables[self.context.uid] = self._committables
        if self._uncommitted is not None:
            ack.committing.uncommitted[self.context.uid] = self._uncommitted
        if isinstance(self._sink, SupportsOrphanSweep):
            files = tuple(self._sink.work_files(self._state()))
            if files != self._told:
                ack.committing.work_files[self.context.uid] = self._told = files

    def next_wakeup(self) -> int | None:
        return self._wakeup

    @property
    def wants_barrier(self) -> bool:
        """Whether the writer needs a new epoch, for example to close a file."""
        return self._wakeup is not None and self._wakeup <= self.context.clock()

    def close(self) -> None:
        if hasattr(self, "_writer"):  # it was opened
            self._drop_writer()
