"""A source that follows the committed state of another job: a table as a stream.

It reads what the other job's checkpoints hold, needs nothing of that job but its directory, and
never makes it wait. Semantics: Flink docs, "Dynamic Tables", for the kinds of changes; the rest has
no counterpart there.

The source alone gives *updates*: the present value of a key, or that it is gone. After a recovery
it may have to begin with all keys again, followed by a `CopyComplete`. `StateChangelog`, which
keeps a copy in keyed state, makes exact changes of that; `env.state_changes` joins the two.
"""

from __future__ import annotations

import logging
import os
from collections import deque
from contextlib import suppress

from millrace.common.errors import CheckpointCorruptError, JobDefinitionError, JobExecutionError
from millrace.common.source import (
    Boundedness,
    ReaderContext,
    SourceSplit,
    SplitEnumerator,
    SplitReader,
    SplitSource,
    StaticEnumerator,
)
from millrace.common.time.amounts import Duration, Time, millis
from millrace.common.types.batch import RowBatch
from millrace.connectors.state_changes import CopyComplete, StatePosition, StateUpdate
from millrace.engine.job_identity import job_id_of
from millrace.filesystem.location import is_local
from millrace.filesystem.registry import resolved
from millrace.state.alike import alike
from millrace.state.checkpoint.directory import complete_checkpoints, metadata_path
from millrace.state.checkpoint.files import StrPath
from millrace.state.checkpoint.manifest import Manifest, read_manifest
from millrace.state.checkpoint.snapshot import open_snapshot
from millrace.state.frozen import MISSING
from millrace.state.kinds.table_kind import TableKind
from millrace.state.snapshot_reader import SnapshotReader
from millrace.state.state_follower import StateFollower, TableChanges
from millrace.state.table_id import TableId
from millrace.state.table_kinds import FLAT

__all__ = ["StateChangesReader", "StateChangesSource"]

log = logging.getLogger(__name__)

POLL_MS = 1_000
"""Milliseconds between two searches for a checkpoint, unless set."""


class StateChangesSource(SplitSource[StateUpdate | CopyComplete]):
    """The updates of one keyed state of another job. Its checkpoints must be trusted, because
    reading a checkpoint can run code from its author.

    Args:
        directory: the job's own directory, or with ``job_name`` the checkpoint directory it is in.
        uid: uid of the operator, or its name if only one has it.
        state_name: of the state; value, reducing, aggregating (its accumulator), list or map state.
        job_name: the job's name.
        bounded: give what the newest checkpoint holds, and end; fails if the operator has other
            states there, but not this one.
        poll_interval: time between searches for a new checkpoint. None for a second; on resident
            tasks, directories on disks and mounts of the machine are then looked at within 50 ms.

    Unless bounded, it ends when the other job has finished. Event times are the times of the
    checkpoints.

    Raises:
        JobDefinitionError: the interval is not positive, or a name is empty.

    Example:
        >>> source = StateChangesSource("/data/checkpoints", "count", "clicks", job_name="clicks")
        >>> source.boundedness.name
        'CONTINUOUS_UNBOUNDED'
    """

    def __init__(
        self,
        directory: StrPath,
        uid: str,
        state_name: str,
        job_name: str | None = None,
        *,
        bounded: bool = False,
        poll_interval: Duration | Time | int | None = None,
    ) -> None:
        if not uid or not state_name:
            raise JobDefinitionError("a state to follow needs the operator's uid and its own name")
        self.poll_interval = POLL_MS if poll_interval is None else millis(poll_interval)
        if self.poll_interval <= 0:
            raise JobDefinitionError(f"the poll interval must be positive, not {poll_interval!r}")
        base = resolved(directory)
        self.directory = os.path.join(base, job_id_of(job_name)) if job_name else base
        self.is_cheap = poll_interval is None and is_local(self.directory)
        """Whether a search costs next to nothing, and its interval is not set."""
        self.uid = uid
        self.state_name = state_name
        self.bounded = bounded

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED if self.bounded else Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(self) -> SplitEnumerator:
        return StaticEnumerator([SourceSplit("state")])

    def create_split_reader(
        self, split: SourceSplit, position: StatePosition | None, context: ReaderContext
    ) -> StateChangesReader:
        return StateChangesReader(self, position, is_polled=context.wake_up is not None)


