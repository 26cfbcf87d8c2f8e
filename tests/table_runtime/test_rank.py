"""Ranks: net changes that lead to what ranking everything at once gives."""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest
from tests.table_runtime.subtask import Row, Subtask, columns, materialised

from millrace.common.types.logical.logical_type import (
    BigIntType,
    RowType,
    TimestampType,
    VarCharType,
)
from millrace.expressions.resolved import SortKey
from millrace.table_runtime.rank import RankOperator, RankSpec

LONG, TEXT = BigIntType(), VarCharType()
INPUT = RowType.of(("k", TEXT), ("v", LONG), ("id", LONG))
NUMBERED = RowType.of(("k", TEXT), ("v", LONG), ("id", LONG), ("n", LONG))
ORDER = (SortKey(1, ascending=False), SortKey(2))
Changes = list[tuple[str, Row]]


def expected(rows: Counter[Row], spec: RankSpec) -> Counter[Row]:
    """The ranks of all rows at once, by another way."""
    found: Counter[Row] = Counter()
    for key in {row[0] for row in rows}:
        of = [row for row in rows.elements() if row[0] == key]
        # descending: nulls, which SortKey puts first, stand before the greatest
        order = {row: tuple(_place(row, each) for each in spec.order) for row in of}
        of.sort(key=lambda row: order[row])
        for number, row in enumerate(of, 1):
            rank = number
            if spec.kind == "RANK":
                rank = 1 + sum(order[each] < order[row] for each in of)
            elif spec.kind == "DENSE_RANK":
                rank = 1 + len({order[each] for each in of if order[each] < order[row]})
            if spec.start <= rank <= spec.end:
                found[(*row, rank) if spec.numbered else row] += 1
    return found


def _place(row: Row, key: SortKey) -> tuple[bool, int]:
    value = row[key.index]
    if value is None:
        return (not key.nulls_first, 0)
    return (key.nulls_first, value if key.ascending else -value)


def random_changes(chance: random.Random, rows: Counter[Row], retract: bool) -> Changes:
    changes: Changes = []
    for _ in range(chance.randrange(1, 20)):
        held = list(rows.elements())
        if retract and held and chance.random() < 0.45:
            row = chance.choice(held)
            rows[row] -= 1
            changes.append((chance.choice(["-D", "-U"]), row))
        else:
            value = chance.choice([None, -1, 0, 1, 5])
            row = (chance.choice([None, "a", "bb"]), value, chance.randrange(6))
            rows[row] += 1
            changes.append((chance.choice(["+I", "+U"]) if retract else "+I", row))
    return changes


SPECS: list[dict[str, Any]] = [
    {"start": 1, "end": 2, "output_type": INPUT},
    {"start": 1, "end": 3, "output_type": NUMBERED, "updates": True},
    {"start": 2, "end": 4, "output_type": NUMBERED, "updates": True},
    {"start": 2, "end": 3, "output_type": INPUT},
    {"start": 1, "end": 1, "output_type": INPUT, "updates": True},
    {"start": 1, "end": 3, "output_type": NUMBERED, "kind": "RANK", "order": ORDER[:1]},
    {"start": 1, "end": 2, "output_type": NUMBERED, "kind": "DENSE_RANK", "order": ORDER[:1]},
]


@pytest.mark.parametrize("more", SPECS, ids=lambda more: f"{more['start']}-{more['end']}")
@pytest.mark.parametrize("retract", [False, True])
@pytest.mark.parametrize("flushes", [0.0, 0.6])
@pytest.mark.parametrize("seed", range(3))
def test_any_epochs_aborts_and_restores_give_what_one_go_gives(
    more: dict[str, Any], retract: bool, seed: int, flushes: float
) -> None:
    spec = RankSpec(INPUT, (0,), **{"order": ORDER, **more}, retracts=retract)
    chance, rows = random.Random(seed), Counter[Row]()
    subtask = Subtask(partial(RankOperator, spec), flushes=flushes)
    for _ in range(12):
        if chance.random() < 0.3:
            lost = random_changes(chance, Counter(rows), retract)
            subtask.epoch([columns(INPUT, lost)], abort=True)
        if chance.random() < 0.2:
            changes, subtask = subtask.changes, subtask.restored()
            subtask.changes = changes
            subtask.version, subtask.deltas = subtask.state.version, []
            break
        batches = [columns(INPUT, random_changes(chance, rows, retract)) for _ in range(2)]
        subtask.epoch(batches)
        assert materialised(subtask.changes) == expected(rows, spec)
    subtask.epoch([columns(INPUT, random_changes(chance, rows, retract))])
    assert materialised(subtask.changes) == expected(rows, spec)


def test_a_rescaled_rank_goes_on_with_its_keys() -> None:
    spec = RankSpec(INPUT, (0,), ORDER, 1, 1, INPUT, updates=True)
    first = Subtask(partial(RankOperator, spec))
    first.epoch([columns(INPUT, [("+I", (key, 1, 1)) for key in "abcdef"])])
    parts = [first.restored(index, 2) for index in range(2)]
    held = [part.operator._log.entry_count() for part in parts]  # type: ignore[attr-defined]
    assert sum(held) == 6
    assert all(held)


