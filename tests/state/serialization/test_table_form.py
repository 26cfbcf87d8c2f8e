"""Types of a subtask's tables: what deltas say, what programs declare, and when the two differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from type_samples import Account, Color, Money, Point, exactly

from millrace.common.errors import SerializationError, StateMigrationError
from millrace.common.types import Row
from millrace.common.types.typeinfo import TypeInformation, Types
from millrace.state.delta_payload import contents, entries_in
from millrace.state.kinds.table_kind import TableKind
from millrace.state.serialization.entry_types import StateOwner
from millrace.state.serialization.payload import decode
from millrace.state.serialization.schema import ANY
from millrace.state.state_delta import StateDelta
from millrace.state.store import SubtaskState
from millrace.state.table_id import TableId
from millrace.state.table_kinds import (
    BROADCAST,
    EVENT_TIMER_QUEUE,
    FLAT,
    LIST,
    MAP,
    PANES,
    SPLIT_LIST,
    TTL_FLAT,
    TTL_LIST,
    TTL_MAP,
    WINDOW_FLAT,
    WINDOW_MAP,
)

MONEY = Money(Decimal("9.99"))


@dataclass
class Before:
    name: str
    count: int


@dataclass
class After:
    name: str
    count: float
    price: Decimal = Decimal(1)


BEFORE, AFTER = Types.of(Before), Types.of(After)

SHAPES: dict[str, tuple[Any, Any, Any]] = {
    FLAT: (lambda t: t, lambda table, value: table.put("k", value), lambda v: {"k": v}),
    TTL_FLAT: (
        lambda t: t,
        lambda table, value: table.put("k", (value, 5)),
        lambda v: {"k": (v, 5)},
    ),
    WINDOW_FLAT: (
        lambda t: t,
        lambda table, value: table.put(((0, 9), "k"), value),
        lambda v: {((0, 9), "k"): v},
    ),
    LIST: (Types.LIST, lambda table, value: table.append("k", value), lambda v: {"k": [v]}),
    TTL_LIST: (
        Types.LIST,
        lambda table, value: table.append("k", (value, 5)),
        lambda v: {"k": [(v, 5)]},
    ),
    MAP: (
        lambda t: Types.MAP(Types.STRING(), t),
        lambda table, value: table.put("k", "m", value),
        lambda v: {"k": {"m": v}},
    ),
    TTL_MAP: (
        lambda t: Types.MAP(Types.STRING(), t),
        lambda table, value: table.put("k", "m", (value, 5)),
        lambda v: {"k": {"m": (v, 5)}},
    ),
    BROADCAST: (
        lambda t: Types.MAP(Types.STRING(), t),
        lambda table, value: table.put("m", value),
        lambda v: {"m": v},
    ),
    SPLIT_LIST: (
        Types.LIST,
        lambda table, value: table.put((0, 0), value),
        lambda v: {(0, 0): v},
    ),
}
"""Per kind: the descriptor's type, how a value gets into the table, and what is in it then."""


def inline(delta: StateDelta) -> bytes:
    assert isinstance(delta.data, bytes)
    return delta.data


def delta_of(state: SubtaskState, epoch: int = 1) -> StateDelta:
    """End an epoch that counts."""
    delta = state.snapshot(epoch, f"v{epoch}")
    assert delta is not None
    state.align(f"v{epoch}", [delta], inline)
    return delta


def restored(*deltas: StateDelta, **options: Any) -> SubtaskState:
    state = SubtaskState(**options)
    state.restore("restored", deltas, inline)
    return state


def take(state: SubtaskState, delta: StateDelta, keep: Any = None) -> None:
    """Add what another subtask's delta has."""
    state.take([delta], inline, lambda name, kind: True, keep)


def written(delta: StateDelta) -> Iterator[tuple[str, Any, Any]]:
    """Table, schema and put entries of a delta."""
    for content in contents(delta, inline):
        for table, _, schema, data in entries_in(content):
            yield table, schema, decode(data)["put"]


