"""All the state of one subtask: its tables, the version they are at, and the way to another.

A store lives in a worker's memory as a cache. The plan of an epoch names the version to start
from; `align` finds out what to do with what is cached: use it, take an aborted epoch back, replay
a few layers, or give up and ask for a full restore (`StateMissError`).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any, Protocol

from millrace.common.errors import SerializationError, StateError
from millrace.common.payload import decode, encode
from millrace.state.flat_table import FlatTable
from millrace.state.layer import Layer, live
from millrace.state.list_table import ListTable
from millrace.state.nested_table import NestedTable
from millrace.state.rolling_pass import RollingPass
from millrace.state.table import Delta, KeyFilter, Table

EMPTY = ""
"""The version of a store without any state."""


class OperatorTable(FlatTable):
    """State of a subtask rather than of keys: every subtask takes over all of it."""

    def apply(self, delta: Delta, keep: KeyFilter | None = None) -> None:
        super().apply(delta)

    def deal_out(self, subtask: int, parallelism: int) -> None:
        """Keep the share of one subtask; entries have places of (subtask, number)."""
        mine = sorted(self.data)[subtask::parallelism]
        dealt = {(subtask, number): self.data[place] for number, place in enumerate(mine)}
        self.data.clear()
        self.data.update(dealt)


TABLE_KINDS: dict[str, Callable[[], Table]] = {
    "flat": FlatTable,
    "list": ListTable,
    "map": lambda: NestedTable(lambda outer, inner: outer),
    "panes": lambda: NestedTable(lambda outer, inner: inner),
    "timers": lambda: NestedTable(lambda outer, inner: inner[0]),
    "ttl-flat": FlatTable,
    "ttl-list": ListTable,
    "ttl-map": lambda: NestedTable(lambda outer, inner: outer),
    "broadcast": OperatorTable,
    "split-list": OperatorTable,
    "union-list": OperatorTable,
    "window-flat": lambda: FlatTable(_last),
    "window-list": lambda: ListTable(_last),
    "window-map": lambda: NestedTable(lambda outer, inner: outer[-1]),
}


def _last(key: Any) -> Any:
    """The key of an entry of per-window state, whose own key is (window, key)."""
    return key[-1]


OPERATOR_TABLE = "@operator"
"""The table of state that belongs to no key; it is never filtered by key group."""
VALVE = "@valve"
"""The entry of that table which is the subtask's own and no operator's: its watermarks."""

Loader = Callable[[Layer], bytes]


class StateMissError(StateError):
    """This worker has nothing that leads to the wanted version; it needs all the layers."""


class Watcher(Protocol):
    """Looks on while layers are replayed into a copy of the state."""

    def wants(self, name: str) -> bool:
        """Whether to replay what belongs to that table; the copy is without the others."""

    def replaying(self, table: Table, name: str, delta: Delta) -> None:
        """``delta`` is about to be applied to the table called ``name``."""


class SubtaskState:
    """The tables of one subtask and their version.

    ``watcher`` makes it a copy of some of the tables, which is only read.
    """

    def __init__(self, watcher: Watcher | None = None) -> None:
        self._watcher = watcher
        self.tables: dict[str, Table] = {}
        self.version = EMPTY
        self.replays = 0
        self._kinds: dict[str, str] = {}
        self._pending: str | None = None
        self._pass = RollingPass(self.tables)
        self._dump_all = False
        self._total = 0
        self._drift = 0
        self.generation = 0
        """Grows whenever the tables changed other than by the epochs run here."""

    def table(self, name: str, kind: str) -> Any:
        """The table called ``name``, made if missing; refuses another kind than before."""
        known = self._kinds.get(name)
        if known is None:
            self.tables[name] = TABLE_KINDS[kind]()
            self._kinds[name] = kind
        elif known != kind:
            raise StateError(
                f"state '{name.rpartition('/')[2]}' is used as {known} and as {kind}; "
                "give each state descriptor of an operator its own name"
            )
        return self.tables[name]

    def kind(self, name: str) -> str:
        """Which of the `TABLE_KINDS` the table called ``name`` is of."""
        return self._kinds[name]

    def operator_table(self) -> FlatTable:
        """Values that belong to operators rather than keys."""
        table = self.table(OPERATOR_TABLE, "flat")
        assert isinstance(table, FlatTable)
        return table

    def entry_names(self) -> list[str]:
        """Names (uid/state) of all tables that hold something, and of operators' own values."""
        tables = [
            name
            for name, table in self.tables.items()
            if name != OPERATOR_TABLE and table.entry_count()
        ]
        return tables + [key for key in self.operator_table().data if key != VALVE]

    def align(self, wanted: str, recent: Sequence[Layer], load: Loader) -> bool:
        """Bring the tables to version ``wanted``; True when nothing had to be replayed.

        ``recent`` are the last layers that lead to ``wanted``, oldest first.
        Raises StateMissError when they do not reach back to what this store holds.
        """
        self._settle(wanted, {layer.version for layer in recent})
        if self.version == wanted:
            return True
        missing = _after(self.version, recent)
        if missing is None or missing[-1].version != wanted:
            raise StateMissError(f"cannot reach version {wanted} from {self.version or 'nothing'}")
        # all or nothing: a file that cannot be read must not leave half of them applied
        for payload in [load(layer) for layer in missing]:
            self._apply(decode(payload))
        self.replays += 1
        self.generation += 1
        self.version = wanted
        return False

    def restore(self, wanted: str, layers: Sequence[Layer], load: Loader) -> None:
        """Replace everything by the sum of ``layers`` (in epoch order)."""
        self.reset()
        for layer in live(list(layers)):
            self._apply(decode(load(layer)))
        self._recount()
        self.version = wanted

    def merge(
        self, other: SubtaskState, keep: KeyFilter, names: Container[str] | None = None
    ) -> None:
        """Take over the entries of another subtask's tables that ``keep`` admits, where they are
        of keys; only of the tables called ``names``, if these are given."""
        for name, table in other.tables.items():
            if name != OPERATOR_TABLE and (names is None or name in names):
                delta, _ = table.dump(table.dump_units())
                self.table(name, other._kinds[name]).apply(delta, keep)
        self._dump_all = True
        self.generation += 1

    def deal_out(self, subtask: int, parallelism: int, names: Container[str] | None = None) -> None:
        """Of the split lists that were merged (only those called ``names``, if these are given),
        keep the share of one subtask."""
        for name, table in self.tables.items():
            if self._kinds[name] == "split-list" and (names is None or name in names):
                assert isinstance(table, OperatorTable)
                table.deal_out(subtask, parallelism)

    def adopt(self, version: str) -> None:
        """What was merged is the state at ``version``; the next layer will hold all of it."""
        self.version = version
        self._dump_all = True

    def reset(self) -> None:
        """Forget everything. The tables are emptied in place: operators hold on to them."""
        for table in self.tables.values():
            table.clear()
        self._pending = None
        self._pass = RollingPass(self.tables)
        self.generation += 1
        self.version = EMPTY

    def roll_back(self) -> None:
        """Take the open epoch back."""
        if any(table.change_count() for table in self.tables.values()):
            self.generation += 1
        for table in self.tables.values():
            table.roll_back()
        self._pass.roll_back()
        self._pending = None

    def snapshot(self, epoch: int, version: str) -> Layer | None:
        """The layer of the open epoch, which stays open until a plan names ``version``.

        None when the epoch changed nothing: the version stays what it is.
        """
        dirty = sum(table.change_count() for table in self.tables.values())
        if dirty == 0 and not self._dump_all:
            return None
        self._pending = version
        if self._dump_all or 2 * dirty >= self._entries(dirty):
            self._pass.restart()
            return Layer(epoch, version, epoch, encode({"all": self._everything()}))
        piece, floor = self._pass.advance(epoch, dirty)
        content = {"delta": self._changes(), "pass": self._packed(piece)}
        return Layer(epoch, version, floor, encode(content))

    def _entries(self, dirty: int) -> int:
        """About how many entries there are; counting all each time would cost too much."""
        self._drift += dirty
        if 4 * self._drift >= self._total:
            self._recount()
        return self._total

    def _recount(self) -> None:
        self._total = sum(table.entry_count() for table in self.tables.values())
        self._drift = 0

    def _changes(self) -> dict[str, tuple[str, bytes]]:
        changes = {name: table.changes() for name, table in self.tables.items()}
        return self._packed({name: delta for name, delta in changes.items() if delta})

    def _everything(self) -> dict[str, tuple[str, bytes]]:
        return self._packed({n: t.dump(t.dump_units())[0] for n, t in self.tables.items()})

    def _packed(self, deltas: dict[str, Delta]) -> dict[str, tuple[str, bytes]]:
        return {n: (self._kinds[n], _encoded(n, delta)) for n, delta in deltas.items()}

    def _settle(self, wanted: str, known: Iterable[str]) -> None:
        """Decide about the open epoch: accepted if the plan leads on from it, else taken back."""
        if self._pending is None:
            self.roll_back()
        elif self._pending == wanted or self._pending in known:
            self.version, self._pending = self._pending, None
            for table in self.tables.values():
                table.seal()
            self._pass.seal()
            self._dump_all = False
        else:
            self.roll_back()

    def _apply(self, content: dict[str, Any]) -> None:
        if "all" in content:
            for table in self.tables.values():
                table.clear()
        for part in ("all", "delta", "pass"):
            for name, (kind, delta) in content.get(part, {}).items():
                if self._watcher is None or self._watcher.wants(name):
                    self._replay(name, kind, decode(delta))

    def _replay(self, name: str, kind: str, delta: Delta) -> None:
        table = self.table(name, kind)
        if self._watcher is not None:
            self._watcher.replaying(table, name, delta)
        table.apply(delta)


def tables_in(payload: bytes) -> dict[str, str]:
    """The tables that a layer has something of, and their kinds; nothing in them is decoded."""
    content: dict[str, dict[str, tuple[str, bytes]]] = decode(payload)
    return {name: kind for part in content.values() for name, (kind, _) in part.items()}


def _after(version: str, recent: Sequence[Layer]) -> list[Layer] | None:
    """The layers that follow ``version``, or None when it is not among them."""
    for position, layer in enumerate(recent):
        if layer.version == version:
            return list(recent[position + 1 :])
    return None


def _encoded(table: str, delta: Delta) -> bytes:
    try:
        return encode(delta)
    except SerializationError as error:
        name = table.rpartition("/")[2]
        raise SerializationError(
            f"state '{name}' holds a value that cannot be pickled ({error.__cause__}); keep plain "
            "data in state"
        ) from error
