"""Columnar tables as state of a subtask: checkpoints, aborts, savepoints, other parallelisms."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from millrace.state.canonical.savepoint import write_canonical_savepoint
from millrace.state.checkpoint.delta_file import write_delta_file
from millrace.state.checkpoint.delta_set import read_deltas_of
from millrace.state.checkpoint.manifest import Manifest
from millrace.state.checkpoint.snapshot import open_snapshot
from millrace.state.column_key_groups import key_groups_of_sql_keys
from millrace.state.columns.columnar_table import ColumnsOf
from millrace.state.columns.positions import ValueColumn
from millrace.state.columns.row_log import RowLog
from millrace.state.columns.slot_table import SlotTable
from millrace.state.division import TableDivision
from millrace.state.key_group_filter import KeyGroupFilter
from millrace.state.key_groups import key_group_of, key_group_range
from millrace.state.snapshot_entries import entries_of
from millrace.state.snapshot_reader import SnapshotReader
from millrace.state.state_delta import StateDelta
from millrace.state.store import SubtaskState
from millrace.state.table_id import TableId
from millrace.state.table_kinds import COLUMN_MAP, COLUMNS, ROW_LOG

MAXIMUM = 16
GROUPS, VALUES, ROWS = (TableId("op", name) for name in ("@groups", "@values", "@rows"))
Contents = dict[str, dict[Any, Any]]


class Query:
    """An operator with every kind of columnar state, as a worker has it."""

    def __init__(self, state: SubtaskState) -> None:
        self.state = state
        count = ValueColumn(np.dtype("i8"), name="count")
        text = ValueColumn(np.dtype(object), None, "greatest")
        self.groups: SlotTable = state.table(GROUPS, COLUMNS)
        self.groups.bind(ColumnsOf((pa.string(), pa.int64()), values=(count, text)))
        self.values: SlotTable = state.table(VALUES, COLUMN_MAP)
        self.values.bind(ColumnsOf((pa.int64(),), (pa.decimal128(30, 2),), values=(count,)))
        self.rows: RowLog = state.table(ROWS, ROW_LOG)
        row = [pa.string(), pa.timestamp("ms", "UTC")]
        self.rows.bind(RowLog.columns_of([pa.int64()], row, [count]))

    def run(self, chance: random.Random) -> None:
        numbers = [chance.randrange(50) for _ in range(chance.randrange(1, 20))]
        texts = pa.array([None if n % 9 == 0 else f"t{n}" for n in numbers], pa.string())
        keys = pa.array(numbers)
        slots = self.groups.slots_of([texts, keys], create=True)
        self.groups.touch(slots)
        np.add.at(self.groups.column(0), slots, 1)
        self.groups.column(1)[slots] = str(chance.random())
        inner = pa.array([None if n % 4 == 0 else n for n in numbers]).cast(pa.decimal128(30, 2))
        slots = self.values.slots_of([keys, inner], create=True)
        self.values.touch(slots)
        np.add.at(self.values.column(0), slots, 1)
        slots = self.rows.slots_of([keys], create=True)
        times = keys.cast(pa.timestamp("ms", "UTC"))
        rows = self.rows.append(slots, pa.record_batch([texts, times], ["a", "b"]))
        self.rows.column(0)[rows] = 7
        gone = pa.array([chance.randrange(50) for _ in range(10)])
        slots = self.rows.slots_of([gone], create=False)
        self.rows.remove(np.unique(self.rows.rows_of(slots)[0]))
        slots = self.values.slots_of([gone, gone.cast(pa.decimal128(30, 2))], create=False)
        self.values.remove(np.unique(slots[slots >= 0]))

    def contents(self) -> Contents:
        return contents(self.state)


def contents(state: SubtaskState) -> Contents:
    return {name.name: dict(state.tables[name].data) for name in (GROUPS, VALUES, ROWS)}


def load(delta: StateDelta) -> bytes:
    assert isinstance(delta.data, bytes)
    return delta.data


def history(seed: int, epochs: int = 30) -> tuple[Query, list[StateDelta]]:
    """A subtask after some epochs, some of them tried twice, and its deltas."""
    chance, query = random.Random(seed), Query(SubtaskState())
    deltas: list[StateDelta] = []
    version = ""
    for epoch in range(1, epochs + 1):
        if chance.random() < 0.3:
            before = query.contents()
            query.run(chance)
            query.state.snapshot(epoch, f"aborted-{epoch}")
            query.state.align(version, deltas, load)
            assert query.contents() == before
        query.run(chance)
        delta = query.state.snapshot(epoch, f"v{epoch}")
        assert delta is not None
        deltas.append(delta)
        version = f"v{epoch}"
        query.state.align(version, deltas, load)
    return query, deltas


@pytest.mark.turns(5)
@pytest.mark.parametrize("seed", range(8))
def test_checkpoints_restore_what_there_was(seed: int) -> None:
    query, deltas = history(seed)
    assert max(delta.low_epoch for delta in deltas) > 1  # the compaction went round
    again = SubtaskState()
    again.restore(deltas[-1].version, deltas, load)
    assert contents(again) == query.contents()
    program = Query(again)  # which declares its columns after that
    assert program.contents() == query.contents()
    program.run(random.Random(1))
    query.run(random.Random(1))
    assert counted(program) == counted(query)


@pytest.mark.turns(5)
@pytest.mark.parametrize("seed", range(8))
def test_two_epochs_in_flight(seed: int) -> None:
    """Whatever becomes of the waiting epoch: the tables hold what they held at that time, and the
    deltas lead another worker there."""
    chance, query, follower = random.Random(seed), Query(SubtaskState()), SubtaskState()
    accepted = query.contents()
    deltas: list[StateDelta] = []
    version = ""
    for epoch in range(1, 40):
        query.run(chance)
        ended = query.contents()
        delta = query.state.snapshot(epoch, f"v{epoch}")
        assert delta is not None
        query.state.begin_next()
        for _ in range(chance.randrange(3)):
            query.run(chance)
        is_accepted, open_ = chance.random() < 0.7, query.contents()
        if is_accepted:
            deltas.append(delta)
            version, accepted = delta.version, ended
        if is_accepted and chance.random() < 0.7:
            query.state.commit()
            assert query.contents() == open_
            assert former(query) == ended
            query.run(chance)
            assert former(query) == ended
        else:
            query.state.align(version, deltas, load)  # of which the worker was not told
            assert query.contents() == accepted
        if is_accepted:
            bring = follower.align if follower.version else follower.restore
            bring(version, deltas, load)
            assert contents(follower) == ended
    query.state.align(version, deltas, load)
    assert query.contents() == accepted
    assert max(delta.low_epoch for delta in deltas) > 1  # the compaction went round
    query.run(chance)
    query.state.snapshot(40, "v40")
    query.state.commit()
    assert query.rows.keys.space.count == len({key for key, _ in query.contents()["@rows"]})


def former(query: Query) -> Contents:
    """What the tables say that they held before the open epoch."""
    tables = {name.name: query.state.tables[name] for name in (GROUPS, VALUES, ROWS)}
    return {name: dict(table.former_entries()["put"]) for name, table in tables.items()}


def test_a_key_that_the_waiting_epoch_removed_comes_back() -> None:
    """It keeps its slot: the roll-back of either epoch needs it, and so does the acceptance."""
    for outcome in ("accepted", "refused", "open one undone"):
        query = Query(SubtaskState())
        keys = [pa.array([1, 2])]
        slots = query.values.slots_of([*keys, keys[0].cast(pa.decimal128(30, 2))], create=True)
        query.values.column(0)[slots] = 5
        query.state.snapshot(1, "v1")
        query.state.commit()
        query.values.remove(slots[:1])
        query.state.snapshot(2, "v2")
        query.state.begin_next()
        one = pa.array([1])
        again = query.values.slots_of([one, one.cast(pa.decimal128(30, 2))], create=True)
        query.values.column(0)[again] = 9
        if outcome == "accepted":
            query.state.commit()
            query.state.snapshot(3, "v3")
            query.state.settle("v3")
        else:
            query.state.settle("v1" if outcome == "refused" else "v2")
        expected = {"accepted": [9, 5], "refused": [5, 5], "open one undone": [5]}[outcome]
        assert sorted(v[0] for v in query.values.data.values()) == sorted(expected)
        assert query.values.entry_count() == len(expected)


def counted(query: Query) -> Any:
    """All of it, but for the numbers of rows: those of rows that are gone may be given again."""
    found = query.contents()
    found["@rows"] = {n: (key, row) for n, ((key, _), row) in enumerate(found["@rows"].items())}
    found["@rows"] = dict.fromkeys(sorted(map(repr, found["@rows"].values())))
    return {name: sorted(map(repr, table.items())) for name, table in found.items()}


@pytest.mark.parametrize("parallelism", [1, 3])
def test_a_key_goes_to_the_subtask_of_its_key_group(parallelism: int) -> None:
    query, deltas = history(3)
    parts = query.state.divided(TableDivision(parallelism, MAXIMUM))
    assert parts is not None
    found: Contents = {name.name: {} for name in (GROUPS, VALUES, ROWS)}
    for index, (rows, rest) in enumerate(parts):
        own = key_group_range(index, parallelism, MAXIMUM)
        taken, part = SubtaskState(), SubtaskState()
        taken.take(
            deltas,
            load,
            lambda name, kind: True,
            lambda key, own=own: key_group_of(key, MAXIMUM) in own,
        )
        part.restore("v", [StateDelta(1, "r", 1, rows), StateDelta(1, "v", 1, rest)], load)
        assert contents(part) == contents(taken)
        for name, entries in contents(part).items():
            found[name].update(entries)
    assert found == query.contents()


KEYS = {
    "array": [pa.array([[n % 5, None, n] for n in range(40)])],
    "row": [pa.array([{"a": n, "b": f"t{n}"} for n in range(40)])],
    "map": [pa.array([[(f"k{n}", n)] for n in range(40)], pa.map_(pa.string(), pa.int64()))],
    "nan": [pa.array([float("nan"), -0.5, None, *map(float, range(37))])],
    "several": [pa.array([[n] for n in range(40)]), pa.array([float("nan")] * 40)],
    "date": [pa.array(range(40), pa.int32()).cast(pa.date32())],
    "none": [],
}


@pytest.mark.parametrize("canonical", [False, True], ids=["checkpoint", "savepoint"])
@pytest.mark.parametrize("case", KEYS)
def test_keys_of_sql_are_restored_where_records_go(
    case: str, canonical: bool, tmp_path: Path
) -> None:
    """NaN, rows, arrays and maps are keys there, and nowhere else."""
    keys = KEYS[case]
    count = ValueColumn(np.dtype("i8"), name="count")
    columns = ColumnsOf(tuple(key.type for key in keys), values=(count,))
    state = SubtaskState()
    table: SlotTable = state.table(GROUPS, COLUMNS)
    table.bind(columns)
    slots = table.slots_of(keys, True, 1)
    table.touch(slots)
    table.column(0)[slots] = 1
    deltas = [state.snapshot(1, "v")]
    assert deltas[0] is not None
    if canonical:
        reader = savepoint(deltas, tmp_path)
        deltas, fetch = reader.deltas("stage", 0), reader._load
    else:
        fetch = load
    found = 0
    for subtask in range(3):
        own = key_group_range(subtask, 3, MAXIMUM)
        part = SubtaskState()
        mine: SlotTable = part.table(GROUPS, COLUMNS)
        part.take(deltas, fetch, lambda *_: True, KeyGroupFilter(own, MAXIMUM), groups=own)
        mine.bind(columns)
        slots = mine.live_slots()
        groups = key_groups_of_sql_keys(mine.keys_at(slots), slots.size, MAXIMUM)
        assert set(groups.tolist()) <= set(own)
        found += slots.size
    assert found == (40 if keys else 1)


def test_canonical_savepoints_have_it_and_a_program_takes_it_from_there(tmp_path: Path) -> None:
    query, deltas = history(5)
    reader = savepoint(deltas, tmp_path)
    names = {info.name: info for info in reader.states()}
    groups = {entry.key: entry.value for entry in reader.entries(names["@groups"])}
    assert groups == query.contents()["@groups"]
    state = reader.restore("stage", 0)
    assert Query(state).contents() == query.contents()


def savepoint(deltas: list[StateDelta], tmp_path: Path) -> SnapshotReader:
    (tmp_path / "job" / "shared").mkdir(parents=True)
    written = [("stage", 0, delta) for delta in deltas]
    file = write_delta_file(tmp_path / "job", "a.deltas", written, durable=False)
    manifest = Manifest(
        job_id="job", job_name="job", run_id="r", checkpoint=1, epoch=2, timestamp=0, parent=None,
        max_parallelism=MAXIMUM, stages={"stage": 1}, operators={"op": "GroupAggregate"},
        versions={("stage", 0): deltas[-1].version}, delta_files=(file.ref,),
        sources={}, pending={}, chains={"stage": ("op",)},
    )  # fmt: skip
    found = read_deltas_of(tmp_path / "job", manifest, tmp_path / "job").by_subtask()
    write_canonical_savepoint(tmp_path / "savepoint", str(tmp_path / "job"), manifest, found, {})
    return SnapshotReader(open_snapshot(tmp_path / "savepoint", trusted=False))


def test_entries_are_shown_by_key() -> None:
    query, _ = history(2)
    shown = {entry.key: entry.value for entry in entries_of(query.state, ROWS)}
    expected: dict[Any, list[Any]] = {}
    for (key, _), row in sorted(query.contents()["@rows"].items()):
        expected.setdefault(key, []).append(row)
    assert shown == expected
    maps = {entry.key: entry.value for entry in entries_of(query.state, VALUES)}
    assert sum(map(len, maps.values())) == len(query.contents()["@values"])
