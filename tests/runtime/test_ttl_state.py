"""State that expires, against a model; semantics of Flink docs, "State Time-To-Live"."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common import Time, Types
from millrace.common.errors import StateError
from millrace.common.functions import AggregateFunction, KeyedProcessFunction
from millrace.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from millrace.testing import OperatorHarness

TTL = 10


class Average(AggregateFunction):
    def create_accumulator(self):
        return [0, 0]

    def add(self, value, accumulator):
        accumulator[0] += value
        accumulator[1] += 1
        return accumulator

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a, acc_b):
        return [acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]]


def config(**settings: Any) -> StateTtlConfig:
    builder = StateTtlConfig.new_builder(Time.milliseconds(TTL))
    if settings.get("on_read"):
        builder = builder.update_ttl_on_read_and_write()
    if settings.get("shown"):
        builder = builder.return_expired_if_not_cleaned_up()
    if not settings.get("background", True):
        builder = builder.disable_cleanup_in_background()
    return builder.build()


class Do(KeyedProcessFunction):
    """A record is (key, method, arguments...): calls it on the state and yields what it gives."""

    def __init__(self, kind: str, ttl: StateTtlConfig) -> None:
        self.kind, self.ttl = kind, ttl

    def open(self, runtime_context):
        descriptor, get = {
            "value": (ValueStateDescriptor("s", Types.INT()), runtime_context.get_state),
            "list": (ListStateDescriptor("s", Types.INT()), runtime_context.get_list_state),
            "map": (
                MapStateDescriptor("s", Types.STRING(), Types.INT()),
                runtime_context.get_map_state,
            ),
            "reducing": (
                ReducingStateDescriptor("s", lambda a, b: a + b, Types.INT()),
                runtime_context.get_reducing_state,
            ),
            "aggregating": (
                AggregatingStateDescriptor("s", Average(), Types.PICKLED_BYTE_ARRAY()),
                runtime_context.get_aggregating_state,
            ),
        }[self.kind]
        descriptor.enable_time_to_live(self.ttl)
        self.state = get(descriptor)

    def process_element(self, value, ctx):
        _, method, *arguments = value
        result = getattr(self.state, method)(*arguments)
        yield sorted(result) if method in ("items", "keys") else result


def harness(kind: str, **settings: Any) -> OperatorHarness:
    return OperatorHarness(Do(kind, config(**settings)), key_by=lambda value: value[0])


def ask(made: OperatorHarness, *record: Any) -> Any:
    made.clear_output()
    made.process_element(("k", *record))
    [answer] = made.output()
    return answer


READ = {"value": "value", "list": "get", "reducing": "get", "aggregating": "get"}
WRITE = {"value": "update", "list": "add", "reducing": "add", "aggregating": "add"}


@pytest.mark.parametrize("kind", WRITE)
@pytest.mark.parametrize("on_read", [False, True])
def test_a_value_lives_until_its_time_is_over(kind: str, on_read: bool) -> None:
    with harness(kind, on_read=on_read) as made:
        ask(made, WRITE[kind], 4)
        made.set_processing_time(TTL - 1)
        assert ask(made, READ[kind]) == ([4] if kind == "list" else 4)
        made.set_processing_time(TTL)
        there = ask(made, READ[kind])
        assert (there in ([4], 4)) is on_read
        made.set_processing_time(2 * TTL)
        assert ask(made, READ[kind]) == ([] if kind == "list" else None)
        assert made.entries() == 0


@pytest.mark.parametrize("kind", ["reducing", "aggregating"])
def test_adding_begins_anew_after_the_end(kind: str) -> None:
    with harness(kind) as made:
        ask(made, "add", 4)
        made.set_processing_time(TTL)
        ask(made, "add", 6)
        assert ask(made, "get") == 6
        made.set_processing_time(TTL + 1)
        ask(made, "add", 8)
        assert ask(made, "get") == (14 if kind == "reducing" else 7)


def test_an_expired_value_may_be_shown_once() -> None:
    with harness("value", shown=True, background=False) as made:
        ask(made, "update", 4)
        made.set_processing_time(TTL)
        assert ask(made, "value") == 4
        assert ask(made, "value") is None


def test_elements_and_entries_expire_one_by_one() -> None:
    with harness("list") as made:
        ask(made, "add", 1)
        made.set_processing_time(5)
        ask(made, "add_all", [2, 3])
        made.set_processing_time(TTL)
        assert ask(made, "get") == [2, 3]
        ask(made, "update", [9])
        made.set_processing_time(19)
        assert ask(made, "get") == [9]
        ask(made, "clear")
        assert ask(made, "get") == []
    with harness("map") as made:
        ask(made, "put", "a", 1)
        made.set_processing_time(5)
        ask(made, "put_all", {"b": 2, "c": 3})
        ask(made, "remove", "c")
        made.set_processing_time(TTL)
        assert ask(made, "items") == [("b", 2)]
        assert ask(made, "keys") == ["b"]
        assert ask(made, "values") == [2]
        assert ask(made, "contains", "a") is False
        assert ask(made, "get", "a") is None
        assert ask(made, "is_empty") is False
        made.set_processing_time(15)
        assert ask(made, "is_empty") is True
        ask(made, "put", "d", 4)
        ask(made, "clear")
        assert ask(made, "keys") == []


def test_asking_whether_there_is_an_entry_is_a_read() -> None:
    with harness("map", on_read=True) as made:
        ask(made, "put", "a", 1)
        for time in (9, 18, 27):
            made.set_processing_time(time)
            assert ask(made, "contains", "a") is True
        made.set_processing_time(37)
        assert ask(made, "contains", "a") is False


def test_what_nobody_asks_for_is_swept_away() -> None:
    with harness("value") as made:
        for key in range(50):
            made.process_element((key, "update", 1))
        made.set_processing_time(TTL)
        for _ in range(20):
            ask(made, "value")
        assert made.entries() == 0


def test_without_cleanup_in_the_background_it_stays() -> None:
    with harness("value", background=False) as made:
        for key in range(50):
            made.process_element((key, "update", 1))
        made.set_processing_time(TTL)
        ask(made, "value")
        assert made.entries() == 50


def test_times_survive_a_restore() -> None:
    with harness("value") as made:
        ask(made, "update", 4)
        snapshot = made.snapshot()
        made.set_processing_time(TTL - 1)
        other = made.restored(snapshot)
        assert ask(other, "value") == 4
        other.set_processing_time(TTL)
        assert ask(other, "value") is None


@given(
    st.lists(
        st.tuples(st.sampled_from(["update", "value", "tick", "snapshot"]), st.integers(1, 6)),
        max_size=40,
    ),
    st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_any_history_is_that_of_the_model(steps: list[tuple[str, int]], on_read: bool) -> None:
    kept: tuple[int, int] | None = None
    now = 0
    with harness("value", on_read=on_read) as made:
        for what, number in steps:
            if kept is not None and kept[1] + TTL <= now:
                kept = None
            if what == "update":
                ask(made, "update", number)
                kept = number, now
            elif what == "value":
                assert ask(made, "value") == (kept[0] if kept else None)
                if kept and on_read:
                    kept = kept[0], now
            elif what == "tick":
                now += number
                made.set_processing_time(now)
            else:
                made.snapshot()


def test_wrong_configurations_are_refused() -> None:
    with pytest.raises(StateError, match="above 0"):
        StateTtlConfig.new_builder(Time.seconds(0))
    with pytest.raises(StateError, match="StateTtlConfig"):
        ValueStateDescriptor("s", Types.INT()).enable_time_to_live(10)
    with pytest.raises(StateError, match="above 0"):
        StateTtlConfig.new_builder(Time.seconds(1)).cleanup_incrementally(0)


def test_the_configuration_tells_what_was_set() -> None:
    made = (
        StateTtlConfig.new_builder(Time.seconds(1))
        .set_ttl(Time.seconds(2))
        .use_processing_time()
        .cleanup_full_snapshot()
        .cleanup_in_rocksdb_compact_filter(1000)
        .cleanup_incrementally(7, True)
        .build()
    )
    assert made.get_ttl() == Time.seconds(2)
    assert made.get_update_type() is StateTtlConfig.UpdateType.OnCreateAndWrite
    assert made.get_state_visibility() is StateTtlConfig.StateVisibility.NeverReturnExpired
    assert made.get_ttl_time_characteristic() is StateTtlConfig.TtlTimeCharacteristic.ProcessingTime
    strategies = made.get_cleanup_strategies()
    assert strategies.in_full_snapshot()
    assert strategies.in_rocksdb_compact_filter()
    assert strategies.is_cleanup_in_background()
    assert strategies.cleanup_size() == 7


def test_a_disabled_configuration_lets_state_live() -> None:
    disabled = (
        StateTtlConfig.new_builder(Time.milliseconds(1))
        .set_update_type(StateTtlConfig.UpdateType.Disabled)
        .build()
    )
    assert not disabled.is_enabled()
    with OperatorHarness(Do("value", disabled), key_by=lambda value: value[0]) as made:
        ask(made, "update", 4)
        made.set_processing_time(1000)
        assert ask(made, "value") == 4
