"""When a backend on disk reads, writes, gives memory up, and says of which version it is."""

from __future__ import annotations

import copy
import errno
import pickle
import random
from collections.abc import Iterator
from ipaddress import IPv4Address
from math import nan
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from millrace.common.errors import KeyTypeError
from millrace.state.backend.key_value_store import KeyValueStore, StoredRow, WriteBatch
from millrace.state.backend.saved_marker import MARKER, PROGRAM, SavedMarker
from millrace.state.backend.spilled_nested_table import SpilledNestedTable
from millrace.state.backend.spilling_backend import SEALS, NewStores, SpillingKeyedStateBackend
from millrace.state.columns.columnar_table import ColumnsOf
from millrace.state.columns.positions import ValueColumn
from millrace.state.kinds.layout import Layout
from millrace.state.kinds.table_kind import TableKind
from millrace.state.serialization.payload import encode
from millrace.state.state_delta import StateDelta, live
from millrace.state.store import StateMissError, SubtaskState
from millrace.state.table_id import TableId
from millrace.state.table_kinds import BROADCAST, COLUMNS, EVENT_TIMER_QUEUE, FLAT, LIST, MAP
from millrace.testing.sorted_store import SortedStore
from millrace.testing.table_program import KINDS, TableProgram


class Kept(NewStores):
    """Hands out one store, and what somebody left."""

    def __init__(self, left: SortedStore | None = None) -> None:
        super().__init__(SortedStore)
        self.store = SortedStore()
        self._left = left

    def create(self) -> KeyValueStore:
        return self.store

    def left(self) -> Iterator[KeyValueStore]:
        return iter(() if self._left is None else (self._left,))


def inline(delta: StateDelta) -> bytes:
    assert isinstance(delta.data, bytes)
    return delta.data


def opened(stores: Kept, cache: int = 0, recoverable: bool = False) -> SubtaskState:
    return SubtaskState(backend=SpillingKeyedStateBackend(stores, cache, recoverable))


def accept(state: SubtaskState, number: int) -> StateDelta:
    delta = state.snapshot(number, f"v{number}")
    assert delta is not None
    state.align(delta.version, [delta], inline)
    return delta


def test_a_state_that_fits_is_never_written() -> None:
    """Nor looked for on the disk."""
    stores = Kept()
    state = opened(stores, cache=1 << 20)
    table = state.table(TableId("op", "v"), FLAT)
    for number in range(1, 5):
        for key in range(100):
            table.put(key, (table.get(key) or 0) + 1)
        accept(state, number)
    assert table.get(7) == 4
    assert stores.store.reads == stores.store.writes == 0


def test_one_read_for_the_keys_of_a_batch() -> None:
    """Those that are not there are not asked for again, either."""
    stores = Kept()
    state = opened(stores)
    table = state.table(TableId("op", "v"), FLAT)
    for key in range(100):
        table.put(key, key)
    accept(state, 1)
    assert table.cached() == 0
    table.prefetch([*range(50), *range(1000, 1010)])
    assert stores.store.reads == 1
    assert [table.get(key) for key in range(50)] == list(range(50))
    assert not any(key in table.data for key in range(1000, 1010))
    assert stores.store.reads == 1
    assert table.get(70) == 70
    assert stores.store.reads == 2


def test_one_entry_of_a_large_map() -> None:
    """Costs a look at the key and one at the entry, however many there are."""
    stores = Kept()
    state = opened(stores)
    table = state.table(TableId("op", "m"), MAP)
    for field in range(1000):
        table.put("hot", field, field)
    accept(state, 1)
    assert table.data["hot"][500] == 500
    assert stores.store.reads == 2
    assert table.cached() == 2


def test_an_open_epoch_writes_nothing() -> None:
    """However much it changes; taking it back needs nothing of the disk."""
    stores = Kept()
    state = opened(stores)
    table = state.table(TableId("op", "v"), FLAT)
    table.put(1, "old")
    accept(state, 1)
    written = dict(stores.store.rows)
    for key in range(5000):
        table.put(key, "new")
    state.snapshot(2, "v2")
    assert stores.store.rows == written
    state.align("v1", [], inline)
    assert stores.store.rows == written
    assert dict(table.data.items()) == {1: "old"}