def before(
    kind: TableKind, value: Any, type_info: TypeInformation[Any] | None = BEFORE
) -> StateDelta:
    state = SubtaskState()
    wrap, put, _ = SHAPES[kind]
    put(state.table(TableId("op", "s"), kind, type_info and wrap(type_info)), value)
    return delta_of(state)


@pytest.mark.parametrize("kind", SHAPES, ids=str)
def test_state_evolves_when_it_is_declared(kind: TableKind) -> None:
    """Tables are filled before the program says what is in them."""
    wrap, _, content = SHAPES[kind]
    state = restored(before(kind, Before("a", 3)))
    assert content(("a", 3)) == state.tables[TableId("op", "s")].data  # type: ignore[attr-defined]
    table = state.table(TableId("op", "s"), kind, wrap(AFTER))
    assert exactly(table.data, content(After("a", 3.0)))


@pytest.mark.parametrize("kind", SHAPES, ids=str)
def test_deltas_are_converted_on_the_way_into_a_declared_table(kind: TableKind) -> None:
    """As when a store is restored a second time."""
    wrap, _, content = SHAPES[kind]
    state = SubtaskState()
    table = state.table(TableId("op", "s"), kind, wrap(AFTER))
    state.restore("again", [before(kind, Before("a", 3))], inline)
    assert exactly(table.data, content(After("a", 3.0)))


@pytest.mark.parametrize("kind", SHAPES, ids=str)
def test_deltas_hold_plain_data(kind: TableKind) -> None:
    """No class of the program is named in what would be unpickled."""
    delta = before(kind, Before("a", 3))
    ((table, schema, put),) = written(delta)
    assert table == TableId("op", "s")
    assert schema[3] == BEFORE.schema()
    assert SHAPES[kind][2](("a", 3)) == put


def test_all_is_written_anew_when_the_type_changed() -> None:
    """No chain of deltas mixes two types, even if the epoch changed nothing."""
    state = restored(before(FLAT, Before("a", 3)))
    state.table(TableId("op", "s"), FLAT, AFTER)
    delta = delta_of(state, 2)
    assert delta.low_epoch == 2
    assert list(written(delta)) == [
        (TableId("op", "s"), (1, ANY, ANY, AFTER.schema()), {"k": ("a", 3.0, "1")})
    ]
    assert state.snapshot(3, "v3") is None


def test_an_aborted_epoch_does_not_forget_that() -> None:
    """The next one writes everything."""
    state = restored(before(FLAT, Before("a", 3)))
    state.table(TableId("op", "s"), FLAT, AFTER)
    assert state.snapshot(2, "aborted") is not None
    state.align("restored", [], inline)
    assert delta_of(state, 2).low_epoch == 2


def test_the_same_type_goes_on_with_deltas() -> None:
    """Only what changed is written."""
    state = SubtaskState()
    table = state.table(TableId("op", "s"), FLAT, BEFORE)
    for number in range(100):
        table.put(number, Before("a", number))
    later = restored(delta_of(state))
    table = later.table(TableId("op", "s"), FLAT, BEFORE)
    table.put(5, Before("b", 5))
    changes = next(contents(delta_of(later, 2), inline))
    assert decode(changes["changes"][TableId("op", "s")][2])["put"] == {5: ("b", 5)}


def test_a_state_that_is_not_declared_is_written_as_it_was() -> None:
    """With its schema, by a program that knows nothing of it."""
    delta = before(FLAT, Before("a", 3))
    state = restored(delta)
    state.table(TableId("op", "other"), FLAT, Types.LONG()).put("k", 1)
    again = {name: rest for name, *rest in written(delta_of(state, 2))}
    assert again[TableId("op", "s")] == [(1, ANY, ANY, BEFORE.schema()), {"k": ("a", 3)}]


