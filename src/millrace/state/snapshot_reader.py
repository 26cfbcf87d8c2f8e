"""Reader of checkpoints and savepoints: lists their states and entries.

Names of tables are in the deltas only. To list the states, the outermost shell of each delta is
decoded, which holds plain builtin values; no user's value is touched before its entries are read.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass

from millrace.common.errors import StateError
from millrace.state.checkpoint.delta_file import DeltaLoader
from millrace.state.checkpoint.snapshot import Snapshot
from millrace.state.delta_payload import contents, entries_in
from millrace.state.internal_tables import MERGING, PASSED
from millrace.state.kinds.state_shape import KeyedStateEntry, StateShape
from millrace.state.kinds.table_kind import TableKind
from millrace.state.redistribution_mode import RedistributionMode
from millrace.state.snapshot_entries import entries_of
from millrace.state.state_delta import StateDelta, live
from millrace.state.store import SubtaskState
from millrace.state.table import StateTable, TableDelta
from millrace.state.table_id import TableId

__all__ = ["OnlyTables", "SnapshotReader", "StateInfo", "tables_of"]


@dataclass(frozen=True, slots=True)
class StateInfo:
    """Description of an operator's state."""

    table: TableId
    """Address of the state: the operator's uid and the state's name."""
    operator: str
    """The operator's name; empty if the snapshot does not know it."""
    kind: TableKind
    stage: str
    """Uid of the stage that the operator is in."""
    parallelism: int
    """Parallelism of the stage."""
    subtasks: tuple[int, ...]
    """The subtasks that have deltas with this state, in order."""
    schema: object = None
    """Schema of the state's values; None if it is not known."""

    @property
    def uid(self) -> str:
        """Uid of the operator; empty if the state does not belong to a single operator."""
        return self.table.uid

    @property
    def name(self) -> str:
        """Name of the state. Names of internal states begin with ``@``."""
        return self.table.name

    @property
    def shape(self) -> StateShape:
        """The shape of the state's entries."""
        return self.kind.shape

    @property
    def needed_subtasks(self) -> tuple[int, ...]:
        """Subtasks that together have all entries; for broadcast state, a single subtask."""
        is_broadcast = self.kind.redistribution is RedistributionMode.BROADCAST
        return self.subtasks[:1] if is_broadcast else self.subtasks

    @property
    def internal(self) -> bool:
        """Whether the state is internal to the operator."""
        return self.table.internal

    @property
    def has_ttl(self) -> bool:
        """Whether the state's values expire."""
        return self.kind.expires


