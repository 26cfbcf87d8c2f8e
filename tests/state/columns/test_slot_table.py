"""Slot tables do what a dict does, whatever the type of keys, and forget aborted epochs."""

from __future__ import annotations

import datetime as dt
import pickle
import random
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest

from millrace.common.errors import StateMigrationError
from millrace.state.budget import Budget
from millrace.state.columns.columnar_table import ColumnsOf
from millrace.state.columns.positions import FormerPositions, ValueColumn
from millrace.state.columns.slot_table import SlotTable

COUNT = ValueColumn(np.dtype("i8"), name="count")
SEEN = ValueColumn(np.dtype(object), None, "seen")
UTC = ZoneInfo("UTC")

KEYS: dict[str, tuple[list[pa.DataType], list[tuple[Any, ...]]]] = {
    "int": ([pa.int64()], [(n,) for n in (0, -1, 7, 2**62, -(2**63), 5, None)]),
    "small": ([pa.int8()], [(n,) for n in (0, -1, 7, 127, None)]),
    "boolean": ([pa.bool_()], [(True,), (False,), (None,)]),
    "float": ([pa.float64()], [(0.5,), (-1e300,), (0.0,), (None,)]),
    "date": ([pa.date32()], [(dt.date(2020, 1, day),) for day in range(1, 9)]),
    "time": ([pa.time64("us")], [(dt.time(1, 2, n),) for n in range(9)]),
    "timestamp": (
        [pa.timestamp("ms", "UTC")],
        [(dt.datetime(1960, 1, day, tzinfo=UTC),) for day in range(1, 9)] + [(None,)],
    ),
    "decimal": (
        [pa.decimal128(38, 2)],
        [(Decimal(f"{n}.25"),) for n in (-1, 0, 10**30)] + [(None,)],
    ),
    "text": ([pa.string()], [(n,) for n in ("", "a", "aa", "\0", "x" * 40, "x" * 41, "é", None)]),
    "bytes": ([pa.binary()], [(b"",), (b"\0",), (b"\0\0",), (None,)]),
    "pair": ([pa.int64(), pa.string()], [(n, t) for n in (0, 1, None) for t in ("", "a", None)]),
    "ints": ([pa.int32(), pa.int64()], [(a, b) for a in (0, 1, None) for b in (0, 1, None)]),
    "row": (
        [pa.struct({"a": pa.int64(), "b": pa.string()})],
        [({"a": n, "b": t},) for n in (0, 1) for t in ("x", None)] + [(None,)],
    ),
    "array": ([pa.list_(pa.int64())], [([1, 2],), ([1],), ([],), (None,)]),
    "null": ([pa.null()], [(None,)]),
    "none": ([], [()]),
}


def budget(entries: int) -> Budget:
    found = Budget()
    found.entries = entries
    return found


def columns(kinds: list[pa.DataType], rows: list[tuple[Any, ...]]) -> list[pa.Array]:
    return [pa.array([row[i] for row in rows], kind) for i, kind in enumerate(kinds)]


def plain(key: tuple[Any, ...]) -> str:
    return repr(key)


class Model:
    """A slot table and the dict that it should be."""

    def __init__(self, kinds: list[pa.DataType]) -> None:
        self.kinds = kinds
        self.table = SlotTable()
        self.table.bind(ColumnsOf(tuple(kinds), values=(COUNT, SEEN)))
        self.counts: dict[str, tuple[int, Any]] = {}
        self.sealed = dict(self.counts)
        self.marked = self.sealed
        """Counts at the last mark of the open epoch, or before the epoch."""

    def add(self, rows: list[tuple[Any, ...]]) -> None:
        slots = self.table.slots_of(columns(self.kinds, rows), True, len(rows))
        self.table.touch(slots)
        np.add.at(self.table.column(0), slots, 1)
        self.table.column(1)[slots] = len(self.counts)
        for row in rows:
            self.counts[plain(row)] = (self.counts.get(plain(row), (0, None))[0] + 1, 0)
        found = self.table.column(1)
        seen = dict(zip(map(plain, rows), found.take(slots).tolist(), strict=True))
        self.counts.update({key: (self.counts[key][0], value) for key, value in seen.items()})

    def remove(self, rows: list[tuple[Any, ...]]) -> None:
        slots = self.table.slots_of(columns(self.kinds, rows), False, len(rows))
        self.table.remove(np.unique(slots[slots >= 0]))
        for row in rows:
            self.counts.pop(plain(row), None)

    def seal(self) -> None:
        self.table.seal()
        self.sealed = self.marked = dict(self.counts)

    def roll_back(self) -> None:
        self.table.roll_back()
        self.counts = dict(self.sealed)
        self.marked = self.sealed

    def mark(self) -> None:
        self.table.mark()
        self.marked = dict(self.counts)

    def check(self) -> None:
        assert contents(self.table) == self.counts
        assert self.table.entry_count() == len(self.counts)
        self.check_since(self.table.space.marked(), self.marked)
        self.check_since(self.table.space.former(), self.sealed)

    def check_since(self, former: FormerPositions, before: dict[str, tuple[int, Any]]) -> None:
        """What was touched has the former value, and nothing else has another one now."""
        columns = [column.to_pylist() for column in self.table.keys_at(former.positions)]
        keys = list(zip(*columns, strict=True)) if columns else [()] * former.positions.size
        values = zip(former.values[0].tolist(), former.values[1].tolist(), strict=True)
        noted = zip(map(plain, keys), former.live.tolist(), values, strict=True)
        found = {key: value for key, live, value in noted if live}
        assert found == {key: before[key] for key in found}
        touched = set(map(plain, keys))
        assert len(touched) == len(keys)
        assert not (touched - set(found)) & set(before)
        untouched = {key: value for key, value in self.counts.items() if key not in touched}
        assert untouched == {key: value for key, value in before.items() if key not in touched}


