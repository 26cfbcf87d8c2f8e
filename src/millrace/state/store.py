"""State of one subtask: its tables, and the ways to bring them to another version.

A worker keeps a store in memory as a cache. The plan of an epoch names the version from which the
epoch starts. `align` brings the cached state to it: it uses the state as it is, rolls back an
aborted epoch, replays a few deltas, or asks for a full restore (`StateMissError`).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

from millrace.common.errors import CheckpointError, KeyTypeError, StateError
from millrace.common.types.type_information import TypeInformation
from millrace.common.types.typeinfo import Types
from millrace.state.backend.keyed_state_backend import HeapKeyedStateBackend, KeyedStateBackend
from millrace.state.budget import Budget
from millrace.state.bulk_restore import without_collections
from millrace.state.delta_payload import (
    Content,
    Loader,
    PayloadEntry,
    Place,
    contents,
    entries_in,
    framed,
    joined,
    pieces_of,
    table_deltas_of,
)
from millrace.state.division import MOST_BYTES, TableDivision, is_continued
from millrace.state.flat_table import FlatTable
from millrace.state.incremental_compaction import IncrementalCompaction
from millrace.state.key_group_filter import KeyGroupFilter
from millrace.state.kinds.table_kind import TableKind
from millrace.state.operator_table import OperatorTable
from millrace.state.redistribution_mode import RedistributionMode
from millrace.state.serialization.entry_types import StateOwner
from millrace.state.serialization.table_form import TableForm, TableSchema
from millrace.state.state_delta import StateDelta, live
from millrace.state.table import KeyFilter, Scan, StateTable, TableDelta
from millrace.state.table_id import OPERATOR_TABLE, TableId
from millrace.state.table_kinds import MAP, OPERATOR_VALUES

EMPTY = ""
"""The version of a store without any state."""


AT_ONCE = 64 << 20
"""Total bytes of deltas up to which all are fetched before the first is applied."""


class StateMissError(StateError):
    """This worker cannot reach the wanted state version by applying recent deltas to its state; it
    needs all deltas.
    """


class DeltaWatcher(Protocol):
    """Observes deltas while they are replayed into a copy of the state."""

    def wants(self, name: TableId) -> bool:
        """Whether to replay the deltas of that table, because the copy has the table."""

    def replaying(self, table: StateTable, name: TableId, table_delta: TableDelta) -> None:
        """Called before ``table_delta`` is applied to the table called ``name``."""


class _Waiting(NamedTuple):
    """An epoch that has ended and waits to be accepted, while the next epoch is open."""

    version: str | None
    """Version to which the epoch leads; None if it changed nothing."""
    is_complete: bool
    """Whether its delta contains all of the state."""
    follows_parts: bool
    """Whether its delta follows the parts that were restored."""


class SubtaskState:
    """Tables of one subtask and their version.

    An epoch ends with `snapshot`, and is then accepted (`commit`) or undone (`roll_back`). The next
    one may begin before that (`begin_next`): then the ended epoch waits, and `commit` accepts this
    one, while `roll_back` undoes both. `settle` and `align` do what leads to the wanted version.

    Args:
        watcher: observer, for state that is a read-only copy of some tables.
        backend: backend that keeps the tables; None for dicts in memory.
        owners: known properties of the operators with this state, by uid.
        as_written: whether values are made from their written types alone, for readers without the
            program (see `type_of_schema`). If not, they stay in their plain form until their state
            is declared.
    """

    def __init__(
        self,
        watcher: DeltaWatcher | None = None,
        backend: KeyedStateBackend | None = None,
        *,
        owners: Mapping[str, StateOwner] | None = None,
        as_written: bool = False,
    ) -> None:
        self._watcher = watcher
        self.owners = owners or {}
        self._as_written = as_written
        self._forms: dict[TableId, TableForm] = {}
        self._backend = backend or HeapKeyedStateBackend()
        self.tables: dict[TableId, StateTable] = {}
        self.version = EMPTY
        self.replays = 0
        self._kinds: dict[TableId, TableKind] = {}
        self._left_out: dict[TableId, Callable[[TableDelta], TableDelta]] = {}
        self._pending: str | None = None
        """Version to which the open epoch leads, once it has ended and if it changed anything."""
        self._has_ended = False
        """Whether the open epoch has ended with a snapshot."""
        self._waiting: _Waiting | None = None
        self._is_committed = False
        """Whether the last epoch was sealed and nothing has happened since."""
        self._compaction = IncrementalCompaction(self.tables)
        self._budget = Budget()
        self._dump_all = False
        self.follows_parts = False
        """Whether the delta of the open epoch follows the rows of the parts that were restored:
        it contains their changes, and all other state."""
        self._total = 0
        self._drift = 0
        self.generation = 0
        """Number that grows whenever the tables change other than by epochs that run here."""

    def table(
        self, name: TableId, kind: TableKind, type_info: TypeInformation[Any] | None = None
    ) -> Any:
        """The table called ``name``, created if missing. Raises an error if it exists with another
        kind.

        ``type_info`` declares the type of a key's complete state; restored values are converted
        to it.

        Raises:
            StateMigrationError: the state was written with a type that cannot be converted to this
                one.
        """
        known = self._kinds.get(name)
        if known is None:
            self.tables[name] = self._backend.create_table(name, kind)
            self._kinds[name] = kind
            self._forms[name] = TableForm(name, kind, self.owners.get(name.uid), self._as_written)
        elif known is not kind:
            raise StateError(
                f"state '{name.name}' is used as {known.name} and as {kind.name}; "
                "give each state descriptor of an operator its own name"
            )
        if type_info is not None:
            self._forms[name].declare(type_info, self.tables[name])
        return self.tables[name]

    def record_type(self, uid: str, number: int = 0) -> TypeInformation[Any] | None:
        """Type of the records that an operator keeps; None if no conversion is needed or no type
        is declared."""
        owner = self.owners.get(uid)
        record_type = None if owner is None else owner.record_types.get(number)
        return record_type if record_type is not None and record_type.need_conversion() else None

    def records_table(self, uid: str, name: str, number: int = 0) -> Any:
        """Table of the records that an operator keeps from one input, by key and place."""
        record = self.record_type(uid, number)
        declared = None if record is None else Types.MAP(Types.PICKLED_BYTE_ARRAY(), record)
        return self.table(TableId(uid, name), MAP, declared)

    def kind(self, name: TableId) -> TableKind:
        """Kind of the table called ``name``."""
        return self._kinds[name]

    def schema(self, name: TableId) -> TableSchema:
        """Schema of the table called ``name``; None if it has no types."""
        return self._forms[name].schema_of(self.tables[name])

    def leave_out(self, name: TableId, part: Callable[[TableDelta], TableDelta]) -> None:
        """Change later copies of the table called ``name`` with ``part``, which leaves out entries.

        ``part`` returns a table delta without these entries. Changes are still written completely,
        so a restore must not need the entries that are left out.
        """
        self._left_out[name] = part

    def operator_table(self) -> FlatTable:
        """Table of the values that belong to an operator itself instead of to keys."""
        table = self.table(OPERATOR_TABLE, OPERATOR_VALUES)
        assert isinstance(table, FlatTable)
        return table

    def align(self, wanted: str, recent: Sequence[StateDelta], load: Loader) -> bool:
        """Bring the tables to version ``wanted``. Returns True if this took no replay of deltas.

        ``recent`` are the last deltas that lead to ``wanted``, oldest first.
        Raises StateMissError if they do not begin at the version of this store or before.
        """
        if self.settle(wanted, {delta.version for delta in recent}):
            return True
        missing = _after(self.version, recent)
        if missing is None or missing[-1].version != wanted:
            raise StateMissError(f"cannot reach version {wanted} from {self.version or 'nothing'}")
        if sum(delta.size() for delta in missing) < AT_ONCE:
            # all or nothing: a file that cannot be read must not leave half of them applied
            fetched = [content for delta in missing for content in self._contents(delta, load)]
            self._replay(fetched, wanted)
        else:
            self._replay((c for delta in missing for c in self._contents(delta, load)), wanted)
        self.replays += 1
        return False

    def restore(self, wanted: str, deltas: Sequence[StateDelta], load: Loader) -> None:
        """Replace all state by the state that ``deltas`` (in epoch order) lead to."""
        self.reset()
        missing = live(list(deltas))
        recovered = self._recover([delta.version for delta in missing])
        if recovered is not None:
            missing = _after(recovered, missing) or []
        self._replay((c for delta in missing for c in self._contents(delta, load)), wanted)
        self._recount()

    def _recover(self, versions: list[str]) -> str | None:
        """Take over the state that another process left on this host; returns its version, or
        None if there is none."""
        recovered = None if self.tables else self._backend.recover(versions)
        if recovered is None:
            return None
        for name, kind in recovered.kinds.items():
            self.table(name, kind)
        fits = [self._forms[n].recovered(schema) for n, schema in recovered.schemas.items()]
        if not all(fits):
            self.reset()
            return None
        for name, (_, table_delta) in recovered.in_memory.items():
            self.tables[name].apply(table_delta)
        return recovered.version

    def _schemas(self) -> dict[TableId, TableSchema] | None:
        """Schema of each table; None if values in memory have another form than those in deltas."""
        if not all(form.plain for form in self._forms.values()):
            return None
        return {name: form.schema for name, form in self._forms.items()}

    def _contents(self, delta: StateDelta, load: Loader) -> Iterator[Content]:
        return contents(delta, load)

    def _replay(self, replayed: Iterable[Content], wanted: str) -> None:
        """Apply the contents of deltas in order. The state is then at version ``wanted``."""
        with self._replaying(wanted):
            for content in replayed:
                self._apply(content)

    @contextmanager
    def _replaying(self, wanted: str) -> Iterator[None]:
        self.generation += 1
        self._backend.replaying()
        try:
            with without_collections():
                yield
            self._backend.sealed(wanted, self._schemas)
        except KeyTypeError:
            self.reset()
            raise  # the delta is sound, but this backend cannot keep it
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            self.reset()
            raise CheckpointError(
                "a delta of the checkpoint contains something other than state "
                f"({type(error).__name__}: {error})"
            ) from error
        except BaseException:
            self.reset()  # half of it is in
            raise
        self.version = wanted

    def split_lists(self, subtask: int, parallelism: int, names: Iterable[TableId]) -> None:
        """Keep only this subtask's share of the lists called ``names``, which hold the elements
        of all former subtasks."""
        for name in names:
            table = self.tables[name]
            assert isinstance(table, OperatorTable)
            table.split(subtask, parallelism)

    def adopt(self, version: str, follows_parts: bool = False) -> None:
        """Declare that the restored state has the version ``version``. The next delta then contains
        all of the state. With ``follows_parts``, it leaves out the rows with keys, because these
        were restored from parts that former owners wrote.
        """
        self._dump_all, self.follows_parts = not follows_parts, follows_parts
        self._backend.sealed(version, self._schemas)
        self.version = version

    def reset(self) -> None:
        """Clear all state. The tables themselves stay, because operators have references to
        them."""
        self.version = EMPTY  # first: tables on a full disk may refuse to be emptied
        self._pending, self._waiting, self._has_ended = None, None, False
        self.follows_parts = False
        self.generation += 1
        self._clear()
        self._compaction = IncrementalCompaction(self.tables)

    def close(self) -> None:
        """Release the memory and the files; the store is not used again."""
        try:
            self.reset()
        finally:
            self._backend.close()

    def roll_back(self) -> None:
        """Undo the open epoch and, if there is one, the waiting epoch."""
        self._roll_back_open()
        self._roll_back_waiting()
        self._compaction.roll_back()

    def _roll_back_open(self) -> None:
        if any(table.change_count() for table in self.tables.values()):
            self.generation += 1
        for table in self.tables.values():
            table.roll_back()
        self._pending, self._has_ended, self._is_committed = None, False, False

    def _roll_back_waiting(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is None or waiting.version is None:
            return
        self.generation += 1
        for table in self.tables.values():
            table.roll_back_waiting()
        self._dump_all = self._dump_all or waiting.is_complete
        self.follows_parts = self.follows_parts or waiting.follows_parts

    def snapshot(self, epoch: int, version: str, place: Place = joined) -> StateDelta | None:
        """Delta of the open epoch. The epoch stays open until a plan names ``version``, or until
        `begin_next`.

        None if the epoch changed nothing; the version then stays the same. ``place`` receives the
        pieces of the payload, which are made one by one, and returns their place.

        Raises:
            StateError: the epoch before still waits, so the delta would have no version on which it
                is based.
        """
        if self._waiting is not None:
            raise StateError(
                f"epoch {epoch} cannot end before the epoch before it is accepted or undone; call "
                "`commit`, `settle` or `roll_back` first"
            )
        dirty = sum(table.change_count() for table in self.tables.values())
        # deltas of one chain must not differ in the types of an entry
        self._dump_all = self._dump_all or any(form.stale for form in self._forms.values())
        self._is_committed = False
        self._has_ended = True
        if dirty == 0 and not (self._dump_all or self.follows_parts):
            return None
        self._pending = version
        if self._dump_all or 2 * dirty >= self._entries(dirty):
            self._compaction.restart()
            if self.follows_parts:
                self._dump_all, self.follows_parts = True, False
            everything = pieces_of(self._everything(), self._budget, True)
            return StateDelta(epoch, version, epoch, place(everything))
        if self.follows_parts:
            data = place(pieces_of(self._after_parts(), self._budget, False))
            return StateDelta(epoch, version, epoch, data)
        increment = self._increment(epoch, dirty)
        data = place(pieces_of(increment, self._budget, False))
        return StateDelta(epoch, version, self._compaction.low_epoch, data)

    def begin_next(self) -> None:
        """Open the next epoch while the epoch that ended with `snapshot` waits for its acceptance.

        Raises:
            StateError: the open epoch has not ended, or another one waits already.
        """
        if self._waiting is not None:
            raise StateError(
                "the next epoch cannot begin: an epoch waits for its acceptance already"
            )
        if not self._has_ended:
            raise StateError(
                "the next epoch cannot begin: the open epoch has not ended; call `snapshot` first"
            )
        version, self._pending = self._pending, None
        self._has_ended = self._is_committed = False
        self._waiting = _Waiting(version, self._dump_all, self.follows_parts)
        if version is None:
            return
        for table in self.tables.values():
            table.begin_next()
        self._note_dumped()

    def _everything(self) -> Iterator[PayloadEntry]:
        for name, table in self.tables.items():
            for step in table.everything(self._budget):
                yield self._copy(name, step)

    def _after_parts(self) -> Iterator[PayloadEntry]:
        """Changes of the rows that were restored from parts, and all other state."""
        for name, table in self.tables.items():
            if is_continued(self._forms[name].kind):
                for table_delta, count in table.changes_by(self._budget):
                    yield self._entry("changes", name, table_delta, count)
            else:
                for step in table.everything(self._budget):
                    yield self._copy(name, step)

    def divided(self, division: TableDivision) -> list[tuple[bytes, bytes]] | None:
        """All present state, as two delta payloads for each of the new subtasks (see `StatePart`);
        None if it is too big."""
        every = range(division.parallelism)
        rows, rest = [framed({}) for _ in every], [framed({}) for _ in every]
        size, budget = 0, Budget()
        for name, table in self.tables.items():
            kind = self._forms[name].kind
            parts = rows if is_continued(kind) else rest
            for step in table.everything(budget):
                table_deltas = division.divide(kind, step.table_delta)
                share = step.size // len(table_deltas)
                for part, table_delta in zip(parts, table_deltas, strict=True):
                    entry = self._entry("compaction", name, table_delta, share)
                    pieces = list(pieces_of([entry], budget, False))
                    size += sum(map(len, pieces))
                    part += pieces
                if size > MOST_BYTES:
                    return None
        return [(b"".join(rows[index]), b"".join(rest[index])) for index in every]

    @without_collections()
    def take(
        self,
        deltas: Sequence[StateDelta],
        load: Loader,
        wants: Callable[[TableId, TableKind], bool],
        keep: KeyFilter | None,
        subtask: int = 0,
        groups: range | None = None,
    ) -> dict[Any, Any]:
        """Add the state in ``deltas`` (in epoch order) of another subtask.

        Args:
            wants: function that tells whether to take over a table, given its name and kind. Other
                tables are not decoded.
            keep: filter for the keys to take from keyed tables; None for all keys.
            subtask: the number of that subtask.
            groups: the key groups of these keys. Entries of other key groups need not be read.

        Returns:
            The operators' own values of that subtask, which are not added.
        """
        values = FlatTable()
        staged: dict[TableId, StateTable] = {}
        self._backend.replaying()
        self._dump_all = True
        self.generation += 1
        for delta in live(list(deltas)):
            for content in self._contents(delta, load):
                for name, kind, schema, encoded in entries_in(content):
                    if name == OPERATOR_TABLE:
                        for written in table_deltas_of(encoded):
                            values.apply(written)
                    elif wants(name, kind):
                        table = self.table(name, kind)
                        if not kind.disjoint:
                            # what that subtask removed, another one may have
                            table = staged.setdefault(name, kind.in_memory())
                        admits = keep
                        if isinstance(keep, KeyGroupFilter) and kind.columnar is None:
                            admits = keep.admits
                        for written in table_deltas_of(encoded, groups):
                            table.apply(self._forms[name].incoming(written, schema), admits)
        for name, table in staged.items():
            if self._kinds[name].redistribution is RedistributionMode.UNION:
                assert isinstance(table, OperatorTable)
                table.renumber(subtask)  # it may hold former elements of ours
            for step in table.everything(self._budget):
                self.tables[name].apply(step.table_delta)
        return values.data

    def _increment(self, epoch: int, dirty: int) -> Iterator[PayloadEntry]:
        """Changes of the epoch, followed by the next part of the incremental compaction."""
        for name, table in self.tables.items():
            for table_delta, count in table.changes_by(self._budget):
                yield self._entry("changes", name, table_delta, count)
        for name, step in self._compaction.advance(epoch, dirty, self._budget):
            yield self._copy(name, step)

    def _copy(self, name: TableId, step: Scan) -> PayloadEntry:
        leave_out = self._left_out.get(name)
        table_delta = step.table_delta if leave_out is None else leave_out(step.table_delta)
        return self._entry("compaction", name, table_delta, step.size)

    def _entry(self, part: str, name: TableId, table_delta: TableDelta, size: int) -> PayloadEntry:
        form = self._forms[name]
        schema = form.schema_of(self.tables[name])
        return PayloadEntry(part, name, form.kind, schema, form.outgoing(table_delta), size)

    def _entries(self, dirty: int) -> int:
        """Approximate number of entries; an exact count each time would cost too much."""
        self._drift += dirty
        if 4 * self._drift >= self._total:
            self._recount()
        return self._total

    def _recount(self) -> None:
        self._total = sum(table.entry_count() for table in self.tables.values())
        self._drift = 0

    def settle(self, wanted: str, known: Container[str] = ()) -> bool:
        """Settle the epoch that has ended. It is sealed if it leads to version ``wanted``, or to an
        earlier version in ``known``; otherwise it is rolled back. An epoch that has begun after it
        is always rolled back. Returns whether the tables are then at version ``wanted``.
        """
        if self._waiting is not None and self._waiting.version is not None:
            leads_to = self._waiting.version
            if leads_to == wanted or leads_to in known:
                self._roll_back_open()
                self._accept(leads_to)
                return self.version == wanted
        is_committed, self._is_committed = self._is_committed, False
        if self._pending is None:
            if not is_committed:
                self.roll_back()
            # else it may be more than of that version
            if not (is_committed or self._dump_all or self.follows_parts):
                self._backend.sealed(self.version, self._schemas)
        elif self._pending == wanted or self._pending in known:
            self._seal(self._pending)
        else:
            self.roll_back()
        return self.version == wanted

    def commit(self) -> None:
        """Seal the epoch that has ended, if it changed anything. This is the waiting epoch, or the
        open epoch if no epoch waits.
        """
        if self._waiting is not None:
            version = self._waiting.version
            if version is None:
                self._waiting = None
            else:
                self._accept(version)
            return
        self._has_ended = False
        if self._pending is not None:
            self._seal(self._pending)
            self._is_committed = True

    def _seal(self, version: str) -> None:
        self.version, self._pending, self._has_ended = version, None, False
        for table in self.tables.values():
            table.seal()
        self._compaction.seal()
        self._note_dumped()
        self._backend.sealed(self.version, self._schemas)

    def _accept(self, version: str) -> None:
        """Accept the waiting epoch, which leads to ``version``."""
        self.version, self._waiting = version, None
        for table in self.tables.values():
            table.accept()
        self._compaction.seal()
        self._backend.sealed(self.version, self._schemas)

    def _note_dumped(self) -> None:
        """Note that the epoch's delta contains all of the state, or all that parts do not contain,
        if it does."""
        self.follows_parts = False
        if self._dump_all:
            self._dump_all = False
            for form in self._forms.values():
                form.rewritten()

    def _apply(self, content: Content) -> None:
        if "all" in content:
            self._clear()
        for name, kind, schema, encoded in entries_in(content):
            if self._watcher is None or self._watcher.wants(name):
                for written in table_deltas_of(encoded):
                    self._apply_to(name, kind, schema, written)

    def _clear(self) -> None:
        for name, table in self.tables.items():
            table.clear()
            self._forms[name].forget()

    def _apply_to(
        self, name: TableId, kind: TableKind, schema: TableSchema, written: TableDelta
    ) -> None:
        table = self.table(name, kind)
        table_delta = self._forms[name].incoming(written, schema)
        if self._watcher is not None:
            self._watcher.replaying(table, name, table_delta)
        table.apply(table_delta)


def _after(version: str, recent: Sequence[StateDelta]) -> list[StateDelta] | None:
    """Deltas after ``version``; None if ``version`` is not among the recent ones."""
    for position, delta in enumerate(recent):
        if delta.version == version:
            return list(recent[position + 1 :])
    return None