def test_a_row_that_takes_another_ones_rank_updates_it() -> None:
    spec = RankSpec(INPUT, (0,), ORDER, 1, 2, NUMBERED, updates=True)
    subtask = Subtask(partial(RankOperator, spec))
    subtask.epoch([columns(INPUT, [("+I", ("a", 1, 1))])])
    assert subtask.epoch([columns(INPUT, [("+I", ("a", 2, 2))])]) == [
        ("-U", ("a", 1, 1, 1)),
        ("+U", ("a", 2, 2, 1)),
        ("+I", ("a", 1, 1, 2)),
    ]
    assert subtask.epoch([columns(INPUT, [("-D", ("a", 2, 2))])]) == [
        ("-U", ("a", 2, 2, 1)),
        ("-D", ("a", 1, 1, 2)),
        ("+U", ("a", 1, 1, 1)),
    ]


def test_insert_only_input_keeps_no_row_that_cannot_rank() -> None:
    spec = RankSpec(INPUT, (0,), ORDER, 1, 2, INPUT, retracts=False)
    subtask = Subtask(partial(RankOperator, spec))
    for number in range(5):
        subtask.epoch([columns(INPUT, [("+I", ("a", v, number)) for v in range(10)])])
    assert subtask.operator._log.entry_count() == 2  # type: ignore[attr-defined]


@pytest.mark.parametrize("latest", [False, True])
def test_of_rows_of_one_time_the_first_or_the_last_that_came(latest: bool) -> None:
    key = SortKey(1, ascending=not latest)
    spec = RankSpec(
        INPUT, (0,), (key,), 1, 1, INPUT, latest_first=latest, updates=True, retracts=False
    )
    subtask = Subtask(partial(RankOperator, spec))
    subtask.epoch([columns(INPUT, [("+I", ("a", 5, 1)), ("+I", ("a", 5, 2))])])
    subtask.epoch([columns(INPUT, [("+I", ("a", 5, 3))])])
    assert materialised(subtask.changes) == Counter({("a", 5, 3 if latest else 1): 1})
    assert {kind for kind, _ in subtask.changes} == ({"+I", "-U", "+U"} if latest else {"+I"})


def test_a_window_gives_its_ranks_once_it_is_complete() -> None:
    kind = RowType.of(("end", TimestampType(3)), ("v", LONG))
    spec = RankSpec(kind, (0,), (SortKey(1),), 1, 2, kind, retracts=False, window_end=0)
    subtask = Subtask(partial(RankOperator, spec))

    def at(seconds: int) -> datetime:
        return datetime(1970, 1, 1) + timedelta(seconds=seconds)

    rows = [("+I", (at(end), v)) for end in (10, 20) for v in (3, 1, 2)]
    assert subtask.epoch([columns(kind, rows)], watermark=9_998) == []
    assert subtask.epoch([], watermark=9_999) == [("+I", (at(10), 1)), ("+I", (at(10), 2))]
    late = [("+I", (at(10), 0)), ("+I", (at(20), 0))]
    assert subtask.epoch([columns(kind, late)], watermark=10_000) == []
    assert subtask.epoch([], watermark=30_000) == [("+I", (at(20), 0)), ("+I", (at(20), 1))]
    assert subtask.operator._log.entry_count() == 0  # type: ignore[attr-defined]


@pytest.mark.parametrize("retracts", [False, True])
def test_rows_that_came_longer_ago_than_the_time_to_live_are_forgotten(retracts: bool) -> None:
    spec = RankSpec(INPUT, (0,), ORDER, 1, 2, INPUT, retracts=retracts, state_ttl=100)
    subtask = Subtask(partial(RankOperator, spec))
    subtask.epoch([columns(INPUT, [("+I", ("a", 9, 1)), ("+I", ("b", 9, 1))])])
    subtask.now = 60
    subtask.epoch([columns(INPUT, [("+I", ("a", 8, 2))])])
    subtask.now = 120
    found = subtask.epoch([columns(INPUT, [("+I", ("a", 1, 3)), ("+I", ("b", 1, 3))])])
    assert Counter(found) == Counter([("+I", ("a", 1, 3)), ("+I", ("b", 1, 3))])
    assert subtask.epoch([]) == []
    assert subtask.operator._log.entry_count() == 3  # type: ignore[attr-defined]
    subtask.now = 1_000
    assert subtask.epoch([]) == []
    assert subtask.operator._log.entry_count() == 0  # type: ignore[attr-defined]


def test_a_row_that_expired_unseen_is_not_taken_back() -> None:
    spec = RankSpec(INPUT, (0,), ORDER, 1, 1, INPUT, state_ttl=100)
    subtask = Subtask(partial(RankOperator, spec))
    subtask.epoch([columns(INPUT, [("+I", ("a", 9, 1))])])
    subtask.now = 100
    assert subtask.epoch([columns(INPUT, [("-D", ("a", 9, 1))])]) == []
