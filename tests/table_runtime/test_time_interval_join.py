"""Interval joins: their rows are those of joining everything at once; time frees state."""

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
    LocalZonedTimestampType,
    RowType,
    TimestampType,
    VarCharType,
)
from millrace.expressions import registry
from millrace.expressions.resolved import Call, FieldReference
from millrace.expressions.session_settings import SessionSettings
from millrace.runtime.buffer import MAX_WATERMARK
from millrace.table_runtime.join_pairs import JoinSpec
from millrace.table_runtime.time_interval_join import TimeIntervalJoinOperator, TimeIntervalJoinSpec

LONG, TEXT = BigIntType(), VarCharType()
LEFT = RowType.of(("k", TEXT), ("v", LONG), ("t", TimestampType(3)))
RIGHT = RowType.of(("l", TEXT), ("w", LONG), ("u", TimestampType(3)))
BOTH = RowType.of(*((field.name, field.type) for each in (LEFT, RIGHT) for field in each.fields))
LESS = Call(
    registry.function("<"),
    (FieldReference(1, LONG, "v"), FieldReference(4, LONG, "w")),
    BooleanType(),
)
KINDS = ("inner", "left", "right", "full", "semi", "anti")
EPOCH = datetime(1970, 1, 1)


def at(ms: int | None) -> datetime | None:
    return None if ms is None else EPOCH + timedelta(milliseconds=ms)


def row(key: str | None, value: int | None, ms: int | None) -> Row:
    return (key, value, at(ms))


def join_of(kind: str, keyed: bool = True, less: bool = False) -> JoinSpec:
    pairs = kind not in ("semi", "anti")
    return JoinSpec(
        (LEFT, RIGHT),
        ((0,), (0,)) if keyed else ((), ()),
        LESS if less else None,
        (kind in ("left", "full"), kind in ("right", "full")),
        pairs,
        kind == "semi",
        BOTH if pairs else LEFT,
    )


def operator(
    kind: str,
    bounds: tuple[int, int] = (-10, 5),
    keyed: bool = True,
    less: bool = False,
    rowtime: bool = True,
) -> Subtask:
    spec = TimeIntervalJoinSpec(join_of(kind, keyed, less), (2, 2), *bounds, rowtime)
    return Subtask(partial(TimeIntervalJoinOperator, spec, SessionSettings()))


def match(one: Row, two: Row, bounds: tuple[int, int], keyed: bool, less: bool) -> bool:
    if None in (one[2], two[2]) or (keyed and (one[0] is None or one[0] != two[0])):
        return False
    if less and (None in (one[1], two[1]) or one[1] >= two[1]):
        return False
    low, high = (timedelta(milliseconds=each) for each in bounds)
    return bool(low <= one[2] - two[2] <= high)


def expected(
    left: list[Row], right: list[Row], kind: str, bounds: tuple[int, int], keyed: bool, less: bool
) -> Counter[Row]:
    pairs = [(x, y) for x in left for y in right if match(x, y, bounds, keyed, less)]
    lefts = [any(match(x, y, bounds, keyed, less) for y in right) for x in left]
    rights = [any(match(x, y, bounds, keyed, less) for x in left) for y in right]
    if kind in ("semi", "anti"):
        return Counter(x for x, m in zip(left, lefts, strict=True) if m == (kind == "semi"))
    found = Counter(x + y for x, y in pairs)
    if kind in ("left", "full"):
        found.update((*x, None, None, None) for x, m in zip(left, lefts, strict=True) if not m)
    if kind in ("right", "full"):
        found.update((None, None, None, *y) for y, m in zip(right, rights, strict=True) if not m)
    return found


def random_rows(chance: random.Random, low: int) -> list[Row]:
    return [
        row(
            chance.choice([None, "a", "b", "c"]),
            chance.choice([None, 1, 2, 3]),
            chance.choice([None, *range(low, low + 30)]),
        )
        for _ in range(chance.randrange(8))
    ]


