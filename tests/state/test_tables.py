"""Tables against plain dicts: aborted epochs leave no trace, table deltas and dumps add up."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.state import nested_table
from millrace.state.backend.spilled_flat_table import SpilledFlatTable, SpilledListTable
from millrace.state.backend.spilled_nested_table import SpilledNestedTable
from millrace.state.backend.spilled_table import SpilledTable, TableRows
from millrace.state.flat_table import FlatTable
from millrace.state.list_table import ListTable
from millrace.state.nested_table import NestedTable
from millrace.state.serialization.payload import decode, encode
from millrace.state.table import StateTable
from millrace.testing.sorted_store import SortedStore

Step = Callable[[Any, dict[Any, Any]], None]
"""One operation, done to a table and to a plain dict."""

keys = st.sampled_from(["a", (1, 2)])
"""Few, so that an epoch often does several things to one entry."""
values = st.one_of(
    st.integers(0, 3),
    st.just((1, "x")),
    st.lists(st.integers(0, 3), max_size=3),
    st.just(([1], 2)),
)


def copied(value: Any) -> Any:
    """Neither side may change the other's objects."""
    return copy.deepcopy(value)


def flat_put(key: Any, value: Any) -> Step:
    def step(table: FlatTable, model: dict[Any, Any]) -> None:
        table.put(key, copied(value))
        model[key] = copied(value)

    return step


def flat_remove(key: Any) -> Step:
    def step(table: FlatTable, model: dict[Any, Any]) -> None:
        table.remove(key)
        model.pop(key, None)

    return step


def flat_change_in_place(key: Any) -> Step:
    def step(table: FlatTable, model: dict[Any, Any]) -> None:
        for value in (table.get(key), model.get(key)):
            target = value[0] if isinstance(value, tuple) else value
            if isinstance(target, list):
                target.append(9)

    return step


def flat_batch(several: list[Any], value: Any) -> Step:
    """Accumulators that are changed in place, or replaced, after all have been noted."""

    def step(table: FlatTable, model: dict[Any, Any]) -> None:
        for data in (table.writable(several), model):
            for key in several:
                found = data.get(key)
                if isinstance(found, list):
                    found.append(9)
                else:
                    data[key] = copied(value)

    return step


flat_steps = st.one_of(
    st.builds(flat_put, keys, values),
    st.builds(flat_batch, st.lists(keys, max_size=4), values),
    st.builds(flat_remove, keys),
    st.builds(flat_change_in_place, keys),
)


def list_append(key: Any, value: Any) -> Step:
    def step(table: ListTable, model: dict[Any, Any]) -> None:
        table.append(key, copied(value))
        model.setdefault(key, []).append(copied(value))

    return step


def list_put(key: Any, items: list[Any]) -> Step:
    def step(table: ListTable, model: dict[Any, Any]) -> None:
        table.put(key, copied(items))
        model[key] = copied(items)

    return step


def list_change_in_place(key: Any) -> Step:
    def step(table: ListTable, model: dict[Any, Any]) -> None:
        for items in (table.get(key), model.get(key)):
            for item in items or ():
                if isinstance(item, list):
                    item.append(9)

    return step


list_steps = st.one_of(
    st.builds(list_append, keys, values),
    st.builds(list_put, keys, st.lists(values, max_size=3)),
    st.builds(flat_remove, keys),
    st.builds(list_change_in_place, keys),
)


def nested_put(outer: Any, inner: Any, value: Any) -> Step:
    def step(table: NestedTable, model: dict[Any, Any]) -> None:
        table.put(outer, inner, copied(value))
        model.setdefault(outer, {})[inner] = copied(value)

    return step


def nested_remove(outer: Any, inner: Any) -> Step:
    def step(table: NestedTable, model: dict[Any, Any]) -> None:
        table.remove(outer, inner)
        model.get(outer, {}).pop(inner, None)

    return step


def nested_drop(outer: Any) -> Step:
    def step(table: NestedTable, model: dict[Any, Any]) -> None:
        assert table.drop(outer) == model.pop(outer, {})

    return step


def nested_drop_and_spoil(outer: Any) -> Step:
    """The receiver of a dropped dict changes a mutable value of it."""

    def step(table: NestedTable, model: dict[Any, Any]) -> None:
        for value in table.drop(outer).values():
            if isinstance(value, list):
                value.append(9)
        model.pop(outer, None)

    return step


def nested_batch(outer: Any, inners: list[Any], value: Any) -> Step:
    """What operators do: many writes at once."""

    def step(table: NestedTable, model: dict[Any, Any]) -> None:
        places = [outer] * len(inners)
        batch = (places, inners, [value] * len(inners))
        table.upsert_many(batch, lambda new, old: copied(new), copied, lambda _: True)
        for inner in inners:
            model.setdefault(outer, {})[inner] = copied(value)

    return step