IN_FLIGHT = {
    TableId("op", kind.name): kind for kind in (*KINDS, EVENT_TIMER_QUEUE, BROADCAST, COLUMNS)
}
Model = dict[TableId, dict[Any, Any]]


def bound(state: SubtaskState) -> SubtaskState:
    """The store with the columns that the program declares."""
    column = ValueColumn(np.dtype("i8"), name="count")
    state.table(TableId("op", COLUMNS.name), COLUMNS).bind(
        ColumnsOf((pa.int64(),), values=(column,))
    )
    return state


def changed(state: SubtaskState, model: Model, chance: random.Random) -> Model:
    model, program = copy.deepcopy(model), TableProgram(chance)
    for _ in range(chance.randrange(20)):
        name, kind = chance.choice(list(IN_FLIGHT.items()))
        table = state.table(name, kind)
        if kind is not COLUMNS:
            program.step(table, model[name])
            continue
        key = chance.randrange(5)
        slots = table.slots_of([pa.array([key])], create=True)
        table.touch(slots)
        table.column(0)[slots] += 1
        model[name][key] = (model[name].get(key, (0,))[0] + 1,)
        gone = chance.randrange(5)
        slots = table.slots_of([pa.array([gone])], create=False)
        table.remove(slots[slots >= 0])
        model[name].pop(gone, None)
    return model


def contents(state: SubtaskState) -> Model:
    found: Model = {}
    for name, kind in IN_FLIGHT.items():
        table = state.table(name, kind)
        entries = dict(table.data.items())
        if kind.layout is Layout.NESTED:
            entries = {o: dict(e.items()) for o, e in entries.items() if dict(e.items())}
        found[name] = entries
    return found


def succeeds(store: SortedStore, deltas: list[StateDelta], accepted: Model) -> bool:
    """Restore the state of a process that dies now; returns whether its store was of use."""
    left = SortedStore()
    left.rows = dict(store.rows)
    state = opened(Kept(left), recoverable=True)
    loaded: list[StateDelta] = []

    def load(delta: StateDelta) -> bytes:
        loaded.append(delta)
        return inline(delta)

    state.restore(deltas[-1].version, deltas, load)
    assert contents(bound(state)) == accepted
    return len(loaded) < len(deltas)


@pytest.mark.turns(5)
@pytest.mark.parametrize("cache", [0, 3000])
@pytest.mark.parametrize("seed", range(6))
def test_a_process_that_dies_with_two_epochs_in_flight(seed: int, cache: int) -> None:
    """At any time its store holds an accepted version, though flushes happen while the next epoch
    is open; its successor reads the later deltas only."""
    chance, stores = random.Random(seed), Kept()
    state = bound(opened(stores, cache, recoverable=True))
    accepted: Model = {name: {} for name in IN_FLIGHT}
    model, recovered = accepted, 0
    deltas: list[StateDelta] = []
    for number in range(1, 40):
        ended = changed(state, model, chance)
        delta = state.snapshot(number, f"v{number}")
        state.begin_next()
        model = changed(state, ended, chance)
        refused = chance.random() < 0.2
        if refused or delta is None:
            state.roll_back()
            model = accepted
        else:
            deltas, accepted = live([*deltas, delta]), ended
            state.commit()
        assert contents(state) == model
        if deltas and chance.random() < 0.4:
            recovered += succeeds(stores.store, deltas, accepted)
    assert recovered