@pytest.mark.turns(5)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bounds", [(-10, 5), (0, 0), (4, 9), (-9, -4), (3, -3)])
@pytest.mark.parametrize(("keyed", "less"), [(True, False), (True, True), (False, True)])
def test_any_epochs_aborts_and_restores_give_what_one_go_gives(
    kind: str, bounds: tuple[int, int], keyed: bool, less: bool
) -> None:
    chance, subtask = random.Random(7), operator(kind, bounds, keyed, less)
    rows: tuple[list[Row], list[Row]] = ([], [])
    given: list[tuple[str, Row]]
    low, given = 0, []
    for step in range(14):
        if step < 9 and chance.random() < 0.3:
            lost = [columns(LEFT, [("+I", each) for each in random_rows(chance, low)])]
            subtask.epoch(lost, low + 8, abort=True)
        if step == 9:
            given = subtask.changes
            subtask = subtask.restored()
        batches, sides = [], []
        for _ in range(3):
            side = chance.randrange(2)
            new = random_rows(chance, low)
            rows[side].extend(new)
            batches.append(columns((LEFT, RIGHT)[side], [("+I", each) for each in new]))
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
    assert materialised(given) == expected(*rows, kind, bounds, keyed, less)
    logs = subtask.operator._logs  # type: ignore[attr-defined]
    assert [log.live_rows().size for log in logs] == [0, 0]


def test_unmatched_rows_are_given_when_nothing_can_match_them_any_more() -> None:
    subtask = operator("full")  # left - 10 <= right: right - 10 <= left <= right + 5
    both = [
        columns(LEFT, [("+I", row("a", 1, 20))]),
        columns(RIGHT, [("+I", row("b", 2, 20))]),
    ]
    assert subtask.epoch(both, 24, inputs=[0, 1]) == []
    alone = [("+I", (None, None, None, *row("b", 2, 20)))]
    assert subtask.epoch([], 25) == alone  # the last left row for it is at 25
    assert subtask.epoch([], 29) == []
    assert subtask.epoch([], 30) == [("+I", (*row("a", 1, 20), None, None, None))]
    assert subtask.output.watermarks == [14, 15, 19, 20]  # held back by the longer reach


def test_late_rows_find_what_is_kept_and_are_not_kept() -> None:
    subtask = operator("left")
    subtask.epoch([columns(RIGHT, [("+I", row("a", 2, 20))])], 22, inputs=[1])
    late = [columns(LEFT, [("+I", row("a", 1, 15)), ("+I", row("a", 1, 8))])]
    assert subtask.epoch(late) == [
        ("+I", row("a", 1, 15) + row("a", 2, 20)),
        ("+I", (*row("a", 1, 8), None, None, None)),
    ]
    assert subtask.operator._logs[0].live_rows().size == 1  # type: ignore[attr-defined]


def test_by_processing_time_rows_wait_for_the_clock() -> None:
    subtask = operator("left", (-10, 5), rowtime=False)
    subtask.now = 100
    assert subtask.epoch([columns(LEFT, [("+I", row("a", 1, None))])], 7) == []
    assert subtask.operator.next_wakeup() == 111
    subtask.now = 110
    matching = [columns(RIGHT, [("+I", row("a", 2, None))])]
    assert subtask.epoch(matching, inputs=[1]) == [("+I", row("a", 1, None) + row("a", 2, None))]
    subtask.now = 111
    assert subtask.epoch([columns(LEFT, [("+I", row("b", 3, None))])]) == []
    assert subtask.epoch([], ended=True) == [("+I", (*row("b", 3, None), None, None, None))]
    assert subtask.output.watermarks == [7, MAX_WATERMARK]


def test_a_rescaled_join_goes_on_with_its_keys() -> None:
    first = operator("full")
    rows = [("+I", row(key, 1, 20)) for key in "abcdefghijkl"]
    first.epoch([columns(LEFT, rows), columns(RIGHT, rows[:3])], 12, inputs=[0, 1])
    parts = [first.restored(index, 2) for index in range(2)]
    found = [each.epoch([], MAX_WATERMARK) for each in parts]
    assert all(found)
    alone = [("+I", (*row(key, 1, 20), None, None, None)) for key in "defghijkl"]
    assert sorted([*found[0], *found[1]]) == alone


def test_times_of_time_zones_are_compared_as_instants() -> None:
    zoned = LocalZonedTimestampType(3)
    left = RowType.of(("k", TEXT), ("v", LONG), ("t", zoned))
    join = JoinSpec(
        (left, left),
        ((0,), (0,)),
        None,
        (False, False),
        True,
        False,
        RowType.of(*((f"f{n}", (TEXT, LONG, zoned)[n % 3]) for n in range(6))),
    )
    spec = TimeIntervalJoinSpec(join, (2, 2), 0, 5, True)
    subtask = Subtask(partial(TimeIntervalJoinOperator, spec, SessionSettings()))
    batch = columns(left, [("+I", row("a", 1, 20))])
    assert len(subtask.epoch([batch, batch], inputs=[0, 1])) == 1
