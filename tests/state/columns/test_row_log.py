"""Row logs do what a dict of lists does, and forget aborted epochs."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from millrace.state.budget import Budget
from millrace.state.columns.positions import ValueColumn
from millrace.state.columns.row_log import RowLog

Rows = dict[str, list[tuple[int, str | None, int]]]
MATCHES = ValueColumn(np.dtype("i8"), name="matches")


def budget(entries: int) -> Budget:
    found = Budget()
    found.entries = entries
    return found


def new_log() -> RowLog:
    log = RowLog()
    log.bind(RowLog.columns_of([pa.string()], [pa.int64(), pa.string()], [MATCHES]))
    return log


def contents(log: RowLog) -> Rows:
    found: Rows = {}
    slots = log.keys.live_slots()
    keys = log.keys.keys_at(slots)[0].to_pylist()
    rows, owners = log.rows_of(slots)
    batch = log.take(rows)
    columns = (
        batch.column(0).to_pylist(),
        batch.column(1).to_pylist(),
        log.column(0)[rows].tolist(),
    )
    for owner, *row in zip(owners.tolist(), *columns, strict=True):
        found.setdefault(keys[owner], []).append(tuple(row))
    return found


class Model:
    def __init__(self) -> None:
        self.log = new_log()
        self.rows: Rows = {}
        self.sealed: Rows = {}
        self.marked: Rows = {}
        """Rows at the last mark of the open epoch, or before the epoch."""
        self.number = 0

    def append(self, keys: list[str]) -> None:
        slots = self.log.slots_of([pa.array(keys, pa.string())], create=True)
        numbers = list(range(self.number, self.number + len(keys)))
        self.number += len(keys)
        texts = [None if n % 5 == 0 else "x" * (n % 7) for n in numbers]
        self.log.append(slots, pa.record_batch({"n": numbers, "t": pa.array(texts, pa.string())}))
        for key, number, text in zip(keys, numbers, texts, strict=True):
            self.rows.setdefault(key, []).append((number, text, 0))

    def change(self, keys: list[str], chosen: Callable[[int], bool], remove: bool) -> None:
        distinct = sorted(set(keys))
        slots = self.log.slots_of([pa.array(distinct, pa.string())], create=False)
        assert self.log.counts(slots).tolist() == [len(self.rows.get(key, [])) for key in distinct]
        rows, _ = self.log.rows_of(slots)
        numbers = self.log.take(rows).column(0).to_pylist()
        rows = rows[np.array([chosen(n) for n in numbers], np.bool_)]
        if remove:
            self.log.remove(rows)
        else:
            self.log.touch(rows)
            self.log.column(0)[rows] += 1
        for key in distinct:
            mine = self.rows.pop(key, [])
            if remove:
                left = [row for row in mine if not chosen(row[0])]
            else:
                left = [(n, t, m + chosen(n)) for n, t, m in mine]
            if left:
                self.rows[key] = left

    def seal(self) -> None:
        self.log.seal()
        self.sealed = self.marked = {key: list(rows) for key, rows in self.rows.items()}

    def roll_back(self) -> None:
        self.log.roll_back()
        self.rows = {key: list(rows) for key, rows in self.sealed.items()}
        self.marked = self.sealed

    def mark(self) -> None:
        self.log.mark()
        self.marked = {key: list(rows) for key, rows in self.rows.items()}

    def begin_next(self) -> None:
        self.log.begin_next()
        self.accepted = self.sealed
        self.sealed = self.marked = {key: list(rows) for key, rows in self.rows.items()}

    def roll_back_both(self) -> None:
        self.roll_back()
        self.log.roll_back_waiting()
        self.sealed = self.marked = self.accepted
        self.rows = {key: list(rows) for key, rows in self.sealed.items()}

    def play(self, chance: random.Random, names: list[str]) -> None:
        """A random change."""
        keys = chance.choices(names, k=chance.randrange(1, 12))
        action, part = chance.random(), chance.randrange(1, 4)
        if action < 0.5:
            self.append(keys)
        else:
            self.change(keys, lambda n: n % 4 < part, action < 0.8)
        assert contents(self.log) == self.rows
        slots = self.log.slots_of([pa.array(names, pa.string())], create=False)
        known = slots[slots >= 0]
        rows, owners = self.log.former_rows_of(known)
        found: dict[str, list[int]] = {}
        keys = self.log.keys.keys_at(known.take(owners))[0].to_pylist()
        for key, number in zip(keys, self.log.take(rows).column(0).to_pylist(), strict=True):
            found.setdefault(key, []).append(number)
        there = {names[index] for index in np.flatnonzero(slots >= 0).tolist()}
        assert found == {
            k: [row[0] for row in rows] for k, rows in self.marked.items() if k in there
        }
        if chance.random() < 0.3:
            self.mark()


@pytest.mark.turns(5)
@pytest.mark.parametrize("seed", range(20))
def test_any_epochs_and_aborts_give_what_lists_have_and_deltas_bring_it_elsewhere(
    seed: int,
) -> None:
    chance = random.Random(seed)
    names = [f"k{n}" for n in range(chance.choice((1, 5, 30)))]
    model, copy = Model(), new_log()
    for _ in range(40):
        for _ in range(chance.randrange(1, 4)):
            model.play(chance, names)
        if chance.random() < 0.3:
            model.roll_back()
        else:
            for delta, _ in model.log.changes_by(budget(chance.randrange(1, 9))):
                copy.apply(pickle.loads(pickle.dumps(delta)))
            model.seal()
            assert ordered(copy) == ordered(model.log)
        assert contents(model.log) == model.rows
        assert model.log.entry_count() == sum(map(len, model.rows.values()))
    assert len(model.log.keys.live_slots()) == len(model.rows)
    restored = new_log()
    for step in model.log.everything(budget(7)):
        restored.apply(step.table_delta)
    assert ordered(restored) == ordered(model.log)


@pytest.mark.turns(5)
@pytest.mark.parametrize("seed", range(20))
def test_two_epochs_in_flight(seed: int) -> None:
    """The waiting epoch is accepted amid the changes of the open one, or both are undone."""
    chance = random.Random(seed)
    names = [f"k{n}" for n in range(chance.choice((1, 5, 30)))]
    model, copy = Model(), new_log()
    for _ in range(40):
        for _ in range(chance.randrange(3)):
            model.play(chance, names)
        deltas = [delta for delta, _ in model.log.changes_by(budget(chance.randrange(1, 9)))]
        deltas = pickle.loads(pickle.dumps(deltas))
        model.begin_next()
        ended = model.sealed
        for _ in range(chance.randrange(3)):
            model.play(chance, names)
        if chance.random() < 0.3:
            model.roll_back_both()
            assert contents(model.log) == model.rows
            continue
        model.log.accept()
        for delta in deltas:
            copy.apply(delta)
        assert ordered(copy) == {key: sorted(rows) for key, rows in ended.items()}
        if chance.random() < 0.3:
            model.roll_back()
        assert contents(model.log) == model.rows
        model.play(chance, names)
    model.seal()
    assert model.log.entry_count() == sum(map(len, model.rows.values()))
    assert len(model.log.keys.live_slots()) == len(model.rows)


def test_the_number_of_rows_while_an_epoch_waits() -> None:
    """The waiting epoch's removed rows are still there, for its roll-back, but do not count."""
    log = new_log()
    slots = log.slots_of([pa.array(["a"])], create=True)
    log.append(slots, pa.record_batch({"n": [1], "t": ["x"]}))
    log.seal()
    log.remove(log.live_rows())
    log.begin_next()
    assert log.counts(slots).tolist() == [0]
    log.roll_back_waiting()
    assert log.counts(slots).tolist() == [1]