@pytest.mark.parametrize("kind", [FLAT, LIST, MAP], ids=lambda kind: kind.name)
def test_memory_is_given_up_though_the_next_epoch_is_open(kind: TableKind) -> None:
    """All but what the open epoch touched, also below the outer key that it uses."""
    state = opened(Kept())
    table = state.table(TableId("op", "t"), kind)
    for key in range(500):
        put(table, kind, key, f"{key}")
    state.snapshot(1, "v1")
    state.begin_next()
    for key in range(490, 510):
        put(table, kind, key, "new")
    state.commit()
    assert held(table) == 20 * len("new")
    state.roll_back()
    expected = SubtaskState().table(TableId("op", "t"), kind)
    for key in range(500):
        put(expected, kind, key, f"{key}")
    found = table.data.items()
    nested = kind.layout is Layout.NESTED
    assert {k: dict(v.items()) if nested else v for k, v in found} == expected.data


def with_map(entries: dict[str, int]) -> tuple[SubtaskState, Any]:
    """A store without memory, which has an accepted map on the disk below the outer key "o"."""
    state = opened(Kept())
    table = state.table(TableId("op", "m"), MAP)
    for inner, value in entries.items():
        table.put("o", inner, value)
    state.snapshot(1, "v1")
    state.commit()
    assert not dict.__len__(table.data)
    return state, table


def begin_next(state: SubtaskState, number: int) -> None:
    assert state.snapshot(number, f"v{number}") is not None
    state.begin_next()


def below(table: Any) -> dict[Any, Any]:
    return dict(table.data.get("o", {}).items())


def test_an_entry_that_was_absent_and_leaves_memory() -> None:
    """It is found on the disk, though the open epoch keeps the rest of its map in memory."""
    state, table = with_map({"a": 1, "b": 2})
    table.prefetch_inner("o", ["new"])
    table.put("o", "new", 3)
    begin_next(state, 2)
    table.put("o", "a", 9)
    state.commit()
    assert set(dict.keys(table.data["o"])) == {"a"}
    assert table.data["o"].get("new") == 3


def test_a_map_that_the_waiting_epoch_dropped_comes_back() -> None:
    """With the entries that are only on the disk, one of which was set anew meanwhile."""
    state, table = with_map({"a": 1, "b": 2})
    table.drop("o")
    table.put("o", "a", 7)
    begin_next(state, 2)
    assert below(table) == {"a": 7}
    state.roll_back()
    assert below(table) == {"a": 1, "b": 2}


@pytest.mark.parametrize("undone", [True, False])
def test_a_map_that_both_epochs_dropped(undone: bool) -> None:
    state, table = with_map({"a": 1, "b": 2})
    table.drop("o")
    table.put("o", "c", 3)
    table.put("o", "d", 4)
    begin_next(state, 2)
    table.drop("o")
    table.put("o", "e", 5)
    state.commit()
    assert below(table) == {"e": 5}
    if undone:
        state.roll_back()
        assert below(table) == {"c": 3, "d": 4}
    kept = {"c": 3, "d": 4} if undone else {}
    table.put("o", "e", 6)
    begin_next(state, 3)
    table.put("o", "f", 7)
    state.commit()  # the others leave memory
    assert below(table) == {**kept, "e": 6, "f": 7}


def test_the_marker_tells_the_version() -> None:
    """It is there with the changes that make it true, and goes before anything else is written."""
    stores = Kept()
    state = opened(stores, cache=1 << 20, recoverable=True)
    table = state.table(TableId("op", "v"), FLAT)
    deltas = []
    for number in range(1, SEALS + 1):
        table.put(number, number)
        deltas.append(accept(state, number))
    marker = SavedMarker.read(stores.store)
    assert marker is not None
    assert marker.version == f"v{SEALS}"
    other = SubtaskState()
    other.restore(f"v{SEALS}", deltas, inline)
    other.table(TableId("op", "v"), FLAT).put(0, "replayed")
    deltas.append(accept(other, SEALS + 1))
    state.align(deltas[-1].version, deltas[-2:], inline)
    marker = SavedMarker.read(stores.store)
    assert marker is not None
    assert marker.version == f"v{SEALS + 1}"
    successor = opened(Kept(stores.store), recoverable=True)
    successor.restore(deltas[-1].version, deltas, inline)
    assert successor.table(TableId("op", "v"), FLAT).get(0) == "replayed"


