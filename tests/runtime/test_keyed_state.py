"""Every kind of state with every operation, against the plain Python object it stands for."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.common import Row, Types
from millrace.common.errors import StateError
from millrace.datastream import AggregateFunction
from millrace.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from millrace.runtime.epoch import QueryableState
from millrace.runtime.keyed_state import CurrentKey, KeyedStates
from millrace.runtime.state_scope import WINDOW
from millrace.state.store import SubtaskState
from millrace.state.table_id import TableId


class Total(AggregateFunction):
    def create_accumulator(self):
        return [0]

    def add(self, value, accumulator):
        accumulator[0] += value
        return accumulator

    def get_result(self, accumulator):
        return accumulator[0]

    def merge(self, acc_a, acc_b):
        raise AssertionError


class Rig:
    """States of one operator; `key` switches the current key."""

    def __init__(self) -> None:
        self.store = SubtaskState()
        self.current = CurrentKey()
        self.states = KeyedStates(self.store, "uid", self.current)
        self.epoch = 0
        self.key("a")

    def key(self, key: Any) -> None:
        self.current.key = key

    def commit(self) -> None:
        version = f"v{self.epoch}"
        if self.store.snapshot(self.epoch, version):
            self.store.align(version, (), lambda delta: b"")
        self.epoch += 1

    def abort(self) -> None:
        self.store.roll_back()


@pytest.mark.parametrize("given", [["a", [1, 2]], ("a", [1, 2]), Row("a", (1, 2))], ids=repr)
def test_what_passes_for_a_tuple_becomes_one(given: Any) -> None:
    """Else it could be changed in place, which is in no delta."""
    rig = Rig()
    pair = Types.TUPLE([Types.STRING(), Types.TUPLE([Types.LONG(), Types.LONG()])])
    state = rig.states.get_state(ValueStateDescriptor("v", pair))
    state.update(given)
    assert state.value() == ("a", (1, 2))
    assert type(state.value()[1]) is tuple


@pytest.fixture(params=["typed", "untyped"])
def value_rig(request) -> tuple[Rig, Any]:
    rig = Rig()
    type_info = Types.LONG() if request.param == "typed" else None
    return rig, rig.states.get_state(ValueStateDescriptor("v", type_info))


def test_value_state(value_rig) -> None:
    rig, state = value_rig
    assert state.value() is None
    state.update(1)
    rig.key("b")
    assert state.value() is None
    state.update(2)
    rig.key("a")
    assert state.value() == 1
    state.clear()
    assert state.value() is None
    state.clear()


def test_updating_to_none_removes(value_rig) -> None:
    rig, state = value_rig
    state.update(1)
    rig.commit()
    state.update(None)
    state.update(None)
    rig.commit()
    assert state.value() is None
    assert rig.store.tables[TableId("uid", "v")].entry_count() == 0


def test_value_state_is_taken_back(value_rig) -> None:
    rig, state = value_rig
    state.update(1)
    rig.commit()
    state.update(2)
    rig.key("b")
    state.update(3)
    rig.abort()
    assert state.value() is None
    rig.key("a")
    assert state.value() == 1


def test_a_value_changed_in_place_counts_as_an_update() -> None:
    rig = Rig()
    state = rig.states.get_state(ValueStateDescriptor("v"))
    state.update([1])
    rig.commit()
    state.value().append(2)
    rig.commit()
    state.value().append(3)
    rig.abort()
    assert state.value() == [1, 2]


def test_list_state() -> None:
    rig = Rig()
    state = rig.states.get_list_state(ListStateDescriptor("l", Types.INT()))
    assert list(state) == []
    state.add(1)
    state.add_all([2, 3])
    rig.commit()
    state.add(4)
    assert state.get() == [1, 2, 3, 4]
    rig.abort()
    assert state.get() == [1, 2, 3]
    rig.key("b")
    assert state.get() == []
    rig.key("a")
    state.update([9])
    assert state.get() == [9]
    state.update([])
    assert state.get() == []
    rig.abort()
    state.clear()
    rig.commit()
    assert state.get() == []


def test_changing_what_list_state_gave_changes_nothing() -> None:
    rig = Rig()
    state = rig.states.get_list_state(ListStateDescriptor("l"))
    mine = [1, 2]
    state.update(mine)
    mine.append(3)
    state.get().append(4)
    assert state.get() == [1, 2]


def test_map_state() -> None:
    rig = Rig()
    state = rig.states.get_map_state(MapStateDescriptor("m", Types.STRING(), Types.INT()))
    assert state.is_empty()
    state.put("x", 1)
    state["y"] = 2
    state.put_all({"z": 3, "x": 4})
    rig.commit()
    assert dict(state.items()) == {"x": 4, "y": 2, "z": 3}
    assert sorted(state.keys()) == sorted(state) == ["x", "y", "z"]
    assert sorted(state.values()) == [2, 3, 4]
    assert state["x"] == 4
    assert state.get("q") is None
    assert "y" in state
    assert not state.contains("q")
    del state["y"]
    state.remove("q")
    assert not state.is_empty()
    rig.abort()
    assert "y" in state
    rig.key("b")
    assert state.is_empty()
    rig.key("a")
    state.clear()
    assert state.is_empty()
    state.put("new", 1)
    rig.commit()
    assert dict(state.items()) == {"new": 1}


def test_map_state_may_be_changed_while_iterating() -> None:
    rig = Rig()
    state = rig.states.get_map_state(MapStateDescriptor("m"))
    state.put_all({n: n for n in range(5)})
    for key in state:
        state.remove(key)
    for key, _ in state.items():
        state.remove(key)
    assert state.is_empty()


@pytest.mark.parametrize("how", ["get", "items", "values"])
def test_map_values_changed_in_place_count_as_updates(how: str) -> None:
    rig = Rig()
    state = rig.states.get_map_state(MapStateDescriptor("m"))
    state.put("x", [1])
    rig.commit()
    value = {
        "get": lambda: state.get("x"),
        "items": lambda: next(iter(state.items()))[1],
        "values": lambda: next(iter(state.values())),
    }[how]()
    value.append(2)
    rig.abort()
    assert state.get("x") == [1]


def test_reducing_state() -> None:
    rig = Rig()
    descriptor = ReducingStateDescriptor("r", lambda a, b: a + b, Types.INT())
    state = rig.states.get_reducing_state(descriptor)
    assert state.get() is None
    state.add(1)
    state.add(2)
    rig.commit()
    state.add(4)
    assert state.get() == 7
    rig.abort()
    assert state.get() == 3
    state.clear()
    assert state.get() is None


def test_aggregating_state() -> None:
    rig = Rig()
    state = rig.states.get_aggregating_state(AggregatingStateDescriptor("a", Total()))
    assert state.get() is None
    state.add(1)
    rig.commit()
    state.add(2)
    assert state.get() == 3
    rig.abort()
    assert state.get() == 1
    rig.key("b")
    assert state.get() is None
    rig.key("a")
    state.clear()
    assert state.get() is None


def test_falsy_values_are_values() -> None:
    rig = Rig()
    value = rig.states.get_state(ValueStateDescriptor("v"))
    value.update(0)
    assert value.value() == 0
    reducing = rig.states.get_reducing_state(ReducingStateDescriptor("r", max))
    reducing.add(0)
    reducing.add(-1)
    assert reducing.get() == 0


def test_a_descriptor_used_with_two_types_is_refused() -> None:
    states = Rig().states
    states.get_state(ValueStateDescriptor("v", Types.INT()))
    states.get_state(ValueStateDescriptor("v", Types.INT()))
    with pytest.raises(StateError, match="state 'v' is declared twice.*own name"):
        states.get_state(ValueStateDescriptor("v", Types.STRING()))


def test_a_descriptor_used_as_two_kinds_is_refused() -> None:
    states = Rig().states
    states.get_state(ValueStateDescriptor("v"))
    with pytest.raises(StateError, match="'v'"):
        states.get_list_state(ListStateDescriptor("v"))


def test_two_handles_on_one_state_are_the_same_state() -> None:
    states = Rig().states
    one = states.get_state(ValueStateDescriptor("v"))
    other = states.get_state(ValueStateDescriptor("v"))
    one.update(1)
    assert other.value() == 1


def test_queryable_states_are_told_once() -> None:
    """The acknowledgement of the epoch that first uses them carries them."""
    rig = Rig()
    counts = ValueStateDescriptor("count", Types.LONG())
    counts.set_queryable("counts")
    for _ in range(2):
        rig.states.get_state(counts)
    rig.states.get_state(ValueStateDescriptor("private"))
    assert rig.states.newly_queryable() == [
        QueryableState(TableId("uid", "count"), "counts", "value")
    ]
    assert rig.states.newly_queryable() == []


def test_state_of_windows_cannot_be_queryable() -> None:
    windows = KeyedStates(SubtaskState(), "uid", CurrentKey(), WINDOW)
    counts = ListStateDescriptor("count")
    counts.set_queryable("counts")
    with pytest.raises(StateError, match="state of windows and triggers cannot be asked for"):
        windows.get_list_state(counts)


def test_a_state_is_made_queryable_once() -> None:
    counts = ValueStateDescriptor("count")
    assert counts.get_queryable_state_name() is None
    with pytest.raises(StateError, match="takes a name"):
        counts.set_queryable("")
    counts.set_queryable("counts")
    with pytest.raises(StateError, match="queryable as 'counts' already"):
        counts.set_queryable("again")
