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
        self.sealed = {key: list(rows) for key, rows in self.rows.items()}

    def roll_back(self) -> None:
        self.log.roll_back()
        self.rows = {key: list(rows) for key, rows in self.sealed.items()}


@pytest.mark.parametrize("seed", range(20))
def test_any_epochs_and_aborts_give_what_lists_have_and_deltas_bring_it_elsewhere(
    seed: int,
) -> None:
    chance = random.Random(seed)
    names = [f"k{n}" for n in range(chance.choice((1, 5, 30)))]
    model, copy = Model(), new_log()
    for _ in range(40):
        for _ in range(chance.randrange(1, 4)):
            keys = chance.choices(names, k=chance.randrange(1, 12))
            action, part = chance.random(), chance.randrange(1, 4)
            if action < 0.5:
                model.append(keys)
            else:
                model.change(keys, lambda n, part=part: n % 4 < part, action < 0.8)
            assert contents(model.log) == model.rows
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
