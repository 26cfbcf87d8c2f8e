"""Temporal joins: each row gets the version that was there at its time; old versions are freed."""

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
from millrace.table_runtime.temporal_join import TemporalJoinOperator, TemporalJoinSpec

LONG, TEXT, TIME = BigIntType(), VarCharType(), TimestampType(3)
SIDE = RowType.of(("k", TEXT), ("v", LONG), ("t", TIME))
OUTPUT = RowType.of(("k", TEXT), ("v", LONG), ("t", TIME), ("l", TEXT), ("w", LONG))
LESS = Call(
    registry.function("<"),
    (FieldReference(1, LONG, "v"), FieldReference(4, LONG, "w")),
    BooleanType(),
)
Changes = list[tuple[str, Row]]


def row(key: str | None, value: int, ms: int | None) -> Row:
    time = None if ms is None else datetime(1970, 1, 1) + timedelta(milliseconds=ms)
    return (key, value, time)


def operator(padded: bool, less: bool = False) -> Subtask:
    condition = LESS if less else None
    spec = TemporalJoinSpec((SIDE, SIDE), ((0,), (0,)), (2, 2), (3, 2), condition, padded, OUTPUT)
    return Subtask(partial(TemporalJoinOperator, spec, SessionSettings()))


def expected(left: list[Row], right: Changes, padded: bool, less: bool) -> Counter[Row]:
    found: Counter[Row] = Counter()
    for one in left:
        versions = [
            (change[1][2], number, change)
            for number, change in enumerate(right)
            if one[0] is not None and change[1][0] == one[0] and change[0] != "-U"
            if None not in (one[2], change[1][2]) and change[1][2] <= one[2]
        ]
        kind, version = max(versions)[2] if versions else ("-D", row(None, 0, None))
        if kind != "-D" and (not less or one[1] < version[1]):
            found[one + version[:2]] += 1
        elif padded:
            found[(*one, None, None)] += 1
    return found


def random_rows(chance: random.Random, low: int) -> list[Row]:
    times = [None, *range(low, low + 30)]
    return [
        row(chance.choice([None, "a", "b", "c"]), chance.randrange(5), chance.choice(times))
        for _ in range(chance.randrange(8))
    ]


@pytest.mark.parametrize(("padded", "less"), [(True, False), (False, False), (True, True)])
@pytest.mark.parametrize("seed", range(4))
def test_any_epochs_aborts_and_restores_give_what_one_go_gives(
    padded: bool, less: bool, seed: int
) -> None:
    chance, subtask = random.Random(seed), operator(padded, less)
    left: list[Row] = []
    right: Changes = []
    given: Changes = []
    low = 0  # the watermark is low - 1
    for step in range(16):
        if step < 9 and chance.random() < 0.3:
            lost = [columns(SIDE, [("+I", each) for each in random_rows(chance, low)])] * 2
            subtask.epoch(lost, low + 8, abort=True, inputs=[0, 1])
        if step == 9:
            given, subtask = subtask.changes, subtask.restored()
        batches, sides = [], []
        for _ in range(3):
            side, new = chance.randrange(2), random_rows(chance, low)
            kinds = ["+I", "+U", "-U", "-D"] if side else ["+I"]
            changes = [(chance.choice(kinds), each) for each in new]
            if side:
                right += changes
            else:
                left += new
            batches.append(columns(SIDE, changes))
            sides.append(side)
        low += chance.randrange(12)
        watermark = MAX_WATERMARK if step == 15 else low - 1
        if step < 9:
            subtask.epoch(batches, watermark, inputs=sides)
        else:  # its state is not the sum of its own deltas: nothing to go back to
            for side, batch in zip(sides, batches, strict=True):
                subtask.operator.process_columns(side, batch)
            subtask.operator.process_watermark(watermark)
            subtask.operator.end_epoch(False)
            given += subtask.output.changes
            subtask.output.changes = []
    assert materialised(given) == expected(left, right, padded, less)
    waiting, versions = subtask.operator._logs  # type: ignore[attr-defined]
    assert waiting.live_rows().size == 0
    assert versions.live_rows().size <= 3  # one of each key


def test_versions_that_were_replaced_before_the_watermark_are_freed() -> None:
    subtask = operator(True)
    versions = [("+I", row("a", n, n * 10)) for n in range(5)]
    subtask.epoch([columns(SIDE, versions)], 25, inputs=[1])
    log = subtask.operator._logs[1]  # type: ignore[attr-defined]
    assert log.live_rows().size == 3  # of 20, which holds, and of 30 and 40
    asks = [("+I", row("a", 7, ms)) for ms in (29, 30, 19)]
    assert subtask.epoch([columns(SIDE, asks)], 30) == [
        ("+I", (*row("a", 7, 29), "a", 2)),
        ("+I", (*row("a", 7, 30), "a", 3)),
        ("+I", (*row("a", 7, 19), None, None)),  # late: its version is gone
    ]


