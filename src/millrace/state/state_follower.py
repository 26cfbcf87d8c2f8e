"""Copy of some states of a job, which follows its checkpoints one by one.

If a subtask's new deltas follow the version of the copy, they are applied to it, and only their
keys are examined. In all other cases (missing checkpoints, a run that went back in time, a changed
parallelism), all deltas of the subtask are read again and compared with the copy. So the result of
`advance` is always the difference between the two checkpoints.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import chain
from typing import Any

from millrace.state.alike import alike
from millrace.state.checkpoint.delta_file import DeltaLoader, SubtaskKey
from millrace.state.checkpoint.delta_set import DeltaSet, read_deltas_of
from millrace.state.checkpoint.directory import metadata_path
from millrace.state.checkpoint.files import StrPath
from millrace.state.checkpoint.manifest import Manifest
from millrace.state.frozen import MISSING
from millrace.state.kinds.table_kind import TableKind
from millrace.state.state_delta import StateDelta
from millrace.state.store import AT_ONCE, EMPTY, SubtaskState
from millrace.state.table import StateTable, TableDelta
from millrace.state.table_id import TableId

__all__ = ["Changes", "StateFollower", "TableChanges"]

TableChanges = dict[Any, tuple[Any, Any]]
"""Former and present value by key; `MISSING` if there is none."""
Changes = dict[TableId, TableChanges]
"""Changes by table."""


class StateFollower:
    """Follows the checkpoints of one job directory.

    Args:
        directory: directory to which the paths in the manifests are relative.
        tables: tables to follow; other tables are not decoded.

    Keys and values are as the job's tables hold them: those of states that expire with stamps
    (see `TableKind.shown`). Lists and dicts are copies.
    """

    def __init__(self, directory: StrPath, tables: Collection[TableId]) -> None:
        self._directory = directory
        self._tables = frozenset(tables)
        self._deltas = DeltaSet()
        self._load = DeltaLoader(directory)
        self._copies: dict[SubtaskKey, _Copy] = {}
        self.checkpoint: int | None = None
        """Checkpoint of the copy; None if the copy is empty."""

    def advance(self, manifest: Manifest) -> Changes:
        """Advance the copy to a later checkpoint; returns the differences between the two
        checkpoints.

        Raises:
            CheckpointCorruptError: a file is damaged, or has been deleted because newer
                checkpoints took the place of this one. The next `advance` makes up for it.
            CheckpointError: a file cannot be read.

        After any other error the copy cannot be used any more: start again with a new follower.
        """
        self._follow(manifest, telling=True)
        changes = self._changes()
        self._forget_empty()
        return changes

    def load(self, manifest: Manifest) -> None:
        """Load a first checkpoint into the copy, without recording the changes of each key: see
        `entries`. Raises the same errors as `advance`."""
        self._follow(manifest, telling=False)
        for copy in self._copies.values():
            copy.forget()
        self._forget_empty()

    def _follow(self, manifest: Manifest, telling: bool) -> None:
        metadata = metadata_path(self._directory, manifest.checkpoint)
        deltas = read_deltas_of(self._directory, manifest, metadata, self._deltas.files)
        by_subtask = deltas.by_subtask()
        wanted = {key for key in manifest.versions if self._concerns(manifest, key[0])}
        for key in wanted:
            copy = self._copies.setdefault(key, _Copy(self._tables))
            copy.advance(manifest.versions[key], by_subtask.get(key, []), self._load, telling)
        for key in self._copies.keys() - wanted:
            self._copies[key].empty()
        self._deltas, self.checkpoint = deltas, manifest.checkpoint

    def _forget_empty(self) -> None:
        for key in [key for key, copy in self._copies.items() if copy.state.version == EMPTY]:
            del self._copies[key]

    def kind(self, table: TableId) -> TableKind | None:
        """Kind of a table; None if the copy has no such table yet."""
        for copy in self._copies.values():
            if table in copy.state.tables:
                return copy.state.kind(table)
        return None

    def entries(self, table: TableId) -> dict[Any, Any]:
        """All keys of a table with their values."""
        return {
            key: copied(value)
            for copy in self._copies.values()
            for key, value in copy.data(table).items()
        }

    def _concerns(self, manifest: Manifest, stage: str) -> bool:
        """Whether operators of that stage may have one of the followed tables."""
        chain_of_stage = manifest.chains.get(stage)
        if chain_of_stage is None:
            return True
        return any(table.uid in chain_of_stage for table in self._tables)

    def _changes(self) -> Changes:
        """Net changes of all subtasks: a key may have moved from one subtask to another."""
        merged_changes: Changes = {}
        for copy in self._copies.values():
            for table, changes in copy.taken():
                merged = merged_changes.setdefault(table, {})
                for key, (old, new) in changes.items():
                    others_old, others_new = merged.get(key, (MISSING, MISSING))
                    merged[key] = (
                        old if old is not MISSING else others_old,
                        new if new is not MISSING else others_new,
                    )
        net = {
            t: {k: c for k, c in merged_changes[t].items() if not alike(*c)} for t in merged_changes
        }
        return {table: changes for table, changes in net.items() if changes}


class _Copy:
    """Copy of the followed tables of one subtask. While deltas are replayed, it records the former
    values of keys.
    """

    def __init__(self, tables: Collection[TableId]) -> None:
        self._tables = tables
        self._before: Changes = {}
        self._rereading = False
        self.state = SubtaskState(self, as_written=True)

    def wants(self, name: TableId) -> bool:
        return name in self._tables

    def replaying(self, table: StateTable, name: TableId, table_delta: TableDelta) -> None:
        if not self._rereading:
            data: dict[Any, Any] = table.data  # type: ignore[attr-defined]
            self._note(name, data, chain.from_iterable(table_delta.values()))

    def advance(
        self, version: str, deltas: list[StateDelta], load: DeltaLoader, telling: bool
    ) -> None:
        """Bring the copy to ``version``, to which the live ``deltas`` lead; all or nothing. If
        ``telling``, note the former value of each key."""
        missing = self._missing(deltas)
        if missing is not None and sum(delta.size() for delta in missing) < AT_ONCE:
            self.state.align(version, deltas, load)
        else:
            self._rebuild(version, deltas, load, telling)

    def _missing(self, deltas: list[StateDelta]) -> list[StateDelta] | None:
        """Deltas after the copy's version; None if it is not known which deltas these are."""
        versions = [delta.version for delta in deltas]
        if self.state.version not in versions:
            return None
        return deltas[versions.index(self.state.version) + 1 :]

    def empty(self) -> None:
        """Empty the copy, because its subtask does not exist any more."""
        self._rebuild(EMPTY, [], self._nothing)

    def _rebuild(
        self, version: str, deltas: list[StateDelta], load: Any, telling: bool = True
    ) -> None:
        state = SubtaskState(self, as_written=True)
        self._rereading = True
        try:
            state.restore(version, deltas, load)
        finally:
            self._rereading = False
        if telling:
            for name in self._tables:
                old, new = _data(self.state, name), _data(state, name)
                self._note(name, old, chain(old, new))
        self.state = state

    def _note(self, name: TableId, data: dict[Any, Any], keys: Iterable[Any]) -> None:
        noted = self._before.setdefault(name, {})
        for key in keys:
            if key not in noted:
                noted[key] = copied(data.get(key, MISSING))

    def forget(self) -> None:
        """Discard all noted values."""
        self._before = {}

    def taken(self) -> list[tuple[TableId, TableChanges]]:
        """Former and present values of the noted keys; the notes are discarded."""
        before, self._before = self._before, {}
        return [
            (name, {k: (old, copied(data.get(k, MISSING))) for k, old in before[name].items()})
            for name, data in ((name, self.data(name)) for name in before)
        ]

    def data(self, table: TableId) -> dict[Any, Any]:
        """Contents of a table."""
        return _data(self.state, table)

    @staticmethod
    def _nothing(delta: StateDelta) -> bytes:
        raise AssertionError(f"{delta} is to be loaded for a subtask without state")


def _data(state: SubtaskState, table: TableId) -> dict[Any, Any]:
    state_table = state.tables.get(table)
    return {} if state_table is None else state_table.data  # type: ignore[attr-defined]


def copied(value: Any) -> Any:
    """The value itself, or a copy if it is a list or dict, which a later delta may extend."""
    if type(value) is list:
        return value.copy()
    return dict(value) if type(value) is dict else value
