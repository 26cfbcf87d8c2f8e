"""OVER in any order: what each row's frame has after each epoch, whatever comes, goes or fails."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from functools import partial

import pytest
from tests.table_runtime.subtask import Row, Subtask, columns, materialised

from millrace.common.types.logical.logical_type import BigIntType, DoubleType, RowType, VarCharType
from millrace.expressions import registry
from millrace.expressions.resolved import AggregateCall, SortKey
from millrace.table_runtime.non_time_over_aggregate import NonTimeOverAggregateOperator
from millrace.table_runtime.over_frames import FrameBounds
from millrace.table_runtime.over_values import OverSpec

LONG = BigIntType()
INPUT = RowType.of(("k", VarCharType()), ("o", LONG), ("v", DoubleType()))
CALLS = (
    AggregateCall(registry.function("COUNT"), (), LONG),
    AggregateCall(registry.function("SUM"), (2,), DoubleType()),
    AggregateCall(registry.function("COUNT"), (2,), LONG, True),
    AggregateCall(registry.function("RANK"), (), LONG),
)
OUTPUT = RowType(
    (*INPUT.fields, *RowType.of(("c", LONG), ("s", DoubleType()), ("d", LONG), ("r", LONG)).fields)
)
SPEC = OverSpec(INPUT, (0,), (SortKey(1),), FrameBounds(False, None, 0), CALLS, OUTPUT)
NAN = float("nan")


def expected(rows: Counter[Row]) -> Counter[Row]:
    found: Counter[Row] = Counter()
    for row in rows.elements():
        frame = [r for r in rows.elements() if r[0] == row[0] and place(r) <= place(row)]
        before = sum(place(each) < place(row) for each in frame)
        values = [each[2] for each in frame if each[2] is not None]
        found[
            shown((*row, len(frame), sum(values) if values else None, len(set(values)), before + 1))
        ] += 1
    return found


def place(row: Row) -> tuple[bool, int]:
    """Nulls first, as in Flink."""
    return row[1] is not None, row[1] or 0


def shown(row: Row) -> Row:
    return tuple("NaN" if str(value) == "nan" else value for value in row)


def some_changes(chance: random.Random, rows: Counter[Row], retract: bool) -> list[tuple[str, Row]]:
    changes = []
    for _ in range(chance.randrange(1, 9)):
        held = list(rows.elements())
        if retract and held and chance.random() < 0.4:
            row = chance.choice(held)
            rows[row] -= 1
            changes.append((chance.choice(["-U", "-D"]), row))
        else:
            row = (
                chance.choice("ab"),
                chance.choice([None, 1, 2, 5]),
                chance.choice([None, 1.5, NAN]),
            )
            rows[row] += 1
            changes.append((chance.choice(["+I", "+U"]) if retract else "+I", row))
    return changes


@pytest.mark.parametrize("retract", [False, True])
@pytest.mark.parametrize("flushes", [0.0, 0.6])
@pytest.mark.parametrize("seed", range(4))
def test_the_net_changes_of_each_epoch(retract: bool, seed: int, flushes: float) -> None:
    chance = random.Random(seed)
    factory = partial(NonTimeOverAggregateOperator, SPEC, True, 0)
    subtask = Subtask(factory, flushes=flushes)
    rows: Counter[Row] = Counter()
    for number in range(15):
        if chance.random() < 0.3:
            lost = some_changes(chance, rows.copy(), retract)
            subtask.epoch([columns(INPUT, lost)], abort=True)
        changes = some_changes(chance, rows, retract)
        subtask.epoch([columns(INPUT, changes[:3]), columns(INPUT, changes[3:])])
        assert materialised([(kind, shown(row)) for kind, row in subtask.changes]) == expected(rows)
        if number == 7:
            before, subtask = subtask, subtask.restored()
            subtask.changes += before.changes
            subtask.deltas = []
            break
    again = subtask
    for _ in range(4):
        again.epoch([columns(INPUT, some_changes(chance, rows, retract))])
        assert materialised([(kind, shown(row)) for kind, row in again.changes]) == expected(rows)


def test_only_what_changed_is_given() -> None:
    subtask = Subtask(partial(NonTimeOverAggregateOperator, SPEC, True, 0))
    subtask.epoch([columns(INPUT, [("+I", ("a", 1, 1.0)), ("+I", ("a", 3, 1.0))])])
    assert Counter(subtask.epoch([columns(INPUT, [("+I", ("a", 2, 2.0))])])) == Counter(
        {
            ("+I", ("a", 2, 2.0, 2, 3.0, 2, 2)): 1,
            ("-U", ("a", 3, 1.0, 2, 2.0, 1, 2)): 1,
            ("+U", ("a", 3, 1.0, 3, 4.0, 2, 3)): 1,
        }
    )
    assert subtask.epoch([columns(INPUT, [("-D", ("a", 3, 1.0))])]) == [
        ("-D", ("a", 3, 1.0, 3, 4.0, 2, 3))
    ]
    assert subtask.epoch([columns(INPUT, [("+I", ("a", 9, 1.0)), ("-D", ("a", 9, 1.0))])]) == []


def test_updates_without_what_was_before() -> None:
    spec = replace(SPEC, bounds=FrameBounds(True, None, 0))
    subtask = Subtask(partial(NonTimeOverAggregateOperator, spec, False, 0))
    subtask.epoch([columns(INPUT, [("+I", ("a", 3, 1.0))])])
    found = subtask.epoch([columns(INPUT, [("+I", ("a", 2, 2.0))])])
    assert [kind for kind, _ in found] == ["+U", "+I"]


def test_a_partition_expires_as_a_whole_and_silently() -> None:
    subtask = Subtask(partial(NonTimeOverAggregateOperator, SPEC, True, 100))
    for subtask.now, order in ((0, 1), (60, 2), (120, 3)):
        subtask.epoch([columns(INPUT, [("+I", ("a", order, 1.0))])])
    subtask.now = 221
    found = subtask.epoch([columns(INPUT, [("+I", ("a", 4, 1.0))])])
    assert found == [("+I", ("a", 4, 1.0, 1, 1.0, 1, 1))]
    assert len(materialised(subtask.changes)) == 4
    subtask.epoch([])
    assert subtask.operator._log.entry_count() == 1  # type: ignore[attr-defined]