def test_a_replay_into_another_worker_reads_both() -> None:
    """A worker with the old type in its deltas and the new one in its program."""
    first = before(FLAT, Before("a", 3))
    mover = restored(first)
    mover.version = "v1"
    mover.table(TableId("op", "s"), FLAT, AFTER).put("new", After("b", 1.0))
    second = delta_of(mover, 2)
    follower = restored(first)
    follower.version = "v1"
    table = follower.table(TableId("op", "s"), FLAT, AFTER)
    assert follower.align("v2", [first, second], inline) is False
    assert exactly(table.data, {"k": After("a", 3.0), "new": After("b", 1.0)})


def test_an_impossible_change_names_operator_state_and_field() -> None:
    """In one sentence."""

    @dataclass
    class Wrong:
        name: int
        count: int

    state = restored(before(FLAT, Before("a", 3)), owners={"op": StateOwner("Count")})
    with pytest.raises(StateMigrationError) as caught:
        state.table(TableId("op", "s"), FLAT, Types.of(Wrong))
    assert str(caught.value) == (
        "state 's' of operator 'Count' cannot be restored: field 'name' was STRING and is LONG now"
    )


def test_damaged_content_is_a_migration_error_too() -> None:
    """Not whatever Python says."""
    state = SubtaskState()
    state.table(TableId("op", "s"), FLAT).put("k", ("too", "many", "values"))
    delta = delta_of(state)
    (content,) = contents(delta, inline)
    kind, _, data = content["all" if TableId("op", "s") in content["all"] else "compaction"][
        TableId("op", "s")
    ]
    other = SubtaskState()
    other._apply({"all": {TableId("op", "s"): (kind, (1, ANY, ANY, BEFORE.schema()), data)}})
    with pytest.raises(StateMigrationError, match="content does not fit its type"):
        other.table(TableId("op", "s"), FLAT, BEFORE)


def test_undeclared_state_gets_a_type_and_loses_it() -> None:
    """As long as its values allow it."""
    typed = restored(before(FLAT, Before("a", 3), None)).table(TableId("op", "s"), FLAT, BEFORE)
    assert typed.data == {"k": Before("a", 3)}
    untyped = restored(before(FLAT, Decimal(1), Types.BIG_DEC()))
    assert untyped.table(TableId("op", "s"), FLAT, Types.PICKLED_BYTE_ARRAY()).data == {
        "k": Decimal(1)
    }
    with pytest.raises(StateMigrationError, match="declare it again"):
        restored(before(FLAT, Before("a", 3))).table(
            TableId("op", "s"), FLAT, Types.PICKLED_BYTE_ARRAY()
        )


def test_plain_types_add_next_to_nothing() -> None:
    """A schema of a few bytes per table and piece."""
    typed, untyped = before(FLAT, 5, Types.LONG()), before(FLAT, 5, None)
    assert typed.size() - untyped.size() < 70


def test_a_value_that_cannot_be_written_names_its_state() -> None:
    """And its operator."""
    state = SubtaskState()
    state.table(TableId("op", "s"), FLAT, BEFORE).put("k", object.__new__(Before))
    with pytest.raises(SerializationError, match="state 's' of operator 'op' holds a value"):
        state.snapshot(1, "v1")


# -- keys --------------------------------------------------------------------------

KEY = UUID(int=7)
KEYED = {"op": StateOwner("Count", Types.of(UUID))}