def test_rows_that_are_taken_back_are_so_in_the_result() -> None:
    subtask = operator(False)
    subtask.epoch([columns(SIDE, [("+I", row("a", 5, 0))])], inputs=[1])
    changes = [("+I", row("a", 1, 10)), ("-U", row("a", 1, 10)), ("+U", row("a", 2, 10))]
    assert subtask.epoch([columns(SIDE, changes)], 20) == [
        (kind, (*each, "a", 5)) for kind, each in changes
    ]


def test_a_version_that_comes_later_than_its_deletion_does_not_hold_again() -> None:
    subtask = operator(True)
    subtask.epoch([columns(SIDE, [("-D", row("a", 1, 10))])], 20, inputs=[1])
    subtask.epoch([columns(SIDE, [("+I", row("a", 1, 5))])], 21, inputs=[1])
    ask = row("a", 7, 25)
    assert subtask.epoch([columns(SIDE, [("+I", ask)])], 30) == [("+I", (*ask, None, None))]


def test_versions_of_keys_that_had_no_rows_for_their_time_to_live_are_forgotten() -> None:
    spec = TemporalJoinSpec((SIDE, SIDE), ((0,), (0,)), (2, 2), (3, 2), None, True, OUTPUT, 100)
    subtask = Subtask(partial(TemporalJoinOperator, spec, SessionSettings()))
    versions = [("+I", row(key, 1, 10)) for key in "ab"] + [("-D", row("c", 1, 10))]
    subtask.epoch([columns(SIDE, versions)], 20, inputs=[1])
    subtask.now = 60
    ask = row("a", 7, 25)
    assert subtask.epoch([columns(SIDE, [("+I", ask)])], 30) == [("+I", (*ask, "a", 1))]
    subtask.now = 159
    asks = [row("a", 7, 35), row("b", 7, 35)]
    found = subtask.epoch([columns(SIDE, [("+I", each) for each in asks])], 40)
    assert found == [("+I", (*asks[0], "a", 1)), ("+I", (*asks[1], None, None))]
    assert subtask.operator._logs[1].live_rows().size == 1  # type: ignore[attr-defined]


def now_operator(state_ttl: int = 0) -> Subtask:
    spec = TemporalJoinSpec(
        (SIDE, SIDE), ((0,), (0,)), None, (3, 2), LESS, False, OUTPUT, state_ttl
    )
    return Subtask(partial(TemporalJoinOperator, spec, SessionSettings()))


@pytest.mark.parametrize("seed", range(4))
def test_in_processing_time_rows_get_the_last_version_that_has_come(seed: int) -> None:
    chance, subtask = random.Random(seed), now_operator()
    versions: dict[str, Row] = {}
    wanted: Changes = []
    for step in range(40):
        batches, sides = [], []
        before = list(wanted), dict(versions)
        for _ in range(4):
            side, new = chance.randrange(2), random_rows(chance, 0)
            kinds = ["+I", "+U", "+U", "-U", "-D"] if side else ["+I", "-D"]
            changes = [(chance.choice(kinds), each) for each in new]
            batches.append(columns(SIDE, changes))
            sides.append(side)
            for kind, each in changes:
                if side == 0 and each[0] in versions:
                    version = versions[each[0]]
                    wanted += [(kind, each + version[:2])] if each[1] < version[1] else []
                elif side and kind in ("+I", "+U") and each[0] is not None:
                    versions[each[0]] = each
                elif side:
                    versions.pop(each[0], None)
        is_lost = step % 5 == 4
        subtask.epoch(batches, step, abort=is_lost, inputs=sides)
        if is_lost:
            wanted, versions = before
    assert subtask.changes == wanted
    assert len(wanted) > 10
    again = subtask.restored()
    ask = [("+I", row(key, -1, None)) for key in "abc"]
    assert again.epoch([columns(SIDE, ask)]) == [
        ("+I", (*row(key, -1, None), *versions[key][:2])) for key in "abc" if key in versions
    ]
    waiting, kept = again.operator._logs  # type: ignore[attr-defined]
    assert waiting.live_rows().size == 0
    assert kept.live_rows().size == len(versions)


def test_in_processing_time_versions_are_forgotten_after_their_time_to_live() -> None:
    subtask = now_operator(100)
    subtask.epoch([columns(SIDE, [("+I", row(key, 9, None)) for key in "ab"])], inputs=[1])
    ask = [("+I", row(key, 1, None)) for key in "ab"]
    found = [("+I", (*row(key, 1, None), key, 9)) for key in "ab"]
    subtask.now = 60
    assert subtask.epoch([columns(SIDE, ask[:1])]) == found[:1]
    subtask.now = 120
    assert subtask.epoch([columns(SIDE, ask)]) == found[:1]
    log = subtask.operator._logs[1]  # type: ignore[attr-defined]
    assert log.live_rows().size == 1