class SnapshotReader:
    """Reads one snapshot.

    Args:
        snapshot: result of `open_snapshot`.

    Raises:
        CheckpointError: the snapshot is native, and was opened without trust.

    Example:
        >>> from millrace.state.checkpoint.snapshot import open_snapshot
        >>> def print_all(path: str) -> None:
        ...     reader = SnapshotReader(open_snapshot(path))
        ...     for info in reader.states():
        ...         print(info.operator or info.uid, info.name, info.shape.value)
        ...         for entry in reader.entries(info):
        ...             print("   ", entry.key, entry.value)
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        snapshot.require_trust()
        self._deltas = snapshot.deltas.by_subtask()
        self._load = DeltaLoader(snapshot.directory)
        self._states: list[StateInfo] | None = None

    def subtasks(self) -> list[tuple[str, int]]:
        """Stage uid and index of all subtasks with state, in order."""
        return sorted(self._deltas)

    def deltas(self, stage: str, subtask: int) -> list[StateDelta]:
        """Live deltas of a subtask, in epoch order."""
        return live(self._deltas.get((stage, subtask), []))

    def states(self) -> list[StateInfo]:
        """All states, by operator uid and name. Empty states are included if a delta names them.

        Raises:
            CheckpointCorruptError: a delta is damaged.
        """
        if self._states is None:
            self._states = self._listed()
        return list(self._states)

    def state(self, uid: str, name: str) -> StateInfo:
        """State ``name`` of an operator. ``uid`` may also be the operator's name, if no other
        operator has this name.

        Raises:
            StateError: the snapshot has no such state; the message lists the states that it has.
        """
        named = [info for info in self.states() if info.name == name]
        matching = [i for i in named if i.uid == uid] or [i for i in named if i.operator == uid]
        if len(matching) == 1:
            return matching[0]
        raise StateError(self._not_found(uid, name, [info.uid for info in matching]))

    def restore(
        self, stage: str, subtask: int, tables: Container[TableId] | None = None
    ) -> SubtaskState:
        """State of one subtask, with all tables or only ``tables``; empty if the subtask has no
        state.

        Raises:
            CheckpointCorruptError: a delta is damaged.
            SerializationError: some values are pickled, and reading them is not allowed.
        """
        only = None if tables is None else OnlyTables(tables)
        state = SubtaskState(only, as_written=True)
        state.restore("snapshot", self.deltas(stage, subtask), self._load)
        return state

    def entries(
        self, info: StateInfo, subtask: int | None = None, state: SubtaskState | None = None
    ) -> Iterator[KeyedStateEntry]:
        """Entries of a state in one subtask. If ``subtask`` is None, the entries of all subtasks,
        one after the other.

        A caller that reads several states of a subtask passes the result of `restore` as ``state``.
        Broadcast state, which is the same in all subtasks, is taken from the first that has it.
        Elements of a union list that several subtasks have count once.
        """
        if subtask is None:
            return self._all_entries(info)
        state = state or self.restore(info.stage, subtask, tables_of(info))
        return entries_of(state, info.table) if info.table in state.tables else iter(())

    def _all_entries(self, info: StateInfo) -> Iterator[KeyedStateEntry]:
        parts = (entry for index in info.needed_subtasks for entry in self.entries(info, index))
        if info.kind.redistribution is RedistributionMode.UNION:
            # subtasks that went on from another parallelism have all of it, in the same places
            return iter({entry.key: entry for entry in parts}.values())
        return parts

    def _listed(self) -> list[StateInfo]:
        by_table: dict[tuple[str, TableId], tuple[TableKind, object, list[int]]] = {}
        for stage, subtask in self.subtasks():
            tables: dict[TableId, tuple[TableKind, object]] = {}
            for delta in self.deltas(stage, subtask):
                for content in contents(delta, self._load):
                    tables.update((name, (k, s)) for name, k, s, _ in entries_in(content))
            for table, (kind, schema) in tables.items():
                by_table.setdefault((stage, table), (kind, schema, []))[2].append(subtask)
        infos = [
            self._info(stage, table, kind, schema, subtasks)
            for (stage, table), (kind, schema, subtasks) in by_table.items()
        ]
        return sorted(infos, key=lambda info: (info.uid, info.name, info.stage))

    def _info(
        self, stage: str, table: TableId, kind: TableKind, schema: object, subtasks: list[int]
    ) -> StateInfo:
        manifest = self.snapshot.manifest
        return StateInfo(
            table=table,
            operator=manifest.operators.get(table.uid, ""),
            kind=kind,
            stage=stage,
            parallelism=manifest.stages[stage],
            subtasks=tuple(subtasks),
            schema=schema,
        )

    def _not_found(self, uid: str, name: str, several: list[str]) -> str:
        if several:
            return f"several operators called '{uid}' have a state '{name}': {', '.join(several)}"
        own = [i for i in self.states() if uid in (i.uid, i.operator)]
        if own:
            names = ", ".join(i.name for i in own)
            return f"operator '{uid}' has no state '{name}' (it has: {names})"
        known = sorted({i.uid for i in self.states() if i.uid})
        return (
            f"{self.snapshot.path} has no state of an operator '{uid}' (it has state of: "
            f"{', '.join(known) or 'none'})"
        )


class OnlyTables:
    """Restricts reading to some tables of a subtask; the values of other tables are not decoded."""

    def __init__(self, tables: Container[TableId]) -> None:
        self._tables = tables

    def wants(self, name: TableId) -> bool:
        """Whether to read this table."""
        return name in self._tables

    def replaying(self, table: StateTable, name: TableId, table_delta: TableDelta) -> None:
        """Do nothing: changes are not observed."""


def tables_of(info: StateInfo) -> frozenset[TableId]:
    """Tables from which the entries of a state are read. There is more than one for merging
    windows, and for panes that windows share.
    """
    return frozenset({info.table, TableId(info.uid, MERGING), TableId(info.uid, PASSED)})