CONTENT = ("v1", {("op", "v"): ("flat", (1, 2), 1)}, {}, {("op", "v"): None})


@pytest.mark.parametrize(
    ("row", "used"),
    [
        (encode((*PROGRAM, encode(CONTENT))), True),
        (encode((PROGRAM[0] + 1, *PROGRAM[1:], encode(CONTENT))), False),
        (encode((PROGRAM[0], "0.0", PROGRAM[2], encode(CONTENT))), False),
        (encode((*PROGRAM[:2], "3.1.4", b"what only that one can read")), False),
        (encode((*PROGRAM, encode(("v1", {("op", "v"): 1}, {}, {})))), False),
        (pickle.dumps(CONTENT), False),
        (b"pcmissing_module\nGone\n.", False),
        (b"", False),
    ],
)
def test_a_marker_of_another_program(row: bytes, used: bool) -> None:
    """Or a damaged one: the store is as good as none."""
    stores = Kept()
    state = opened(stores, recoverable=True)
    state.table(TableId("op", "v"), FLAT).put(1, 1)
    deltas = [accept(state, 1)]
    stores.store.rows[MARKER] = row
    successor = opened(Kept(stores.store), recoverable=True)
    read: list[StateDelta] = []

    def load(delta: StateDelta) -> bytes:
        read.append(delta)
        return inline(delta)

    successor.restore("v1", deltas, load)
    assert successor.table(TableId("op", "v"), FLAT).get(1) == 1
    assert bool(read) != used


def test_after_a_direct_write_there_is_no_marker() -> None:
    """Until all that belongs to the version is there."""
    stores = Kept()
    state = opened(stores, recoverable=True)
    state.table(TableId("op", "v"), FLAT).put(1, 1)
    accept(state, 1)
    assert MARKER in stores.store.rows
    state.tables[TableId("op", "v")].apply({"put": {2: 2}, "del": []})
    assert MARKER not in stores.store.rows


def test_a_key_without_an_encoding() -> None:
    """Is refused where it is written, with a hint at the other backend: it never gets into a
    checkpoint."""
    state = opened(Kept())
    table = state.table(TableId("op", "m"), MAP)
    for key in (object(), IPv4Address("127.0.0.1"), nan, (1, nan)):
        with pytest.raises(KeyTypeError, match="'hashmap' does not"):
            table.put("k", key, 1)
    assert state.snapshot(1, "v1") is None


def test_a_checkpoint_with_a_key_without_an_encoding() -> None:
    """Written by the other backend: the reason is told, and is not damage."""
    state = SubtaskState()
    state.table(TableId("op", "m"), MAP).put("k", IPv4Address("127.0.0.1"), 1)
    delta = accept(state, 1)
    with pytest.raises(KeyTypeError, match="'hashmap' does not"):
        opened(Kept()).restore("v1", [delta], inline)


def test_rows_of_every_type_of_key() -> None:
    """Come back as they were, whatever shares an encoding."""
    keys = [1, -5, "x", b"y", 2.5, (1, "a"), None, 10**30, "\ud800", 3.0, ("t", (True,))]
    state = opened(Kept())
    flat, nested = state.table(TableId("op", "v"), FLAT), state.table(TableId("op", "m"), MAP)
    for key in keys:
        flat.put(key, [key])
        nested.put(key, key, {key})
    accept(state, 1)
    assert flat.cached() == nested.cached() == 0
    found = dict(flat.data.items())
    assert {repr(key) for key in found} == {repr(key) for key in keys}
    inner = {repr(outer): dict(e.items()) for outer, e in nested.data.items()}
    assert inner == {repr(key): {key: {key}} for key in keys}


class Counting(SortedStore):
    """Counts the rows that are gone over."""

    scanned = 0

    def scan(self, start: bytes, end: bytes) -> Iterator[StoredRow]:
        for row in super().scan(start, end):
            self.scanned += 1
            yield row


