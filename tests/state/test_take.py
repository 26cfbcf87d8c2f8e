"""Taking over what other subtasks had: what one of them removed, another one may have."""

from __future__ import annotations

import pytest

from millrace.state.kinds.table_kind import TableKind
from millrace.state.state_delta import StateDelta
from millrace.state.store import SubtaskState
from millrace.state.table_id import TableId
from millrace.state.table_kinds import (
    BROADCAST,
    EVENT_TIMER_QUEUE,
    FLAT,
    PANE_ELEMENTS,
    PANES,
    TABLE_KINDS,
    UNION_LIST,
)

PENDING = {PANES: (5, "a"), EVENT_TIMER_QUEUE: (5, ("a", None)), PANE_ELEMENTS: (5, ("a", 1))}


def inline(delta: StateDelta) -> bytes:
    assert isinstance(delta.data, bytes)
    return delta.data


def opened() -> SubtaskState:
    """With so much in it that an epoch's delta holds its changes only."""
    state = SubtaskState()
    for number in range(100):
        state.table(TableId("op", "much"), BROADCAST).put(number, number)
    return state


def everything(name: TableId, kind: TableKind) -> bool:
    return True


@pytest.mark.parametrize("kind", PENDING)
def test_a_pane_or_a_time_that_another_subtask_is_through_with(kind: TableKind) -> None:
    """Stays with those who are not."""
    outer, inner = PENDING[kind]
    one, other, taker = opened(), opened(), SubtaskState()
    one.table(TableId("op", "x"), kind).put(outer, inner, "pending")
    first = [one.snapshot(1, "a1")]
    other.table(TableId("op", "x"), kind).put(outer, ("b", None), "fired")
    other.table(TableId("op", "x"), kind).put(outer + 1, ("b", None), "pending")
    second = [other.snapshot(1, "b1")]
    other.align("b1", second, inline)
    other.table(TableId("op", "x"), kind).drop(outer)
    other.table(TableId("op", "y"), FLAT).put(1, 1)
    second.append(other.snapshot(2, "b2"))
    for deltas in (first, second):
        taker.take(deltas, inline, everything, None)
    found = {at: dict(entries) for at, entries in taker.tables[TableId("op", "x")].data.items()}
    assert found == {5: {inner: "pending"}, 6: {("b", None): "pending"}}


def test_a_union_list_whose_former_parts_were_replaced() -> None:
    """After a restore each subtask has all parts, and removes those of the others."""
    one, other, taker = opened(), opened(), SubtaskState()
    deltas: list[list[StateDelta]] = []
    for number, state in enumerate((one, other)):
        table = state.table(TableId("op", "x"), UNION_LIST)
        for place in ((0, 0), (1, 0)):
            table.put(place, "old")
        history = [state.snapshot(1, f"{number}-1")]
        state.align(f"{number}-1", history, inline)
        table.remove((1 - number, 0))
        table.put((number, 0), "new")
        history.append(state.snapshot(2, f"{number}-2"))
        deltas.append(history)
    for number, history in enumerate(deltas):
        taker.take(history, inline, everything, None, number)
    assert taker.tables[TableId("op", "x")].data == {(0, 0): "new", (1, 0): "new"}


def test_a_union_list_of_which_one_subtask_has_replaced_its_part() -> None:
    """The old copy that another one still has is not what has become of it."""
    taker = SubtaskState()
    for number, element in enumerate(("old", "new")):
        state = opened()
        state.table(TableId("op", "x"), UNION_LIST).put((1, 0), element)
        delta = state.snapshot(1, "1")
        taker.take([delta], inline, everything, None, number)
    assert taker.tables[TableId("op", "x")].data == {(0, 0): "old", (1, 0): "new"}


def test_which_kinds_are_disjoint() -> None:
    """Those whose outer key is the key of the stream, or holds it."""
    disjoint = {kind for kind, found in TABLE_KINDS.items() if found.disjoint}
    assert disjoint == TABLE_KINDS.keys() - {
        "panes",
        "pane-elements",
        "slice-elements",
        "event-timers",
        "processing-timers",
        "broadcast",
        "split-list",
        "union-list",
        "operator-values",
    }
