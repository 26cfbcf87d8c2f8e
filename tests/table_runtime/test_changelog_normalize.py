"""Upserts by key become changelogs that tell what was there before."""

from __future__ import annotations

import random
from collections import Counter
from functools import partial

import pytest
from tests.table_runtime.subtask import Row, Subtask, columns, materialised

from millrace.common.types.logical.logical_type import BigIntType, RowType, VarCharType
from millrace.table_runtime.changelog_normalize import (
    ChangelogNormalizeOperator,
    ChangelogNormalizeSpec,
)

INPUT = RowType.of(("k", VarCharType()), ("g", BigIntType()), ("v", BigIntType()))
SPEC = ChangelogNormalizeSpec(INPUT, (0, 1))
Changes = list[tuple[str, Row]]
Held = dict[tuple[str, int], Row]


def random_changes(chance: random.Random, held: Held) -> Changes:
    changes: Changes = []
    for _ in range(chance.randrange(12)):
        key = (chance.choice("ab"), chance.randrange(3))
        if chance.random() < 0.3:
            # of a delete only the key is known, and it may be of a row that is not there
            changes.append(("-D", (*key, None)))
            held.pop(key, None)
        else:
            held[key] = (*key, chance.choice([None, 1, 2]))
            changes.append((chance.choice(["+I", "+U"]), held[key]))
    return changes


@pytest.mark.parametrize("flushes", [0.0, 0.6])
@pytest.mark.parametrize("seed", range(5))
def test_any_epochs_aborts_and_restores_give_the_last_rows(seed: int, flushes: float) -> None:
    chance, held = random.Random(seed), Held()
    subtask = Subtask(partial(ChangelogNormalizeOperator, SPEC), flushes=flushes)
    for number in range(12):
        if chance.random() < 0.3:
            lost = random_changes(chance, dict(held))
            subtask.epoch([columns(INPUT, lost)], abort=True)
        if number == 6:
            changes, subtask = subtask.changes, subtask.restored()
            subtask.changes = changes
            subtask.version, subtask.deltas = subtask.state.version, []
        batches = [columns(INPUT, random_changes(chance, held)) for _ in range(2)]
        subtask.epoch(batches)
        assert materialised(subtask.changes) == Counter(held.values())


def test_net_changes_of_each_key() -> None:
    subtask = Subtask(partial(ChangelogNormalizeOperator, SPEC))
    first = [("+U", ("a", 1, 1)), ("+U", ("a", 1, 2)), ("-D", ("b", 1, None))]
    assert subtask.epoch([columns(INPUT, first)]) == [("+I", ("a", 1, 2))]
    assert subtask.epoch([columns(INPUT, [("+U", ("a", 1, 2))])]) == []
    assert subtask.epoch([columns(INPUT, [("+U", ("a", 1, 3))])]) == [
        ("-U", ("a", 1, 2)),
        ("+U", ("a", 1, 3)),
    ]
    again = [("-D", ("a", 1, None)), ("+I", ("a", 1, 3))]
    assert subtask.epoch([columns(INPUT, again)]) == []
    assert subtask.epoch([columns(INPUT, [("-D", ("a", 1, None))])]) == [("-D", ("a", 1, 3))]


def test_without_update_before() -> None:
    spec = ChangelogNormalizeSpec(INPUT, (0, 1), emits_update_before=False)
    subtask = Subtask(partial(ChangelogNormalizeOperator, spec))
    subtask.epoch([columns(INPUT, [("+U", ("a", 1, 1)), ("+U", ("b", 1, 1))])])
    found = subtask.epoch([columns(INPUT, [("+U", ("a", 1, 2)), ("-D", ("b", 1, None))])])
    assert found == [("-D", ("b", 1, 1)), ("+U", ("a", 1, 2))]


def with_time_to_live() -> Subtask:
    spec = ChangelogNormalizeSpec(INPUT, (0, 1), state_ttl=100)
    subtask = Subtask(partial(ChangelogNormalizeOperator, spec))
    subtask.now = 1_000
    subtask.epoch([columns(INPUT, [("+U", ("a", 1, 1)), ("+U", ("b", 1, 1))])])
    return subtask


def test_a_row_that_expired_is_as_if_it_had_never_been() -> None:
    subtask = with_time_to_live()
    subtask.now = 1_100
    found = subtask.epoch([columns(INPUT, [("+U", ("a", 1, 2)), ("-D", ("b", 1, None))])])
    assert found == [("+I", ("a", 1, 2))]
    assert subtask.epoch([]) == []
    restored = subtask.restored()
    restored.now = 1_150
    assert restored.epoch([columns(INPUT, [("-D", ("a", 1, None))])]) == [("-D", ("a", 1, 2))]


def test_rows_that_nobody_writes_are_freed_without_a_change() -> None:
    subtask = with_time_to_live()
    subtask.now = 1_100
    assert subtask.epoch([]) == []
    state = subtask.state
    assert [table.entry_count() for table in state.tables.values()] == [0]


def test_a_row_written_again_as_it_is_lives_on_and_renews_what_is_kept_downstream() -> None:
    subtask = with_time_to_live()
    again = [("-U", ("a", 1, 1)), ("+U", ("a", 1, 1))]
    subtask.now = 1_060
    assert subtask.epoch([columns(INPUT, [("+U", ("a", 1, 1))])]) == again
    subtask.now = 1_120
    assert subtask.epoch([columns(INPUT, [("+U", ("a", 1, 1))])]) == again


def test_deletes_of_unknown_keys_leave_nothing() -> None:
    subtask = Subtask(partial(ChangelogNormalizeOperator, SPEC))
    gone = [("-D", (f"k{number}", 1, None)) for number in range(10)]
    subtask.epoch([columns(INPUT, [*gone, ("+U", ("a", 1, 1)), ("-D", ("a", 1, None))])])
    subtask.epoch([columns(INPUT, [("+U", ("b", 1, 1))])])
    (log,) = subtask.state.tables.values()
    assert log.keys.entry_count() == 1