@pytest.mark.parametrize("step", [1, -1])
def test_removing_a_map_entry_by_entry(step: int) -> None:
    """Does not go over all that was removed each time; rolled back, all of it is there again."""
    stores = Kept()
    store = stores.store = Counting()
    state = opened(stores)
    table = state.table(TableId("op", "m"), MAP)
    for field in range(200):
        table.put("hot", field, field)
    accept(state, 1)
    for field in range(200)[::step]:
        table.remove("hot", field)
    assert "hot" not in table.data
    for _ in range(50):
        table.put("hot", -1, -1)
        table.remove("hot", -1)
    assert store.scanned < 2000
    state.align("v1", [], inline)
    assert dict(table.data["hot"].items()) == {field: field for field in range(200)}
    for field in range(200)[::step]:
        table.remove("hot", field)
    accept(state, 2)
    assert not table.data
    assert not store.rows


def test_a_pane_that_was_only_opened() -> None:
    """Leaves nothing to be written."""
    state = opened(Kept(), cache=1 << 20)
    table = state.table(TableId("op", "m"), MAP)
    table.put("other", 1, 1)
    table._opened("opened")
    accept(state, 1)
    assert table.unsaved_count() == 1
    assert "opened" not in table.unsaved


BIG = 20_000


def filled(state: SubtaskState, kind: TableKind) -> Any:
    """A table of 400 big values, written a few at a time."""
    table = state.table(TableId("op", kind.name), kind)
    for number in range(40):
        for key in range(number * 10, number * 10 + 10):
            put(table, kind, key, str(key % 10) * BIG)
        accept(state, number + 1)
    return table


def put(table: Any, kind: TableKind, key: int, value: str) -> None:
    if kind is MAP:
        table.put(key % 7, key, value)
    elif kind is LIST:
        table.put(key, [value])
    else:
        table.put(key, value)


def held(table: Any) -> int:
    """Bytes of the values in memory."""
    values = dict.values(table.data)
    if isinstance(table, SpilledNestedTable):
        values = [value for inner in values for value in dict.values(inner)]
    return sum(sum(map(len, v)) if isinstance(v, list) else len(v) for v in values)


@pytest.mark.parametrize("kind", [FLAT, LIST, MAP])
def test_big_values_are_given_up_in_time(kind: TableKind) -> None:
    """Whether they were written or only read."""
    state = opened(Kept(), cache=50 * BIG)
    table = filled(state, kind)
    assert 0 < held(table) <= 50 * BIG
    for start in range(0, 400, 10):
        keys = range(start, start + 10)
        if kind is MAP:
            assert all(len(table.data[key % 7][key]) == BIG for key in keys)
        else:
            table.prefetch(keys)
        state.align(state.version, [], inline)
        assert held(table) <= 50 * BIG


def test_lists_that_grow_are_measured_again() -> None:
    """Though their number does not change."""
    state = opened(Kept(), cache=2_000_000)
    table = state.table(TableId("op", "l"), LIST)
    for number in range(100):
        for key in range(10):
            table.append(key, f"{number}-{key}-" * 500)
        accept(state, number + 1)
        assert held(table) <= 2_000_000


def test_idle_epochs_do_not_write_the_marker_again() -> None:
    """But the first of them may, if it is due."""
    stores = Kept()
    state = opened(stores, cache=1 << 20, recoverable=True)
    state.table(TableId("op", "v"), FLAT).put(1, 1)
    accept(state, 1)
    for _ in range(SEALS):
        state.align("v1", [], inline)
    marker = SavedMarker.read(stores.store)
    assert marker is not None
    assert marker.version == "v1"
    written = stores.store.writes
    for _ in range(2 * SEALS):
        state.align("v1", [], inline)
    assert stores.store.writes == written


def test_keys_known_to_be_absent_take_memory() -> None:
    """Also after other keys have been given up."""
    state = opened(Kept())
    table = state.table(TableId("op", "m"), MAP)
    for outer in ("cold", "hot"):
        table.put(outer, 1, 1)
    accept(state, 1)
    assert table.cached() == 0
    assert table.data["cold"][1] == 1
    table.prefetch_inner("hot", range(1000, 2000))
    table.evict(1)
    assert table.cached() >= 1000
    state.align("v1", [], inline)
    assert table.cached() == 0