def nested_upserts(places: list[tuple[Any, Any]], refused: Any) -> Step:
    """Accumulators that are changed in place, below several outer keys of which one is closed."""

    def step(table: NestedTable, model: dict[Any, Any]) -> None:
        batch = ([o for o, _ in places], [i for _, i in places], list(range(len(places))))
        late = table.upsert_many(batch, joined, lambda value: [value], lambda o: o != refused)
        assert late == [index for index, (outer, _) in enumerate(places) if outer == refused]
        for value, (outer, inner) in enumerate(places):
            if outer != refused:
                below = model.setdefault(outer, {})
                below[inner] = joined(value, below[inner]) if inner in below else [value]

    return step


def joined(value: int, accumulator: Any) -> Any:
    if not isinstance(accumulator, list):
        return [value]
    accumulator.append(value)
    return accumulator


nested_steps = st.one_of(
    st.builds(nested_upserts, st.lists(st.tuples(keys, keys), max_size=5), keys),
    st.builds(nested_put, keys, keys, values),
    st.builds(nested_remove, keys, keys),
    st.builds(nested_drop, keys),
    st.builds(nested_drop_and_spoil, keys),
    st.builds(nested_batch, keys, st.lists(keys, max_size=3), values),
)

epochs_of = {
    FlatTable: st.lists(
        st.tuples(st.lists(flat_steps, min_size=2, max_size=8), st.booleans()), max_size=6
    ),
    ListTable: st.lists(
        st.tuples(st.lists(list_steps, min_size=2, max_size=8), st.booleans()), max_size=6
    ),
    NestedTable: st.lists(
        st.tuples(st.lists(nested_steps, min_size=2, max_size=8), st.booleans()), max_size=6
    ),
}


KINDS = [FlatTable, ListTable, NestedTable]
SPILLED = [SpilledFlatTable, SpilledListTable, SpilledNestedTable]
epochs_of.update({SPILLED[i]: epochs_of[KINDS[i]] for i in range(3)})


def made(kind: type[StateTable]) -> Any:
    rows = TableRows(SortedStore(), 1)
    if kind is SpilledNestedTable:
        return kind(rows, TableRows(rows.store, 2), lambda outer, inner: outer)
    if kind in SPILLED:
        return kind(rows, lambda key: key)
    return NestedTable(lambda outer, inner: outer) if kind is NestedTable else kind()


def spill(table: Any, evicted: int | None) -> None:
    """Write what is unsaved, and give up so many entries."""
    if evicted is None or not isinstance(table, SpilledTable):
        return
    table.rows.store.write_all(table.flush())
    table.flushed()
    table.evict(evicted)


def content(table: Any) -> dict[Any, Any]:
    """Without the empty dicts that `NestedTable.pane` leaves when nothing is written."""
    return {k: v for k, v in table.data.items() if v != {}}


def plain_copy(table: Any) -> dict[Any, Any]:
    """What is in a table, as dicts."""
    nested = isinstance(table, NestedTable)
    found = {k: dict(v.items()) if nested else v for k, v in table.data.items()}
    return copied(found)


def plain(model: dict[Any, Any]) -> dict[Any, Any]:
    return {k: v for k, v in model.items() if v != {}}


@pytest.mark.parametrize("kind", KINDS + SPILLED)
@settings(max_examples=100)
@given(data=st.data())
def test_epochs_against_a_model(kind: type[StateTable], data: st.DataObject) -> None:
    """Accepted epochs add up here and in a replica that replays deltas; aborted ones vanish."""
    table, replica, accepted = made(kind), made(kind), {}
    for steps, accept in data.draw(epochs_of[kind]):  # type: ignore[index]
        model = copied(accepted)
        for step in steps:
            step(table, model)
        assert content(table) == plain(model)
        table_delta = encode(table.changes())
        if accept:
            table.seal()
            accepted = model
            spill(table, data.draw(st.sampled_from([None, 0, 1, 9])))
            if decode(table_delta) is not None:
                replica.apply(decode(table_delta))
        else:
            table.roll_back()
        assert table.change_count() == 0
        assert table.changes() is None
        assert content(table) == plain(accepted) == content(replica)
        assert bool(table.entry_count()) == bool(plain(accepted))


@pytest.mark.parametrize("kind", KINDS + SPILLED)
@settings(max_examples=50)
@given(data=st.data(), budget=st.integers(1, 3))
def test_a_scan_across_epochs(kind: type[StateTable], data: st.DataObject, budget: int) -> None:
    """What it finds step by step, with the changes of the epochs meanwhile, is the table."""
    table, model = made(kind), {}
    replica = made(KINDS[SPILLED.index(kind)] if kind in SPILLED else kind)
    cursor, through, begun = None, False, False
    for steps, accept in data.draw(epochs_of[kind]):  # type: ignore[index]
        before = copied(model)
        for step in steps:
            step(table, model)
        begun = begun or (accept and data.draw(st.booleans()))
        if begun and not through:
            found = table.scan(cursor, budget)
            changed = table.changes()
        if not accept:
            table.roll_back()
            model = before
            continue
        if begun and not through:
            cursor, through = found.cursor, found.cursor is None
            if changed is not None:
                replica.apply(copied(changed))
            replica.apply(copied(found.table_delta))
        elif begun and (changed := table.changes()) is not None:
            replica.apply(copied(changed))
        table.seal()
        spill(table, data.draw(st.sampled_from([None, 0, 1, 9])))
    if begun:
        while not through:
            found = table.scan(cursor, budget)
            replica.apply(copied(found.table_delta))
            cursor, through = found.cursor, found.cursor is None
        assert content(replica) == plain(model) == content(table)


