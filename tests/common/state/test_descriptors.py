"""State descriptors, and what the handles can do by themselves."""

from __future__ import annotations

import operator
import pickle
from collections.abc import Iterable

import pytest

from millrace.common.errors import StateError
from millrace.common.functions import AggregateFunction, ReduceFunction
from millrace.common.state import (
    AggregatingStateDescriptor,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from millrace.common.types.typeinfo import Types


class Add(ReduceFunction[int]):
    """Sum."""

    def reduce(self, value1: int, value2: int) -> int:
        return value1 + value2


class Count(AggregateFunction[str, int, int]):
    """Count."""

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: str, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


DESCRIPTORS = [
    (ValueStateDescriptor("s", Types.LONG()), "value", "LONG"),
    (ListStateDescriptor("s", Types.LONG()), "list", "LIST(LONG)"),
    (MapStateDescriptor("s", Types.STRING(), Types.LONG()), "map", "MAP(STRING, LONG)"),
    (ReducingStateDescriptor("s", Add(), Types.LONG()), "reducing", "LONG"),
    (AggregatingStateDescriptor("s", Count(), Types.LONG()), "aggregating", "LONG"),
]


@pytest.mark.parametrize(("descriptor", "kind", "type_name"), DESCRIPTORS, ids=str)
def test_descriptor(descriptor: StateDescriptor, kind: str, type_name: str) -> None:
    """Name, kind and type, also after a journey."""
    again = pickle.loads(pickle.dumps(descriptor))
    for one in (descriptor, again):
        assert (one.get_name(), one.name, one.kind) == ("s", "s", kind)
        assert one.type_info.name == type_name
    assert again == descriptor
    assert hash(again) == hash(descriptor)


def test_kinds_and_types_make_a_difference() -> None:
    """The same name with another type is another state, which the runtime refuses."""
    assert len({descriptor for descriptor, _, _ in DESCRIPTORS}) == len(DESCRIPTORS)
    assert ValueStateDescriptor("s", Types.LONG()) != ValueStateDescriptor("s", Types.STRING())
    assert ValueStateDescriptor("s") != "s"


def test_without_a_type_anything_goes() -> None:
    """Types are optional here."""
    assert ValueStateDescriptor("s").type_info == Types.PICKLED_BYTE_ARRAY()
    assert ListStateDescriptor("s").type_info == Types.LIST(Types.PICKLED_BYTE_ARRAY())


@pytest.mark.parametrize("function", [Add(), operator.add, lambda a, b: a + b])
def test_reducing_state_takes_functions_and_callables(function: object) -> None:
    """As everywhere in the API."""
    descriptor = ReducingStateDescriptor("s", function, Types.LONG())  # type: ignore[var-annotated, arg-type]
    assert descriptor.reducer(1, 2) == 3
    assert descriptor.get_reduce_function().reduce(1, 2) == 3


def test_aggregating_state_gives_its_function() -> None:
    """The one it was made with."""
    count = Count()
    assert AggregatingStateDescriptor("s", count).get_agg_function() is count


@pytest.mark.parametrize("name", ["", None, 5])
def test_a_descriptor_needs_a_name(name: object) -> None:
    """A savepoint finds state by its name."""
    with pytest.raises(StateError, match="needs a name"):
        ValueStateDescriptor(name, Types.LONG())  # type: ignore[arg-type]


def test_a_slash_would_make_it_another_operators_state() -> None:
    """State ``b/c`` of operator ``a`` and state ``c`` of operator ``a/b``."""
    with pytest.raises(StateError, match="must not contain a slash, got 'b/c'; 'b-c' would do"):
        ListStateDescriptor("b/c", Types.LONG())


def test_wrong_types_and_functions_are_refused() -> None:
    """The errors name the state and what is wanted."""
    with pytest.raises(StateError, match=r"'s' needs a type such as Types.LONG\(\), got <class"):
        ValueStateDescriptor("s", int)  # type: ignore[arg-type]
    with pytest.raises(StateError, match="'s' needs a ReduceFunction or a callable, got 5"):
        ReducingStateDescriptor("s", 5)  # type: ignore[arg-type]
    with pytest.raises(StateError, match="'s' needs an AggregateFunction"):
        AggregatingStateDescriptor("s", max)  # type: ignore[arg-type]


class DictState(MapState[str, int]):
    """A map state over one dict."""

    def __init__(self) -> None:
        self.entries: dict[str, int] = {}

    def get(self, key: str) -> int | None:
        return self.entries.get(key)

    def put(self, key: str, value: int) -> None:
        self.entries[key] = value

    def put_all(self, dict_value: dict[str, int]) -> None:
        self.entries.update(dict_value)

    def remove(self, key: str) -> None:
        self.entries.pop(key, None)

    def contains(self, key: str) -> bool:
        return key in self.entries

    def items(self) -> Iterable[tuple[str, int]]:
        return self.entries.items()

    def keys(self) -> Iterable[str]:
        return self.entries.keys()

    def values(self) -> Iterable[int]:
        return self.entries.values()

    def is_empty(self) -> bool:
        return not self.entries

    def clear(self) -> None:
        self.entries.clear()


class Elements(ListState[int]):
    """A list state over one list."""

    def __init__(self) -> None:
        self.elements: list[int] = []

    def get(self) -> Iterable[int]:
        return list(self.elements)

    def add(self, value: int) -> None:
        self.elements.append(value)

    def add_all(self, values: list[int]) -> None:
        self.elements.extend(values)

    def update(self, values: list[int]) -> None:
        self.elements = list(values)

    def clear(self) -> None:
        self.elements = []


def test_map_state_is_used_like_a_dict() -> None:
    """Whatever the backend."""
    state = DictState()
    state["a"] = 1
    assert state["a"] == 1
    assert state["b"] is None
    assert "a" in state
    assert list(state) == ["a"]
    del state["a"]
    assert state.is_empty()


def test_list_state_is_iterable() -> None:
    """Whatever the backend."""
    state = Elements()
    state.add_all([1, 2])
    assert list(state) == [1, 2]


def test_no_state_is_called_like_one_that_operators_keep_for_themselves() -> None:
    with pytest.raises(StateError, match="must not begin with '@', got '@event-timers'"):
        MapStateDescriptor("@event-timers", Types.STRING(), Types.LONG())
    assert ValueStateDescriptor("a@b").name == "a@b"