NAME = TableId("op", "v")


class FullDisk(SortedStore):
    """Gathers what a load brings, and cannot write it while the disk is full."""

    def __init__(self) -> None:
        super().__init__()
        self.full = False
        self._gathered: list[WriteBatch] | None = None

    def begin_load(self) -> None:
        self._gathered = []

    def write(self, changes: WriteBatch) -> None:
        if self._gathered is not None:
            self._gathered.append(changes)
        elif self.full:
            raise OSError(errno.ENOSPC, "No space left on device")
        else:
            super().write(changes)

    def end_load(self) -> None:
        gathered, self._gathered = self._gathered or [], None
        for changes in gathered:
            self.write(changes)


class Noted(SortedStore):
    """Notes when compactions may go on."""

    def __init__(self) -> None:
        super().__init__()
        self.resumed = 0

    def resume_compaction(self) -> None:
        self.resumed += 1


def test_compactions_go_on_after_the_first_epoch() -> None:
    stores, delta = Kept(), written()
    store = stores.store = Noted()
    state = opened(stores)
    state.restore("v1", [delta], inline)
    state.tables[NAME].put("a", 2)
    after = state.snapshot(2, "v2")
    assert after is not None
    assert not store.resumed
    assert state.align("v2", [after], inline)  # the next epoch begins
    assert store.resumed == 1


def written() -> StateDelta:
    """The delta of a state with some entries."""
    state = SubtaskState()
    state.table(NAME, FLAT).put("a", 1)
    delta = state.snapshot(1, "v1")
    assert delta is not None
    return delta


@pytest.mark.parametrize("taken", [False, True])
def test_a_restore_that_did_not_fit_on_the_disk(taken: bool) -> None:
    """Is no state of any version: the next attempt has to restore again."""
    stores, delta = Kept(), written()
    disk = stores.store = FullDisk()
    state = opened(stores)

    def restore() -> None:
        state.reset()
        if taken:
            state.take([delta], inline, lambda name, kind: True, None)
            state.adopt("v1")
        else:
            state.restore("v1", [delta], inline)

    disk.full = True
    with pytest.raises(OSError, match="No space"):
        restore()
    with pytest.raises(StateMissError):
        state.align("v1", [], inline)
    disk.full = False
    restore()
    assert state.align("v1", [], inline)
    assert state.tables[NAME].get("a") == 1


def test_a_replay_that_can_neither_go_on_nor_be_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    stores = Kept()
    disk = stores.store = FullDisk()
    monkeypatch.setattr(FullDisk, "begin_load", lambda self: None)
    state, delta = opened(stores), written()
    state.restore("v1", [delta], inline)
    disk.full = True
    with pytest.raises(OSError, match="No space"):
        state.align("v2", [delta, StateDelta(2, "v2", 1, delta.data)], inline)
    with pytest.raises(StateMissError):
        state.align("v1", [], inline)


def test_a_full_disk_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be emptied is closed and deleted, nevertheless."""
    stores, removed = Kept(), list[str]()
    disk = stores.store = FullDisk()
    monkeypatch.setattr(disk, "close", lambda: removed.append("closed"))
    monkeypatch.setattr(stores, "remove", lambda: removed.append("removed"))
    state = opened(stores)
    state.restore("v1", [written()], inline)
    disk.full = True
    with pytest.raises(OSError, match="No space"):
        state.close()
    assert removed == ["closed", "removed"]


def test_a_marker_that_could_not_be_removed_is_removed_later() -> None:
    """Else another process would take what is written next for that version."""
    stores = Kept()
    disk = stores.store = FullDisk()
    state, delta = opened(stores, recoverable=True), written()
    state.restore("v1", [delta], inline)
    assert MARKER in disk.rows
    disk.full = True
    with pytest.raises(OSError, match="No space"):
        state.restore("v2", [delta], inline)
    disk.full = False
    state.reset()
    assert disk.rows == {}
