"""The changes of a state between two snapshots, as rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.common.errors import StateError
from millrace.common.types.logical.logical_type import BigIntType, LogicalType, VarCharType
from millrace.common.types.row import RowKind
from millrace.state.alike import alike
from millrace.state.frozen import MISSING
from millrace.state.key_groups import key_group_of, key_group_range
from millrace.state.snapshot_entries import entries_of
from millrace.state.snapshot_reader import SnapshotReader, StateInfo
from millrace.state_processor.state_source import StateSource

__all__ = ["CHANGES", "CHANGE_TYPES", "ChangesQuery"]

CHANGES = ("kind", "key", "value", "checkpoint")
CHANGE_TYPES: dict[str, LogicalType] = {"kind": VarCharType(), "checkpoint": BigIntType()}
_SHORT = {
    RowKind.INSERT: "+I",
    RowKind.UPDATE_BEFORE: "-U",
    RowKind.UPDATE_AFTER: "+U",
    RowKind.DELETE: "-D",
}

Row = Sequence[Any]


@dataclass(frozen=True, slots=True)
class _ChangeSide:
    """One of the two snapshots in a comparison, with the keyed state in it."""

    info: StateInfo
    source: StateSource
    maximum: int
    """Number of key groups."""

    @staticmethod
    def of(reader: SnapshotReader, uid: str, name: str) -> _ChangeSide | None:
        """The state in a snapshot; None if the snapshot lacks it."""
        matching = [i for i in reader.states() if i.name == name and uid in (i.uid, i.operator)]
        if not matching:
            return None
        info = reader.state(uid, name)
        if not info.shape.is_per_key:
            raise StateError(
                f"state '{name}' of operator '{uid}' is {info.shape.value} state; changes can be "
                "read of value, list and map state of keys"
            )
        source = StateSource.of(reader, info.stage, info.subtasks)
        return _ChangeSide(info, source, reader.snapshot.manifest.max_parallelism)

    def entries(self, own: range) -> dict[Any, Any]:
        """The entries of the keys of some key groups."""
        values: dict[Any, Any] = {}
        for position, subtask in enumerate(self.source.subtasks):
            theirs = key_group_range(subtask, self.source.parallelism, self.maximum)
            if theirs.start >= own.stop or theirs.stop <= own.start:
                continue
            state = self.source.restore(position, self.info)
            if self.info.table in state.tables:
                for entry in entries_of(state, self.info.table):
                    if key_group_of(entry.key, self.maximum) in own:
                        values[entry.key] = entry.value
        return values


@dataclass(frozen=True, slots=True)
class ChangesQuery:
    """The changes of one keyed state from one snapshot to another."""

    before: _ChangeSide | None
    after: _ChangeSide | None
    checkpoint: int
    """Number of the later snapshot's checkpoint."""

    @staticmethod
    def of(before: SnapshotReader, after: SnapshotReader, uid: str, name: str) -> ChangesQuery:
        """The changes of a state between two snapshots, of which one may lack the state.

        Raises:
            StateError: neither snapshot has the state, it is not keyed state, or the numbers of key
                groups differ, so that the snapshots cannot be compared.
        """
        old, new = _ChangeSide.of(before, uid, name), _ChangeSide.of(after, uid, name)
        if old is None and new is None:
            after.state(uid, name)  # says what there is instead
        if old is not None and new is not None and old.maximum != new.maximum:
            raise StateError(
                f"the snapshots have max parallelism {old.maximum} and {new.maximum}; only "
                "snapshots with the same max parallelism can be compared"
            )
        return ChangesQuery(old, new, after.snapshot.manifest.checkpoint)

    @property
    def tasks(self) -> int:
        """Number of tasks: one per subtask of the later snapshot."""
        return self._leading.source.parallelism

    @property
    def _leading(self) -> _ChangeSide:
        side = self.after or self.before
        assert side is not None
        return side

    def rows(self, task: int) -> Iterator[Row]:
        """The changes of the keys of one subtask."""
        own = key_group_range(task, self.tasks, self._leading.maximum)
        old = {} if self.before is None else self.before.entries(own)
        new = {} if self.after is None else self.after.entries(own)
        for key, value in new.items():
            yield from self._change(key, old.pop(key, MISSING), value)
        for key, value in old.items():
            yield from self._change(key, value, MISSING)

    def _change(self, key: Any, old: Any, new: Any) -> Iterator[Row]:
        if alike(old, new):
            return
        if old is MISSING:
            yield _SHORT[RowKind.INSERT], key, new, self.checkpoint
        elif new is MISSING:
            yield _SHORT[RowKind.DELETE], key, old, self.checkpoint
        else:
            yield _SHORT[RowKind.UPDATE_BEFORE], key, old, self.checkpoint
            yield _SHORT[RowKind.UPDATE_AFTER], key, new, self.checkpoint
