"""Regular joins: the rows they leave are those of joining everything at once."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.table_runtime.subtask import Row, Subtask, columns, materialised

from millrace.common.types.logical.logical_type import (
    BigIntType,
    BooleanType,
    RowType,
    VarCharType,
)
from millrace.expressions import registry
from millrace.expressions.resolved import Call, FieldReference
from millrace.expressions.session_settings import SessionSettings
from millrace.table_runtime.streaming_join import StreamingJoinOperator, StreamingJoinSpec

LONG, TEXT = BigIntType(), VarCharType()
LEFT = RowType.of(("k", TEXT), ("v", LONG))
RIGHT = RowType.of(("w", LONG), ("l", TEXT))
BOTH = RowType.of(("k", TEXT), ("v", LONG), ("w", LONG), ("l", TEXT))
LESS = Call(
    registry.function("<"),
    (FieldReference(1, LONG, "v"), FieldReference(2, LONG, "w")),
    BooleanType(),
)
KINDS = ("inner", "left", "right", "full", "semi", "anti")
Rows = tuple[Counter[Row], Counter[Row]]
Changes = list[tuple[str, Row]]


def spec_of(kind: str, keyed: bool, less: bool) -> StreamingJoinSpec:
    pairs = kind not in ("semi", "anti")
    return StreamingJoinSpec(
        (LEFT, RIGHT),
        ((0,), (1,)) if keyed else ((), ()),
        LESS if less else None,
        (kind in ("left", "full"), kind in ("right", "full")),
        pairs,
        kind == "semi",
        BOTH if pairs else LEFT,
    )


def operator(kind: str, keyed: bool = True, less: bool = False) -> Subtask:
    spec = spec_of(kind, keyed, less)
    return Subtask(partial(StreamingJoinOperator, spec, SessionSettings()))


def expected(rows: Rows, kind: str, keyed: bool, less: bool) -> Counter[Row]:
    def match(one: Row, two: Row) -> bool:
        if keyed and (one[0] is None or one[0] != two[1]):
            return False
        return not less or (None not in (one[1], two[0]) and one[1] < two[0])

    left, right = (list(each.elements()) for each in rows)
    matched = [one for one in left if any(match(one, two) for two in right)]
    if kind == "semi":
        return Counter(matched)
    if kind == "anti":
        return Counter(left) - Counter(matched)
    found = Counter(one + two for one in left for two in right if match(one, two))
    if kind in ("left", "full"):
        found.update((*one, None, None) for one in (Counter(left) - Counter(matched)).elements())
    if kind in ("right", "full"):
        alone = [two for two in right if not any(match(one, two) for one in left)]
        found.update((None, None, *two) for two in alone)
    return found


def random_changes(chance: random.Random, side: int, rows: Counter[Row]) -> Changes:
    """Up to a dozen changes of a side; its rows become what they lead to."""
    changes: Changes = []
    for _ in range(chance.randrange(1, 12)):
        held = list(rows.elements())
        if held and chance.random() < 0.45:
            row = chance.choice(held)
            rows[row] -= 1
            changes.append((chance.choice(["-D", "-U"]), row))
        else:
            key, value = chance.choice([None, "a", "b", "c"]), chance.choice([None, 1, 2, 3])
            row = (value, key) if side else (key, value)
            rows[row] += 1
            changes.append((chance.choice(["+I", "+U"]), row))
    return changes


@pytest.mark.turns(5)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("keyed", "less"), [(True, False), (True, True), (False, True)])
@pytest.mark.parametrize("seed", range(3))
def test_any_epochs_aborts_and_restores_give_what_one_go_gives(
    kind: str, keyed: bool, less: bool, seed: int
) -> None:
    chance, subtask = random.Random(seed), operator(kind, keyed, less)
    rows: Rows = Counter(), Counter()
    for step in range(16):
        sides = [chance.randrange(2) for _ in range(3)]
        if step < 10 and chance.random() < 0.3:
            lost = [
                columns((LEFT, RIGHT)[side], random_changes(chance, side, Counter(rows[side])))
                for side in dict.fromkeys(sides)
            ]
            subtask.epoch(lost, abort=True, inputs=list(dict.fromkeys(sides)))
        if step == 10:
            changes, subtask = subtask.changes, subtask.restored()
            subtask.changes, subtask.version = changes, subtask.state.version
        batches = [
            columns((LEFT, RIGHT)[side], random_changes(chance, side, rows[side])) for side in sides
        ]
        if step > 10:  # its state is not the sum of its own deltas: nothing to go back to
            for side, batch in zip(sides, batches, strict=True):
                subtask.operator.process_columns(side, batch)
            subtask.changes += subtask.output.changes
            subtask.output.changes = []
        else:
            subtask.epoch(batches, inputs=sides)
        assert materialised(subtask.changes) == +expected(rows, kind, keyed, less)


def test_a_rescaled_join_goes_on_with_its_keys() -> None:
    first = operator("full")
    left = [("+I", (key, 1)) for key in "abcdef"]
    right = [("+I", (2, key)) for key in "defghi"]
    first.epoch([columns(LEFT, left), columns(RIGHT, right)], inputs=[0, 1])
    parts = [first.restored(index, 2) for index in range(2)]
    held = [log.entry_count() for part in parts for log in part.operator._logs]  # type: ignore[attr-defined]
    assert sum(held) == 12
    assert all(held)


def test_the_first_match_takes_the_padding_back() -> None:
    subtask = operator("left")
    assert subtask.epoch([columns(LEFT, [("+I", ("a", 1))])]) == [("+I", ("a", 1, None, None))]
    assert subtask.epoch([columns(RIGHT, [("+I", (5, "a"))])], inputs=[1]) == [
        ("-D", ("a", 1, None, None)),
        ("+I", ("a", 1, 5, "a")),
    ]
    assert subtask.epoch([columns(RIGHT, [("-D", (5, "a"))])], inputs=[1]) == [
        ("-D", ("a", 1, 5, "a")),
        ("+I", ("a", 1, None, None)),
    ]


def test_rows_that_are_gone_leave_no_state() -> None:
    subtask = operator("full")
    both = [columns(LEFT, [("+I", ("a", 1))] * 3), columns(RIGHT, [("+I", (5, "a"))] * 2)]
    subtask.epoch(both, inputs=[0, 1])
    gone = [columns(LEFT, [("-D", ("a", 1))] * 3), columns(RIGHT, [("-D", (5, "a"))] * 2)]
    subtask.epoch(gone, inputs=[0, 1])
    assert [log.entry_count() for log in subtask.operator._logs] == [0, 0]  # type: ignore[attr-defined]
    assert materialised(subtask.changes) == Counter()


def test_rows_that_nobody_wrote_for_their_sides_time_to_live_are_forgotten() -> None:
    spec = replace(spec_of("left", True, False), state_ttl=(1_000, 100))
    subtask = Subtask(partial(StreamingJoinOperator, spec, SessionSettings()))
    both = [columns(LEFT, [("+I", ("a", 1))]), columns(RIGHT, [("+I", (5, "a"))])]
    subtask.epoch(both, inputs=[0, 1])
    subtask.now = 99
    found = subtask.epoch([columns(LEFT, [("+I", ("a", 2))])])
    assert found == [("+I", ("a", 2, 5, "a"))]
    subtask.now = 100
    found = subtask.epoch([columns(LEFT, [("+I", ("a", 3))])])
    assert found == [("+I", ("a", 3, None, None))]
    sizes = [log.entry_count() for log in subtask.operator._logs]  # type: ignore[attr-defined]
    assert sizes == [3, 0]
    # a first match is a write of the left rows; those that had one already were not written
    subtask.now = 900
    found = subtask.epoch([columns(RIGHT, [("+I", (6, "a"))])], inputs=[1])
    assert Counter(found)[("-D", ("a", 3, None, None))] == 1
    subtask.now = 2_000
    assert subtask.epoch([]) == []
    sizes = [log.entry_count() for log in subtask.operator._logs]  # type: ignore[attr-defined]
    assert sizes == [0, 0]


def test_a_row_that_has_expired_is_not_taken_back_in_place_of_one_that_has_not() -> None:
    spec = replace(spec_of("inner", True, False), state_ttl=(100, 100))
    subtask = Subtask(partial(StreamingJoinOperator, spec, SessionSettings()))
    subtask.epoch([columns(LEFT, [("+I", ("a", 1))])])
    subtask.now = 50
    subtask.epoch([columns(LEFT, [("+I", ("a", 1))])])
    subtask.now = 120
    both = [columns(LEFT, [("-D", ("a", 1))]), columns(RIGHT, [("+I", (5, "a"))])]
    assert subtask.epoch(both, inputs=[0, 1]) == []


def test_a_row_that_is_taken_back_after_it_expired_and_comes_again_is_kept() -> None:
    """As by an update of a column that the query does not read."""
    spec = replace(spec_of("inner", True, False), state_ttl=(100, 0))
    subtask = Subtask(partial(StreamingJoinOperator, spec, SessionSettings()))
    subtask.epoch([columns(LEFT, [("+I", ("a", 1))])])
    subtask.now = 100
    subtask.epoch([columns(LEFT, [("-U", ("a", 1)), ("+U", ("a", 1))])])
    found = subtask.epoch([columns(RIGHT, [("+I", (5, "a"))])], inputs=[1])
    assert found == [("+I", ("a", 1, 5, "a"))]


@pytest.mark.parametrize("kind", ["left", "semi", "anti"])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_changes_of_a_table_whose_rows_expire_change_all_rows_they_are_joined_with(
    kind: str, data: st.DataObject
) -> None:
    """The table has a row per key, which may be taken back or updated after it has expired."""
    spec = replace(spec_of(kind, True, False), state_ttl=(0, 100))
    subtask = Subtask(partial(StreamingJoinOperator, spec, SessionSettings()))
    shown: dict[Row, Row | None] = {}
    held: dict[str, tuple[Row, int]] = {}
    for step in range(data.draw(st.integers(2, 12))):
        subtask.now += data.draw(st.sampled_from([0, 40, 100]))
        changes: Changes = []
        if data.draw(st.booleans()):
            for number in range(data.draw(st.integers(1, 3))):
                left = (data.draw(st.sampled_from("ab")), 10 * step + number)
                row, written = held.get(left[0], (None, 0))
                shown[left] = row if subtask.now < written + 100 else None
                changes.append(("+I", left))
            subtask.epoch([columns(LEFT, changes)])
        else:
            key, value = data.draw(st.sampled_from("ab")), data.draw(st.none() | st.integers(0, 2))
            new = None if value is None else (value, key)
            if key in held:
                changes.append(("-U" if new else "-D", held.pop(key)[0]))
            if new:
                changes.append(("+U", new))
                held[key] = new, subtask.now
            shown.update({left: new for left in shown if left[0] == key})
            subtask.epoch([columns(RIGHT, changes)], inputs=[1])
        if kind == "left":
            wanted = Counter(one + (two or (None, None)) for one, two in shown.items())
        else:
            wanted = Counter(one for one, two in shown.items() if bool(two) == (kind == "semi"))
        assert materialised(subtask.changes) == wanted
        assert (subtask.operator._logs[0].column(0) >= 0).all()  # type: ignore[attr-defined]