class StateChangesReader(SplitReader[StateUpdate | CopyComplete]):
    """Holds a copy of the state as of the current checkpoint, and reads the differences to the next
    one.

    A reader that is restored reads the copy from the checkpoint of its position. If that was read
    in part, or is gone, it gives all of it, or of the newest, again and says so.

    Args:
        is_polled: whether a loop polls readers within milliseconds that know no time.
    """

    def __init__(
        self, source: StateChangesSource, position: StatePosition | None, is_polled: bool = False
    ) -> None:
        self._source = source
        self._is_polled = is_polled and source.is_cheap
        self._position = position
        self._begun = False
        self._interrupted: int | None = None
        """The checkpoint of the position, if it was read in part."""
        self._follower: StateFollower | None = None
        self._table = TableId("", "")
        self._batches: deque[list[StateUpdate | CopyComplete]] = deque()
        self._cursor = 0
        self._timestamp = 0
        self._whole = False
        """Whether the batches are everything again."""
        self._pause = False
        self._ended = False

    def read(self, max_records: int) -> RowBatch[StateUpdate | CopyComplete]:
        if self._pause:
            self._pause = False
            return RowBatch([])
        if not self._batches and not self._ended:
            self._look()
        if not self._batches:
            return RowBatch([])
        batch = self._batches[0]
        taken = batch[self._cursor : self._cursor + max_records]
        self._cursor += len(taken)
        if self._cursor >= len(batch):
            self._batches.popleft()
            self._cursor = 0
            # what says that everything has come must come after it, so in an epoch of its own
            self._pause = self._whole
        return RowBatch(taken, [self._timestamp] * len(taken))

    def position(self) -> StatePosition | None:
        at = self._position
        if at is None or self._follower is None:
            return at
        return StatePosition(at.checkpoint, at.snapshot_id, complete=not self._batches)

    def finished(self) -> bool:
        return self._ended and not self._batches and not self._pause

    def next_wakeup(self, now: int) -> int | None:
        if self._batches or self._pause:
            return now
        return None if self._is_polled else now + self._source.poll_interval

    # -- the checkpoints of the other job ------------------------------------------------------

    def _look(self) -> None:
        """Queue the updates of the next checkpoint, if there is one."""
        if not self._begun:
            self._begin()
        while (number := self._next()) is not None:
            try:
                self._advance(read_manifest(self._source.directory, number))
                break
            except CheckpointCorruptError:
                # usually a newer one has taken its place meanwhile
                if self._next() == number:
                    raise
        if self._source.bounded:
            if self._follower is None:
                raise JobExecutionError(
                    f"there is no complete checkpoint in {self._source.directory}, so no state"
                )
            self._ended = True

    def _next(self) -> int | None:
        """Number of the next checkpoint to read; None if there is no new one. The first is the
        newest, and then each follows the previous. If the directory was emptied, which restarted
        numbers or a different checkpoint show, the newest is next again."""
        numbers = complete_checkpoints(self._source.directory)
        if not numbers:
            return None
        if self._follower is None:
            return self._interrupted if self._interrupted in numbers else numbers[-1]
        at = self._follower.checkpoint or 0
        if numbers[-1] < at or (numbers[-1] == at and self._was_recreated(at)):
            return numbers[-1]
        return next((number for number in numbers if number > at), None)

    def _was_recreated(self, number: int) -> bool:
        """Whether the checkpoint with this number differs from the checkpoint at the current
        position."""
        assert self._position is not None
        with suppress(CheckpointCorruptError):
            snapshot_id = read_manifest(self._source.directory, number).snapshot_id
            return snapshot_id != self._position.snapshot_id
        return False

    def _begin(self) -> None:
        """Read the copy as of the position, if its checkpoint still exists."""
        self._begun = True
        at = self._position
        self._whole = at is not None
        if at is None:
            return
        with suppress(CheckpointCorruptError):
            manifest = read_manifest(self._source.directory, at.checkpoint)
            if manifest.snapshot_id != at.snapshot_id:
                return
            if not at.complete:
                self._interrupted = at.checkpoint
                return
            follower = self._made(manifest)
            follower.load(manifest)
            self._follower, self._whole = follower, False
            self._ended = manifest.finished

    def _made(self, manifest: Manifest) -> StateFollower:
        self._table = TableId(_uid(self._source, manifest), self._source.state_name)
        return StateFollower(self._source.directory, {self._table})

    def _advance(self, manifest: Manifest) -> None:
        follower = self._follower or self._made(manifest)
        changes = follower.advance(manifest).get(self._table, {})
        first, self._follower = self._follower is None, follower
        self._position = StatePosition(manifest.checkpoint, manifest.snapshot_id, False)
        self._timestamp = manifest.timestamp
        self._ended = manifest.finished
        self._whole = self._whole and first
        updates = _updates(changes, self._kind(follower), manifest)
        if first and not updates:
            if self._source.bounded:
                self._check_is_there(manifest)
            log.warning(
                "state '%s' of operator '%s' is empty or missing in checkpoint %d of %s",
                self._source.state_name, self._source.uid, manifest.checkpoint, manifest.job_name,
            )  # fmt: skip
        if updates:
            self._batches.append(updates)
        if self._whole:
            self._batches.append([CopyComplete(manifest.checkpoint, manifest.snapshot_id)])

    def _check_is_there(self, manifest: Manifest) -> None:
        """Refuse an unknown state name, which may be mistyped, if a bounded read finds no rows."""
        metadata = metadata_path(self._source.directory, manifest.checkpoint)
        states = SnapshotReader(open_snapshot(metadata, trusted=True)).states()
        uid = self._table.uid
        own = [i.name for i in states if i.uid == uid and i.kind.is_per_key and not i.internal]
        if own and self._source.state_name not in own:
            raise JobExecutionError(
                f"operator '{self._source.uid}' has no keyed state '{self._source.state_name}' in "
                f"checkpoint {manifest.checkpoint} of {manifest.job_name} (it has: "
                f"{', '.join(own)})"
            )

    def _kind(self, follower: StateFollower) -> TableKind:
        kind = follower.kind(self._table) or FLAT
        if not kind.is_per_key:
            raise JobExecutionError(
                f"state '{self._source.state_name}' of operator '{self._source.uid}' belongs to "
                "windows or to the operator; only keyed state can be followed"
            )
        return kind


def _updates(
    changes: TableChanges, kind: TableKind, manifest: Manifest
) -> list[StateUpdate | CopyComplete]:
    """Updates for ``changes``; a change of the stamp alone is no update."""
    place = manifest.checkpoint, manifest.snapshot_id
    updates: list[StateUpdate | CopyComplete] = []
    for key, (old, new) in changes.items():
        value = kind.shown(new)
        if value is MISSING:
            updates.append(StateUpdate(key, None, True, *place))
        elif not alike(kind.shown(old), value):
            updates.append(StateUpdate(key, value, False, *place))
    return updates


def _uid(source: StateChangesSource, manifest: Manifest) -> str:
    """Uid of the operator that the source names."""
    if source.uid in manifest.operators:
        return source.uid
    named = [uid for uid, name in manifest.operators.items() if name == source.uid]
    if len(named) == 1:
        return named[0]
    known = ", ".join(f"{name} (uid {uid})" for uid, name in manifest.operators.items())
    raise JobExecutionError(
        f"job '{manifest.job_name}' has {len(named) or 'no'} operators '{source.uid}'; "
        f"it has: {known}"
    )
