"""Tables that are written by key, at least once: a lost epoch leaves no row in them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial

import pytest
from tests.table_runtime.subtask import Row, Subtask, columns, materialised

from millrace.common.types.logical.logical_type import BigIntType, RowType
from millrace.expressions import registry
from millrace.expressions.resolved import AggregateCall
from millrace.table_runtime.changelog_normalize import (
    ChangelogNormalizeOperator,
    ChangelogNormalizeSpec,
)
from millrace.table_runtime.group_aggregate import GroupAggregateOperator, GroupAggregateSpec
from millrace.table_runtime.rank import RankOperator, RankSpec

Changes = list[tuple[str, Row]]
LONG = BigIntType()
INPUT = RowType.of(("k", LONG), ("v", LONG))
SUM = AggregateCall(registry.function("SUM"), (1,), LONG)
GROUPED = GroupAggregateSpec(INPUT, (0,), (SUM,), INPUT, emits_update_before=False, repeatable=True)
NORMALISED = ChangelogNormalizeSpec(INPUT, (0,), emits_update_before=False, repeatable=True)
LATEST = RankSpec(
    INPUT, (0,), (), 1, 1, INPUT, latest_first=True, updates=True, emits_update_before=False,
    repeatable=True,
)  # fmt: skip
OPERATORS = {
    "group": partial(GroupAggregateOperator, GROUPED),
    "normalize": partial(ChangelogNormalizeOperator, NORMALISED),
    "materialize": partial(RankOperator, LATEST),
}


class Table:
    """A table that is written by key."""

    def __init__(self) -> None:
        self.rows: dict[int, Row] = {}

    def write(self, changes: Sequence[tuple[str, Row]]) -> None:
        for kind, row in changes:
            if kind == "-D":
                self.rows.pop(row[0], None)
            elif kind != "-U":
                self.rows[row[0]] = row


def random_changes(chance: random.Random, kind: str, held: list[Row], count: int) -> Changes:
    """Changes of few keys, most of which soon go; `normalize` has one row per key."""
    made: Changes = []
    for _ in range(count):
        if held and chance.random() < 0.5:
            made.append(("-D", held.pop(chance.randrange(len(held)))))
            continue
        row = chance.randrange(4), chance.randrange(-2, 3)
        if kind == "materialize":  # of equal rows it does not matter which one goes
            row = row[0], chance.randrange(10**9)
        if kind == "normalize":
            held[:] = [other for other in held if other[0] != row[0]]
        held.append(row)
        made.append(("+U" if kind == "normalize" else "+I", row))
    return made


def cut(chance: random.Random, changes: Changes) -> list[Changes]:
    """The changes in batches."""
    parts: list[Changes] = []
    while changes:
        size = chance.randrange(1, 9)
        parts.append(changes[:size])
        changes = changes[size:]
    return parts


@pytest.mark.parametrize("kind", OPERATORS)
@pytest.mark.parametrize("seed", range(8))
def test_a_lost_epoch_leaves_no_row(kind: str, seed: int) -> None:
    """A lost epoch has read less than the one that follows it, and has flushed elsewhere."""
    chance = random.Random(seed)
    held: list[Row] = []
    table = Table()
    kept = Subtask(OPERATORS[kind])
    for _ in range(6):
        changes = random_changes(chance, kind, held, chance.randrange(1, 30))
        lost = kept.restored() if kept.deltas else Subtask(OPERATORS[kind])
        read = changes[: chance.randrange(len(changes) + 1)]
        # each of its batches ends with a flush
        for batch in cut(chance, read):
            table.write(lost.epoch([columns(INPUT, batch)]))
        table.write(kept.epoch([columns(INPUT, batch) for batch in cut(chance, changes)]))
        assert table.rows == expected(kind, held)
    assert materialised_by_key(kept.changes) == table.rows


def expected(kind: str, held: list[Row]) -> dict[int, Row]:
    if kind != "group":
        return {row[0]: row for row in held}
    return {key: (key, sum(v for k, v in held if k == key)) for key, _ in held}


def materialised_by_key(changes: Changes) -> dict[int, Row]:
    table = Table()
    table.write(changes)
    return table.rows


@pytest.mark.parametrize("kind", ["group", "normalize"])
def test_a_key_that_comes_and_goes_is_inserted_and_deleted(kind: str) -> None:
    subtask = Subtask(OPERATORS[kind])
    batch = columns(INPUT, [("+I", (1, 5)), ("+I", (2, 7)), ("-D", (1, 5))])
    assert subtask.epoch([batch]) == [("+I", (1, 5)), ("+I", (2, 7)), ("-D", (1, 5))]
    assert materialised(subtask.changes) == {(2, 7): 1}


def test_a_key_that_nobody_knows_is_deleted_by_key_before_a_sink() -> None:
    subtask = Subtask(OPERATORS["materialize"])
    batch = columns(INPUT, [("+I", (1, 5)), ("-D", (1, 5))])
    assert subtask.epoch([batch]) == [("-D", (1, None))]


def test_deletions_of_unknown_keys_insert_nothing() -> None:
    for kind in ("group", "normalize"):
        batch = columns(INPUT, [("-D", (1, 5)), ("-D", (1, 5))])
        assert Subtask(OPERATORS[kind]).epoch([batch]) == []


def test_a_result_that_returns_is_given_again_unless_it_can_only_grow() -> None:
    subtask = Subtask(OPERATORS["group"])
    subtask.epoch([columns(INPUT, [("+I", (1, 5))])])
    assert subtask.epoch([columns(INPUT, [("+I", (1, 3)), ("+I", (1, -3))])]) == [("+U", (1, 5))]
    largest = AggregateCall(registry.function("MAX"), (1,), LONG)
    spec = GroupAggregateSpec(
        INPUT, (0,), (largest,), INPUT, retracts=False, emits_update_before=False, repeatable=True
    )
    subtask = Subtask(partial(GroupAggregateOperator, spec))
    subtask.epoch([columns(INPUT, [("+I", (1, 5))])])
    assert subtask.epoch([columns(INPUT, [("+I", (1, 3))])]) == []