@pytest.mark.parametrize("kind", [FlatTable, ListTable, NestedTable])
@given(data=st.data(), split=st.integers(0, 9), chunk=st.integers(1, 3))
def test_a_dump_is_the_whole_table(
    kind: type[StateTable], data: st.DataObject, split: int, chunk: int
) -> None:
    """Unit by unit or in one go, with big inner dicts in chunks or whole."""
    table, model = made(kind), {}
    for steps, _ in data.draw(epochs_of[kind]):  # type: ignore[index]
        for step in steps:
            step(table, model)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nested_table, "SPLIT_BELOW", split)
        patch.setattr(nested_table, "CHUNK_ENTRIES", chunk)
        units = table.dump_units()
    at_once, by_unit, total = made(kind), made(kind), 0
    at_once.apply(copied(table.dump(units)[0]))
    for unit in units:
        table_delta, count = table.dump([unit])
        by_unit.apply(copied(table_delta))
        total += count
    assert content(at_once) == content(by_unit) == plain(model)
    assert total == table.entry_count()
    assert table.entries_per_unit >= 1


@pytest.mark.parametrize("kind", KINDS + SPILLED)
@given(data=st.data())
def test_clear(kind: type[StateTable], data: st.DataObject) -> None:
    """Everything is forgotten, what was noted too."""
    table = made(kind)
    for steps, _ in data.draw(epochs_of[kind]):  # type: ignore[index]
        for step in steps:
            step(table, plain_copy(table))
    table.clear()
    table.roll_back()
    assert table.data == {}


def test_a_list_that_was_removed_and_begun_again() -> None:
    """Comes back whole when the epoch is aborted."""
    table = ListTable()
    table.put("a", [1, 2])
    table.seal()
    table.remove("a")
    table.append("a", 3)
    assert table.changes() == {"put": {"a": [3]}, "add": {}, "del": []}
    table.roll_back()
    assert table.data == {"a": [1, 2]}


def test_an_outer_key_that_was_dropped_twice() -> None:
    """Comes back as it was before the first time."""
    table = NestedTable(lambda outer, inner: outer)
    table.put("w", 1, "old")
    table.seal()
    table.put("w", 1, "new")
    table.drop("w")
    table.put("w", 2, "again")
    table.drop("w")
    table.roll_back()
    assert table.data == {"w": {1: "old"}}


def test_unchanged_values_are_no_change() -> None:
    """Reading a mutable value makes no table delta as long as nobody changes it."""
    table = FlatTable()
    table.put("a", [1])
    table.seal()
    value = table.get("a")
    assert table.changes() is None
    value.append(2)
    assert table.changes() == {"put": {"a": [1, 2]}, "del": []}


def test_appending_makes_a_small_delta() -> None:
    """However long the list is."""
    table = ListTable()
    table.put("a", list(range(1000)))
    table.seal()
    table.append("a", 1)
    assert table.changes() == {"put": {}, "add": {"a": [1]}, "del": []}


def test_dropping_makes_a_small_delta() -> None:
    """However much is below the outer key."""
    table = NestedTable(lambda outer, inner: inner)
    for i in range(1000):
        table.put("w", i, i)
    table.seal()
    table.drop("w")
    assert table.changes() == {"drop": ["w"], "put": {}, "del": {}}


def test_only_the_keys_that_are_wanted() -> None:
    """By the key whose key group an entry belongs to."""
    flat, listed = FlatTable(lambda key: key[-1]), ListTable()
    flat.apply({"put": {(0, 1): "a", (0, 2): "b"}, "del": []}, lambda key: key == 1)
    listed.apply({"put": {1: [1], 2: [2]}, "add": {1: [3], 2: [4]}, "del": []}, lambda k: k == 2)
    panes = NestedTable(lambda outer, inner: inner)
    panes.apply(
        {"drop": [], "put": {"w": {1: "a", 2: "b"}, "v": {2: "c"}}, "del": {}}, {1}.__contains__
    )
    assert flat.data == {(0, 1): "a"}
    assert listed.data == {2: [2, 4]}
    assert panes.data == {"w": {1: "a"}}


@pytest.mark.parametrize(("outers", "inners"), [(20_000, 1), (3000, 3), (1, 20_000)])
def test_units_are_of_the_size_they_claim(outers: int, inners: int) -> None:
    """A pass asks for as many units as it may copy entries: wrong sizes would make it crawl."""
    table = NestedTable(lambda outer, inner: outer)
    for outer in range(outers):
        table.data[outer] = dict.fromkeys(range(inners), 0)
    units = table.dump_units()
    assert len(units) * table.entries_per_unit == pytest.approx(table.entry_count(), rel=0.1)