def test_rows_that_are_undone_leave_no_gap_in_the_sequence() -> None:
    log = new_log()
    for undone in (True, False):
        slots = log.slots_of([pa.array(["a"])], create=True)
        rows = log.append(slots, pa.record_batch({"n": [1], "t": ["x"]}))
        assert log.sequence_at(rows).tolist() == [0]
        log.begin_next()
        rows = log.append(slots, pa.record_batch({"n": [2], "t": ["x"]}))
        assert log.sequence_at(rows).tolist() == [1]
        log.roll_back()
        if undone:
            log.roll_back_waiting()


def test_a_key_keeps_its_slot_while_the_open_epoch_may_use_it() -> None:
    """The waiting epoch took its last row; the slot is given again when the open one ends."""
    log, row = new_log(), pa.record_batch({"n": [1], "t": ["x"]})
    log.append(log.slots_of([pa.array(["a"])], create=True), row)
    log.seal()
    log.remove(log.live_rows())
    log.begin_next()
    slots = log.slots_of([pa.array(["a"])], create=True)
    log.accept()
    assert log.slots_of([pa.array(["b"])], create=True).tolist() != slots.tolist()
    log.append(slots, row)
    log.seal()
    assert set(contents(log)) == {"a"}


def test_a_slot_of_an_undone_epoch_is_given_once() -> None:
    """To a key without rows, and to another one after that is accepted."""
    log = new_log()
    log.append(
        log.slots_of([pa.array(["a"])], create=True), pa.record_batch({"n": [1], "t": ["x"]})
    )
    log.begin_next()
    log.roll_back()
    log.roll_back_waiting()
    log.slots_of([pa.array(["b"])], create=True)
    log.begin_next()
    log.accept()
    log.seal()
    assert len(set(log.slots_of([pa.array(["c", "d"])], create=True).tolist())) == 2
    assert log.keys.live_slots().size == 2


def ordered(log: RowLog) -> Rows:
    return {key: sorted(rows) for key, rows in contents(log).items()}


def test_a_hot_key_with_many_rows_loses_and_gains_some() -> None:
    model = Model()
    for _ in range(5):
        model.append(["hot"] * 20_000 + ["cold"])
        model.seal()
    model.change(["hot"], lambda n: n % 2 == 0, remove=True)
    model.seal()
    model.append(["cold"] * 1000)
    model.seal()
    assert contents(model.log) == model.rows
    assert model.log.space.end == 100_005