@pytest.mark.parametrize(
    ("kind", "fill", "place"),
    [
        (FLAT, lambda t: t.put(KEY, 1), KEY),
        (LIST, lambda t: t.append(KEY, 1), KEY),
        (MAP, lambda t: t.put(KEY, "m", 1), KEY),
        (PANES, lambda t: t.put((0, 9), KEY, 1), (0, 9)),
        (EVENT_TIMER_QUEUE, lambda t: t.put(5, (KEY, None), True), 5),
        (WINDOW_FLAT, lambda t: t.put(((0, 9), KEY), 1), ((0, 9), KEY)),
        (WINDOW_MAP, lambda t: t.put(((0, 9), KEY), "m", 1), ((0, 9), KEY)),
    ],
)
def test_typed_keys_are_real_in_memory_and_plain_in_deltas(
    kind: TableKind, fill: Any, place: Any
) -> None:
    """Their key group is taken before the program declares anything."""
    state = SubtaskState(owners=KEYED)
    fill(state.table(TableId("op", "s"), kind))
    delta = delta_of(state)
    ((_, schema, put),) = written(delta)
    assert schema == (1, Types.of(UUID).schema(), ANY, ANY)
    assert KEY.bytes in repr(put).encode() or repr(KEY.bytes) in repr(put)
    for options in ({"owners": KEYED}, {"owners": {"op": StateOwner()}}, {"as_written": True}):
        again = restored(delta, **options)
        assert again.tables[TableId("op", "s")].data == state.tables[TableId("op", "s")].data  # type: ignore[attr-defined]
    merged = SubtaskState(owners=KEYED)
    seen: list[Any] = []
    take(merged, delta, lambda key: seen.append(key) or True)
    assert seen == [KEY]
    assert place in merged.tables[TableId("op", "s")].data  # type: ignore[attr-defined]


def test_keys_of_operators_that_are_not_known_are_written_as_they_were() -> None:
    """Whoever moves state need not have the program."""
    state = SubtaskState(owners=KEYED)
    state.table(TableId("op", "s"), FLAT, BEFORE).put(KEY, Before("a", 3))
    moved = SubtaskState()
    take(moved, delta_of(state))
    moved.adopt("moved")
    assert list(written(delta_of(moved, 2))) == [
        (
            TableId("op", "s"),
            (1, Types.of(UUID).schema(), ANY, BEFORE.schema()),
            {KEY.bytes: ("a", 3)},
        )
    ]


def test_keys_may_not_change_their_type() -> None:
    """They would belong elsewhere."""
    state = SubtaskState(owners=KEYED)
    state.table(TableId("op", "s"), FLAT).put(KEY, 1)
    delta = delta_of(state)
    with pytest.raises(StateMigrationError, match="its key was UUID and is LONG now"):
        restored(delta, owners={"op": StateOwner("Count", Types.LONG())})


def test_keys_may_get_a_type() -> None:
    """Everything is written anew then."""
    state = SubtaskState()
    state.table(TableId("op", "s"), FLAT).put(KEY, 1)
    later = restored(delta_of(state), owners=KEYED)
    delta = delta_of(later, 2)
    assert [put for _, _, put in written(delta)] == [{KEY.bytes: 1}]


# -- without the program ------------------------------------------------------------


def test_states_can_be_read_without_their_classes() -> None:
    """Records are rows, enums are strings, other values are what they were."""
    account = Account("Ann", MONEY, history=[Point(1, 2.0)], color=Color.GREEN)
    state = restored(before(FLAT, account, Types.of(Account)), as_written=True)
    (row,) = state.tables[TableId("op", "s")].data.values()  # type: ignore[attr-defined]
    assert isinstance(row, Row)
    assert row.balance == Row(amount=Decimal("9.99"), currency="EUR")
    assert (row.history, row.color, row.tags) == ([Row(x=1, y=2.0)], "GREEN", set())


def test_the_tables_of_a_delta_with_their_schemas() -> None:
    """Nothing of the entries is decoded for that."""
    delta = before(FLAT, Before("a", 3))
    (content,) = contents(delta, inline)
    ((table, kind, schema, _),) = entries_in(content)
    assert (table, kind) == (TableId("op", "s"), FLAT)
    assert schema == (1, ANY, ANY, BEFORE.schema())


def test_states_of_two_subtasks_come_together() -> None:
    """One of them had its state declared with the new type already, the other never."""
    old, new = before(FLAT, Before("a", 3)), before(FLAT, After("b", 1.0), AFTER)
    state = SubtaskState()
    table = state.table(TableId("op", "s"), FLAT, AFTER)
    state.reset()
    for delta in (old, new):
        take(state, delta)
    assert exactly(table.data, {"k": After("b", 1.0)})
    undeclared = SubtaskState()
    take(undeclared, old)
    with pytest.raises(StateMigrationError, match="with two types by different subtasks"):
        take(undeclared, new)
