"""Any history of expiring state, of whatever type, is that of a plain model."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common import Time, Types
from millrace.common.functions import AggregateFunction, KeyedProcessFunction
from millrace.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from millrace.state.backend.spilling_backend import NewStores, SpillingKeyedStateBackend
from millrace.state.store import SubtaskState
from millrace.testing import OperatorHarness, operator_harness
from millrace.testing.sorted_store import SortedStore

TTL = 10
KINDS = ("value", "reducing", "aggregating", "list", "map")
CLEANUPS = ("default", "off", "incremental", "per-record", "full-snapshot")


class Sum(AggregateFunction):
    def create_accumulator(self):
        return [0]

    def add(self, value, accumulator):
        return [accumulator[0] + value]

    def get_result(self, accumulator):
        return accumulator[0]

    def merge(self, acc_a, acc_b):
        return [acc_a[0] + acc_b[0]]


def configuration(on_read: bool, shown: bool, cleanup: str) -> StateTtlConfig:
    builder = StateTtlConfig.new_builder(Time.milliseconds(TTL))
    if on_read:
        builder = builder.update_ttl_on_read_and_write()
    if shown:
        # what is still there depends on the cleanup; without any it is known
        return builder.return_expired_if_not_cleaned_up().disable_cleanup_in_background().build()
    if cleanup != "default":
        builder = builder.disable_cleanup_in_background()
    if cleanup in ("incremental", "per-record"):
        builder = builder.cleanup_incrementally(2, cleanup == "per-record")
    if cleanup == "full-snapshot":
        builder = builder.cleanup_full_snapshot()
    return builder.build()


class Do(KeyedProcessFunction):
    """A record is (key, kind, method, arguments): calls it on that state, yields what it gives."""

    def __init__(self, ttl: StateTtlConfig) -> None:
        self.ttl = ttl

    def open(self, runtime_context):
        descriptors = {
            "value": ValueStateDescriptor("value", Types.INT()),
            "reducing": ReducingStateDescriptor("reducing", lambda a, b: a + b, Types.INT()),
            "aggregating": AggregatingStateDescriptor(
                "aggregating", Sum(), Types.PICKLED_BYTE_ARRAY()
            ),
            "list": ListStateDescriptor("list", Types.INT()),
            "map": MapStateDescriptor("map", Types.INT(), Types.INT()),
        }
        for descriptor in descriptors.values():
            descriptor.enable_time_to_live(self.ttl)
        self.states = {
            "value": runtime_context.get_state(descriptors["value"]),
            "reducing": runtime_context.get_reducing_state(descriptors["reducing"]),
            "aggregating": runtime_context.get_aggregating_state(descriptors["aggregating"]),
            "list": runtime_context.get_list_state(descriptors["list"]),
            "map": runtime_context.get_map_state(descriptors["map"]),
        }

    def process_element(self, value, ctx):
        _, kind, method, arguments = value
        result = getattr(self.states[kind], method)(*arguments)
        yield sorted(result) if method in ("items", "keys", "values") else result


class Model:
    """Stamped values in plain dicts: per key one value, a list, or a map."""

    def __init__(self, on_read: bool, shown: bool) -> None:
        self.now = 0
        self.on_read, self.shown = on_read, shown
        self.flat: dict[Any, Any] = {}
        self.lists: dict[Any, Any] = {}
        self.maps: dict[Any, Any] = {}

    def copy(self) -> dict[str, Any]:
        return {
            "flat": dict(self.flat),
            "lists": {key: list(found) for key, found in self.lists.items()},
            "maps": {key: dict(found) for key, found in self.maps.items()},
        }

    def expired(self, stamped: tuple[Any, int]) -> bool:
        return stamped[1] + TTL <= self.now

    def do(self, key: str, kind: str, method: str, arguments: tuple[Any, ...]) -> Any:
        part = {"list": "list", "map": "map"}.get(kind, "flat")
        place = key if part != "flat" else (key, kind)
        return getattr(self, f"{part}_{method}")(place, *arguments)

    def read_one(self, entries: dict[Any, Any], key: Any) -> Any:
        if key not in entries:
            return None
        value, _ = stamped = entries[key]
        if self.expired(stamped):
            del entries[key]
            return value if self.shown else None
        if self.on_read:
            entries[key] = value, self.now
        return value

    def flat_value(self, place: Any) -> Any:
        return self.read_one(self.flat, place)

    flat_get = flat_value

    def flat_update(self, place: Any, value: int) -> None:
        self.flat[place] = value, self.now

    def flat_add(self, place: Any, value: int) -> None:
        old = self.flat.get(place)
        so_far = 0 if old is None or self.expired(old) else old[0]
        self.flat[place] = so_far + value, self.now

    def flat_clear(self, place: Any) -> None:
        self.flat.pop(place, None)

    def list_get(self, key: Any) -> list[Any]:
        found = self.lists.pop(key, [])
        alive = [element for element in found if not self.expired(element)]
        if alive:
            renewed = [(value, self.now) for value, _ in alive]
            self.lists[key] = renewed if self.on_read else alive
        return [value for value, _ in (found if self.shown else alive)]

    def list_add(self, key: Any, value: int) -> None:
        self.lists.setdefault(key, []).append((value, self.now))

    def list_update(self, key: Any, values: list[int]) -> None:
        self.lists[key] = [(value, self.now) for value in values]

    def list_clear(self, key: Any) -> None:
        self.lists.pop(key, None)

    def map_get(self, key: Any, inner: int) -> Any:
        return self.read_one(self.maps.get(key, {}), inner)

    def map_contains(self, key: Any, inner: int) -> bool:
        return self.map_get(key, inner) is not None

    def map_put(self, key: Any, inner: int, value: int) -> None:
        self.maps.setdefault(key, {})[inner] = value, self.now

    def map_remove(self, key: Any, inner: int) -> None:
        self.maps.get(key, {}).pop(inner, None)

    def seen(self, key: Any) -> list[int]:
        entries = self.maps.get(key, {})
        return sorted(i for i, e in entries.items() if self.shown or not self.expired(e))

    def map_keys(self, key: Any) -> list[int]:
        return self.seen(key)

    def map_is_empty(self, key: Any) -> bool:
        return not self.seen(key)

    def map_items(self, key: Any) -> list[tuple[int, Any]]:
        return [(inner, self.map_get(key, inner)) for inner in self.seen(key)]

    def map_values(self, key: Any) -> list[Any]:
        return sorted(self.map_get(key, inner) for inner in self.seen(key))

    def map_clear(self, key: Any) -> None:
        self.maps.pop(key, None)


number = st.integers(0, 1)
SUMS = [("get", ()), ("add", (number,)), ("clear", ())]
CALLS = {
    "value": [("value", ()), ("update", (number,)), ("clear", ())],
    "reducing": SUMS,
    "aggregating": SUMS,
    "list": [
        ("get", ()),
        ("add", (number,)),
        ("update", (st.lists(number, max_size=3),)),
        ("clear", ()),
    ],
    "map": [
        ("get", (number,)),
        ("contains", (number,)),
        ("put", (number, number)),
        ("remove", (number,)),
        ("keys", ()),
        ("items", ()),
        ("values", ()),
        ("is_empty", ()),
        ("clear", ()),
    ],
}
ticks = st.tuples(st.just("tick"), st.sampled_from([3, 5, 7, TTL]))
events = st.tuples(st.sampled_from(["snapshot", "abort", "restore"]))


def calls(kind: str) -> st.SearchStrategy[Any]:
    """Reading and writing come more often than clearing."""
    return st.one_of(
        st.tuples(
            st.just("call"),
            st.sampled_from("aab"),
            st.just(kind),
            st.just(method),
            st.tuples(*arguments),
        )
        for method, arguments in CALLS[kind]
    )


def histories(kind: str) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.one_of(calls(kind), calls(kind), ticks, events), min_size=10, max_size=50)


def play(history: list[Any], on_read: bool, shown: bool, cleanup: str) -> None:
    model = Model(on_read, shown)
    ttl = configuration(on_read, shown, cleanup)
    made = OperatorHarness(Do(ttl), key_by=lambda value: value[0])
    snapshot, accepted = made.snapshot(), model.copy()
    for what, *arguments in history:
        if what == "call":
            made.clear_output()
            made.process_element(tuple(arguments))
            assert made.output() == [model.do(*arguments)]
        elif what == "tick":
            model.now += arguments[0]
            made.set_processing_time(model.now)
            snapshot, accepted = made.snapshot(), model.copy()
        elif what == "snapshot":
            snapshot, accepted = made.snapshot(), model.copy()
        else:
            if what == "abort":
                made.abort()
            else:
                made = made.restored(snapshot)
            model.flat, model.lists, model.maps = accepted.values()
            accepted = model.copy()


def on_disk(**arguments: Any) -> SubtaskState:
    """State of which nothing stays in memory between two epochs."""
    backend = SpillingKeyedStateBackend(NewStores(SortedStore), cache_bytes=0)
    return SubtaskState(backend=backend, **arguments)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data(), on_read=st.booleans(), shown=st.booleans())
@settings(max_examples=30, deadline=None)
def test_any_history_on_disk(kind: str, data: st.DataObject, on_read: bool, shown: bool) -> None:
    """With a backend that keeps its tables elsewhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(operator_harness, "SubtaskState", on_disk)
        play(data.draw(histories(kind)), on_read, shown, data.draw(st.sampled_from(CLEANUPS)))


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data(), on_read=st.booleans(), shown=st.booleans())
@settings(max_examples=60, deadline=None)
def test_any_history(kind: str, data: st.DataObject, on_read: bool, shown: bool) -> None:
    """With epochs that are rolled back and moves to another worker, and whatever cleans up."""
    cleanup = data.draw(st.sampled_from(CLEANUPS))
    play(data.draw(histories(kind)), on_read, shown, cleanup)


@given(st.lists(st.one_of(*map(calls, KINDS), ticks, events), min_size=20, max_size=60))
@settings(max_examples=20, deadline=None)
def test_any_history_of_them_all(history: list[Any]) -> None:
    """Side by side in one function."""
    play(history, on_read=True, shown=False, cleanup="default")
