"""Looking into a checkpoint or savepoint: which states there are, and what is in them.

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
from millrace.state.kinds.state_shape import Entry, StateShape
from millrace.state.kinds.table_kind import TableKind
from millrace.state.redistribution_mode import RedistributionMode
from millrace.state.snapshot_entries import entries_of
from millrace.state.state_delta import StateDelta, live
from millrace.state.store import SubtaskState
from millrace.state.table import Table, TableDelta
from millrace.state.table_id import TableId

__all__ = ["OnlyTables", "SnapshotReader", "StateInfo", "tables_of"]


@dataclass(frozen=True, slots=True)
class StateInfo:
    """A state of an operator."""

    table: TableId
    """Where it is: the operator's uid and the state's name."""
    operator: str
    """The operator's name; empty if the snapshot does not know it."""
    kind: TableKind
    stage: str
    """Uid of the stage that the operator is in."""
    parallelism: int
    """Of that stage."""
    subtasks: tuple[int, ...]
    """The subtasks that have deltas with this state, in order."""
    schema: object = None
    """What is known about the type of its values; None: nothing."""

    @property
    def uid(self) -> str:
        """Of the operator; empty for what belongs to no single one."""
        return self.table.uid

    @property
    def name(self) -> str:
        """Of the state; internal ones begin with ``@``."""
        return self.table.name

    @property
    def shape(self) -> StateShape:
        """The shape of the state's entries."""
        return self.kind.shape

    @property
    def needed_subtasks(self) -> tuple[int, ...]:
        """The subtasks that together have all entries: of broadcast state any one does."""
        is_broadcast = self.kind.redistribution is RedistributionMode.BROADCAST
        return self.subtasks[:1] if is_broadcast else self.subtasks

    @property
    def internal(self) -> bool:
        """Whether an operator keeps it for itself."""
        return self.table.internal

    @property
    def has_ttl(self) -> bool:
        """Whether its values expire."""
        return self.kind.expires


class SnapshotReader:
    """Reads one snapshot.

    Args:
        snapshot: as `open_snapshot` gives it.

    Raises:
        CheckpointError: it is native, and was opened without trust.

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
        """Stage uid and index of all subtasks that have state, in order."""
        return sorted(self._deltas)

    def deltas(self, stage: str, subtask: int) -> list[StateDelta]:
        """The live deltas of a subtask, in epoch order."""
        return live(self._deltas.get((stage, subtask), []))

    def states(self) -> list[StateInfo]:
        """All states, by operator uid and name; empty ones too, as long as a delta names them.

        Raises:
            CheckpointCorruptError: a delta is damaged.
        """
        if self._states is None:
            self._states = self._listed()
        return list(self._states)

    def state(self, uid: str, name: str) -> StateInfo:
        """The state of that operator (uid, or name if only one has it) and name.

        Raises:
            StateError: there is none; the message lists what there is.
        """
        named = [info for info in self.states() if info.name == name]
        found = [i for i in named if i.uid == uid] or [i for i in named if i.operator == uid]
        if len(found) == 1:
            return found[0]
        raise StateError(self._not_found(uid, name, [info.uid for info in found]))

    def restore(
        self, stage: str, subtask: int, tables: Container[TableId] | None = None
    ) -> SubtaskState:
        """All the state of one subtask, or only these tables of it; empty if it has none.

        Raises:
            CheckpointCorruptError: a delta is damaged.
            SerializationError: some of its values are pickled, and there is no leave to read them.
        """
        only = None if tables is None else OnlyTables(tables)
        state = SubtaskState(only, as_written=True)
        state.restore("snapshot", self.deltas(stage, subtask), self._load)
        return state

    def entries(
        self, info: StateInfo, subtask: int | None = None, state: SubtaskState | None = None
    ) -> Iterator[Entry]:
        """The entries of a state, of one subtask or (None) of all, one after the other.

        ``state`` is what `restore` gave for that subtask, for those who read several states of it.
        Broadcast state, which all subtasks have alike, is taken from the first that has it, and
        what several subtasks have of a union list counts once.
        """
        if subtask is None:
            return self._all_entries(info)
        state = state or self.restore(info.stage, subtask, tables_of(info))
        return entries_of(state, info.table) if info.table in state.tables else iter(())

    def _all_entries(self, info: StateInfo) -> Iterator[Entry]:
        parts = (entry for index in info.needed_subtasks for entry in self.entries(info, index))
        if info.kind.redistribution is RedistributionMode.UNION:
            # subtasks that went on from another parallelism have all of it, in the same places
            return iter({entry.key: entry for entry in parts}.values())
        return parts

    def _listed(self) -> list[StateInfo]:
        found: dict[tuple[str, TableId], tuple[TableKind, object, list[int]]] = {}
        for stage, subtask in self.subtasks():
            tables: dict[TableId, tuple[TableKind, object]] = {}
            for delta in self.deltas(stage, subtask):
                for content in contents(delta, self._load):
                    tables.update((name, (k, s)) for name, k, s, _ in entries_in(content))
            for table, (kind, schema) in tables.items():
                found.setdefault((stage, table), (kind, schema, []))[2].append(subtask)
        infos = [
            self._info(stage, table, kind, schema, subtasks)
            for (stage, table), (kind, schema, subtasks) in found.items()
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
    """Lets only some tables of a subtask be read; the values of others are not touched."""

    def __init__(self, tables: Container[TableId]) -> None:
        self._tables = tables

    def wants(self, name: TableId) -> bool:
        """Whether it is one of them."""
        return name in self._tables

    def replaying(self, table: Table, name: TableId, table_delta: TableDelta) -> None:
        """Nobody looks on."""


def tables_of(info: StateInfo) -> frozenset[TableId]:
    """The tables that the entries of a state are read from: windows that merge, and panes that
    windows share, take a look at another one."""
    return frozenset({info.table, TableId(info.uid, MERGING), TableId(info.uid, PASSED)})