def contents(table: SlotTable) -> dict[str, tuple[int, Any]]:
    slots = table.live_slots()
    keys = [column.to_pylist() for column in table.keys_at(slots)]
    rows = list(zip(*keys, strict=True)) if keys else [()] * slots.size
    values = zip(table.column(0)[slots].tolist(), table.column(1)[slots].tolist(), strict=True)
    return dict(zip(map(plain, rows), values, strict=True))


@pytest.mark.turns(5)
@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("seed", range(3))
def test_any_epochs_and_aborts_give_what_a_dict_has_and_deltas_bring_it_elsewhere(
    name: str, seed: int
) -> None:
    kinds, keys = KEYS[name]
    chance = random.Random(seed)
    model, copy = Model(kinds), SlotTable()
    for _ in range(40):
        for _ in range(chance.randrange(1, 4)):
            rows = chance.choices(keys, k=chance.randrange(1, 12))
            model.remove(rows) if chance.random() < 0.3 else model.add(rows)
            model.check()
            if chance.random() < 0.3:
                model.mark()
        if chance.random() < 0.3:
            model.roll_back()
        else:
            for delta, _ in model.table.changes_by(budget(chance.randrange(1, 9))):
                copy.apply(pickle.loads(pickle.dumps(delta)))
            model.seal()
            assert (contents(copy) if copy.columns else {}) == model.counts
        model.check()


@pytest.mark.parametrize("name", ["int", "text", "pair"])
def test_a_scan_gives_everything_also_to_a_table_that_has_something_else(name: str) -> None:
    kinds, keys = KEYS[name]
    model = Model(kinds)
    model.add(keys * 3)
    model.seal()
    other = SlotTable()
    for step in model.table.everything(budget(3)):
        other.apply(step.table_delta)
    assert contents(other) == model.counts


def test_entries_are_a_dict_to_whom_does_not_know_columns() -> None:
    model = Model([pa.int64(), pa.string()])
    model.add([(1, "a"), (1, "a"), (2, None)])
    changes = model.table.changes()
    assert changes is not None
    assert dict(changes["put"]) == {(1, "a"): (2, 0), (2, None): (1, 0)}
    plain_entries = SlotTable()
    plain_entries.apply({"put": dict(changes["put"]), "del": []})
    assert plain_entries.entry_count() == 2
    plain_entries.bind(ColumnsOf((pa.int64(), pa.string()), values=(COUNT, SEEN)))
    assert contents(plain_entries) == model.counts


def test_a_filter_by_key_keeps_its_keys_only() -> None:
    model = Model([pa.int64()])
    model.add([(n,) for n in range(20)])
    other = SlotTable()
    delta = model.table.changes()
    assert delta is not None
    other.apply(delta, lambda key: key % 3 == 0)
    assert sorted(contents(other)) == sorted(plain((n,)) for n in range(0, 20, 3))


def test_other_columns_than_were_restored_are_refused() -> None:
    model = Model([pa.int64()])
    model.add([(1,)])
    other = SlotTable()
    delta = model.table.changes()
    assert delta is not None
    other.apply(delta)
    with pytest.raises(StateMigrationError, match=r"key0 int64.*key0 string"):
        other.bind(ColumnsOf((pa.string(),), values=(COUNT, SEEN)))


def test_many_keys_grow_the_table_and_give_their_slots_back() -> None:
    model = Model([pa.string()])
    for start in range(0, 60_000, 20_000):
        model.add([(f"user-{n}",) for n in range(start, start + 20_000)])
        model.seal()
    model.remove([(f"user-{n}",) for n in range(50_000)])
    model.seal()
    model.add([(f"other-{n}",) for n in range(50_000)])
    model.seal()
    model.check()
    assert model.table.space.end == 60_000
