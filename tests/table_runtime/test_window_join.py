"""Window joins: a window's rows are joined when it is over, and are freed then."""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime, timedelta
from functools import partial

import pytest
from tests.table_runtime.subtask import Row, Subtask, columns, materialised

from millrace.common.types.logical.logical_type import (
    BigIntType,
    BooleanType,
    RowType,
    TimestampType,
    VarCharType,
)
from millrace.expressions import registry
from millrace.expressions.resolved import Call, FieldReference
from millrace.expressions.session_settings import SessionSettings
from millrace.runtime.buffer import MAX_WATERMARK
from millrace.table_runtime.join_pairs import JoinSpec
from millrace.table_runtime.window_join import WindowJoinOperator, WindowJoinSpec

LONG, TEXT = BigIntType(), VarCharType()
SIDE = RowType.of(("k", TEXT), ("v", LONG), ("window_end", TimestampType(3)))
BOTH = RowType.of(*((f"f{n}", SIDE.fields[n % 3].type) for n in range(6)))
LESS = Call(
    registry.function("<"),
    (FieldReference(1, LONG, "v"), FieldReference(4, LONG, "w")),
    BooleanType(),
)
KINDS = ("inner", "left", "right", "full", "semi", "anti")


def row(key: str | None, value: int, end: int) -> Row:
    return (key, value, datetime(1970, 1, 1) + timedelta(milliseconds=end))


def operator(kind: str) -> Subtask:
    pairs = kind not in ("semi", "anti")
    join = JoinSpec(
        (SIDE, SIDE),
        ((0, 2), (0, 2)),
        LESS,
        (kind in ("left", "full"), kind in ("right", "full")),
        pairs,
        kind == "semi",
        BOTH if pairs else SIDE,
    )
    return Subtask(partial(WindowJoinOperator, WindowJoinSpec(join, (2, 2)), SessionSettings()))


def expected(left: list[Row], right: list[Row], kind: str) -> Counter[Row]:
    def match(one: Row, two: Row) -> bool:
        equal = one[0] is not None and (one[0], one[2]) == (two[0], two[2])
        return bool(equal and one[1] < two[1])

    lefts = [any(match(x, y) for y in right) for x in left]
    if kind in ("semi", "anti"):
        return Counter(x for x, m in zip(left, lefts, strict=True) if m == (kind == "semi"))
    found = Counter(x + y for x in left for y in right if match(x, y))
    if kind in ("left", "full"):
        found.update((*x, None, None, None) for x, m in zip(left, lefts, strict=True) if not m)
    if kind in ("right", "full"):
        alone = [y for y in right if not any(match(x, y) for x in left)]
        found.update((None, None, None, *y) for y in alone)
    return found


def random_rows(chance: random.Random, low: int) -> list[Row]:
    ends = [low + 10 - low % 10 + each for each in (0, 10, 20)]
    return [
        row(chance.choice([None, "a", "b", "c"]), chance.randrange(5), chance.choice(ends))
        for _ in range(chance.randrange(8))
    ]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_any_epochs_aborts_and_restores_give_what_one_go_gives(kind: str, seed: int) -> None:
    chance, subtask = random.Random(seed), operator(kind)
    rows: tuple[list[Row], list[Row]] = ([], [])
    given: list[tuple[str, Row]] = []
    low = 0  # the watermark is low - 1
    for step in range(14):
        if step < 9 and chance.random() < 0.3:
            lost = [columns(SIDE, [("+I", each) for each in random_rows(chance, low)])]
            subtask.epoch(lost, low + 8, abort=True)
        if step == 9:
            given, subtask = subtask.changes, subtask.restored()
        batches, sides = [], []
        for _ in range(3):
            side, new = chance.randrange(2), random_rows(chance, low)
            rows[side].extend(new)
            batches.append(columns(SIDE, [("+I", each) for each in new]))
            sides.append(side)
        low += chance.randrange(12)
        watermark = MAX_WATERMARK if step == 13 else low - 1
        if step < 9:
            subtask.epoch(batches, watermark, inputs=sides)
        else:  # its state is not the sum of its own deltas: nothing to go back to
            for side, batch in zip(sides, batches, strict=True):
                subtask.operator.process_columns(side, batch)
            subtask.operator.process_watermark(watermark)
            subtask.operator.end_epoch(False)
            given += subtask.output.changes
            subtask.output.changes = []
    assert all(change == "+I" for change, _ in given)
    assert materialised(given) == expected(*rows, kind)
    logs = subtask.operator._logs  # type: ignore[attr-defined]
    assert [log.live_rows().size for log in logs] == [0, 0]


def test_a_window_is_given_when_it_is_over_and_late_rows_are_dropped() -> None:
    subtask = operator("left")
    both = [columns(SIDE, [("+I", row("a", 1, 10)), ("+I", row("a", 1, 20))])] * 2
    assert subtask.epoch(both, 8, inputs=[0, 1]) == []
    alone = [("+I", (*row("a", 1, 10), None, None, None))]
    assert subtask.epoch([], 9) == alone
    late = columns(SIDE, [("+I", row("a", 1, 10)), ("+I", row("a", 5, 20))])
    assert subtask.epoch([late], inputs=[1]) == []
    assert subtask.operator.context.metrics.metrics["rightNumLateRecordsDropped"].get_count() == 1
    assert subtask.epoch([], MAX_WATERMARK) == [("+I", row("a", 1, 20) + row("a", 5, 20))]
