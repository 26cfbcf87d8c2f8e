"""The broadcast state pattern, without and with keys."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common import Types
from millrace.common.errors import JobDefinitionError, StateError, UserFunctionError
from millrace.datastream import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
    OutputTag,
    StreamExecutionEnvironment,
    TimeDomain,
)
from millrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from millrace.runtime.detached import are_immutable
from millrace.runtime.operators import broadcast_process
from millrace.state.key_groups import key_group_of, subtask_of
from millrace.testing import Faults, OperatorHarness, run_local

RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())
MORE = MapStateDescriptor("more")
SIDE = OutputTag("side")


class Limits(BroadcastProcessFunction):
    """Rules are (name, limit) or (name, None), records are numbers."""

    def process_element(self, value, ctx):
        rules = ctx.get_broadcast_state(RULES)
        broken = sorted(name for name, limit in rules.items() if value > limit)
        yield value, tuple(broken), ctx.timestamp(), ctx.current_watermark()
        if len(broken) == len(list(rules.keys())) > 0:
            yield SIDE, value

    def process_broadcast_element(self, value, ctx):
        name, limit = value
        rules = ctx.get_broadcast_state(RULES)
        if limit is None:
            rules.remove(name)
        else:
            rules.put(name, limit)
        yield "rules", len(list(rules.keys())), ctx.timestamp(), ctx.current_processing_time()


def limits(**options) -> OperatorHarness:
    return OperatorHarness(Limits(), broadcast_state=[RULES], **options)


def test_state_is_looked_through_only_after_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """For objects that the function shares with it: not in each batch of records."""
    looked: list[int] = []

    def noted(values: list[Any]) -> bool:
        looked.append(len(values))
        return are_immutable(values)

    monkeypatch.setattr(broadcast_process, "are_immutable", noted)
    with limits() as harness:
        for _ in range(3):
            harness.process_element(5)
        assert looked == [0]
        harness.process_broadcast_element(("a", 3))
        for _ in range(3):
            harness.process_element(5)
        assert looked == [0, 1]
        restored = harness.restored(harness.snapshot())
        looked.clear()
        for _ in range(3):
            restored.process_element(5)
        assert looked == [1]


def test_rules_and_records() -> None:
    with limits(processing_time=50) as harness:
        harness.process_element(1, 1)
        harness.process_broadcast_element(("a", 3), 2)
        harness.process_broadcast_element(("b", 5), 3)
        harness.process_watermark(3)
        harness.process_element(4, 4)
        harness.process_element(6)
        harness.process_broadcast_element(("a", None), 7)
        harness.process_element(4, 8)
        assert harness.output() == [
            (1, (), 1, -(2**63)),
            ("rules", 1, 2, 50),
            ("rules", 2, 3, 50),
            (4, ("a",), 4, 3),
            (6, ("a", "b"), None, 3),
            ("rules", 1, 7, 50),
            (4, (), 8, 3),
        ]
        assert [r.timestamp for r in harness.records()] == [1, 2, 3, 4, None, 7, 8]
        assert harness.side_output(SIDE) == [6]


class Methods(BroadcastProcessFunction):
    """Everything that a broadcast state can do."""

    def process_element(self, value, ctx):
        state = ctx.get_broadcast_state(MORE)
        yield sorted(state.items()), sorted(state.keys()), sorted(state.values())
        yield state.get("a"), state["a"], state.get("none"), state.contains("a"), "a" in state
        yield sorted(state), state.is_empty()

    def process_broadcast_element(self, value, ctx):
        state = ctx.get_broadcast_state(MORE)
        if value == "fill":
            state.put_all({"a": 1, "b": 2})
            state["c"] = 3
            del state["b"]
            assert sorted(state.items()) == [("a", 1), ("c", 3)]
            assert (state.get("a"), state["c"], state.get("b")) == (1, 3, None)
            assert (sorted(state.keys()), sorted(state.values())) == (["a", "c"], [1, 3])
            assert state.contains("a")
            assert "a" in state
            assert "b" not in state
            assert not state.is_empty()
            assert sorted(state) == ["a", "c"]
        else:
            state.clear()
            assert state.is_empty()


def test_all_that_a_broadcast_state_can_do() -> None:
    with OperatorHarness(Methods(), broadcast_state=[RULES, MORE]) as harness:
        harness.process_broadcast_element("fill")
        harness.process_element(0)
        assert harness.output() == [
            ([("a", 1), ("c", 3)], ["a", "c"], [1, 3]),
            (1, 1, None, True, True),
            (["a", "c"], False),
        ]
        harness.clear_output()
        harness.process_broadcast_element("clear")
        harness.process_element(0)
        assert harness.output()[-1] == ([], True)


class Writes(BroadcastProcessFunction):
    def __init__(self, write):
        self.write = write

    def process_element(self, value, ctx):
        self.write(ctx.get_broadcast_state(RULES))

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(RULES).put("a", value)


@pytest.mark.parametrize(
    "write",
    [
        lambda state: state.put("a", 1),
        lambda state: state.put_all({"a": 1}),
        lambda state: state.remove("a"),
        lambda state: state.clear(),
        lambda state: state.__setitem__("a", 1),
        lambda state: state.__delitem__("a"),
    ],
)
def test_the_other_side_cannot_write(write) -> None:
    with OperatorHarness(Writes(write), broadcast_state=[RULES]) as harness:
        harness.process_broadcast_element(1)
        with pytest.raises(StateError, match="may be changed by the broadcast side only"):
            harness.process_element(0)


class Undeclared(BroadcastProcessFunction):
    def process_element(self, value, ctx):
        ctx.get_broadcast_state(MORE)

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(MapStateDescriptor("rules", Types.INT(), Types.INT()))


def test_states_that_broadcast_was_not_given() -> None:
    message = r"has no broadcast state .*give broadcast\(\) its descriptor.*rules"
    with OperatorHarness(Undeclared(), broadcast_state=[RULES]) as harness:
        with pytest.raises(StateError, match=message):
            harness.process_element(0)
        with pytest.raises(StateError, match=message):
            harness.process_broadcast_element(0)


class EqualDescriptor(BroadcastProcessFunction):
    """Describes the state anew, as programs written for Flink do."""

    def process_element(self, value, ctx):
        again = MapStateDescriptor("rules", Types.STRING(), Types.INT())
        yield ctx.get_broadcast_state(again).get("a")

    def process_broadcast_element(self, value, ctx):
        again = MapStateDescriptor("rules", Types.STRING(), Types.INT())
        ctx.get_broadcast_state(again).put("a", value)


def test_an_equal_descriptor_names_the_same_state() -> None:
    with OperatorHarness(EqualDescriptor(), broadcast_state=[RULES]) as harness:
        harness.process_broadcast_element(5)
        harness.process_element(0)
        assert harness.output() == [5]


class Shares(BroadcastProcessFunction):
    """Yields the very objects that are in state."""

    def process_element(self, value, ctx):
        yield ctx.get_broadcast_state(MORE).get("seen")

    def process_broadcast_element(self, value, ctx):
        state = ctx.get_broadcast_state(MORE)
        seen = state.get("seen") or []
        seen.append(value)
        state.put("seen", seen)
        yield seen


def spoil(harness: OperatorHarness) -> list[Any]:
    output = [list(value) for value in harness.output()]
    for value in harness.output():
        value.append("changed by what follows")
    return output


def test_what_is_yielded_is_not_what_is_in_state() -> None:
    with OperatorHarness(Shares(), broadcast_state=[MORE]) as harness:
        harness.operator.process_input(1, [1, 2], None)
        harness.process_element(0)
        assert spoil(harness) == [[1], [1, 2], [1, 2]]
        harness.clear_output()
        harness.process_element(0)
        assert spoil(harness) == [[1, 2]]


def test_an_aborted_epoch_takes_rules_back_even_if_changed_in_place() -> None:
    with OperatorHarness(Shares(), broadcast_state=[MORE]) as harness:
        harness.process_broadcast_element(1)
        taken = harness.snapshot()
        harness.process_broadcast_element(2)
        harness.abort()
        harness.process_element(0)
        assert harness.output() == [[1]]
    for index in range(3):
        with harness.restored(taken, subtask_index=index, parallelism=3) as other:
            other.process_element(0)
            assert other.output() == [[1]], "every subtask takes over all of it"


# -- keyed -------------------------------------------------------------------------------------


class Keyed(KeyedBroadcastProcessFunction):
    """Counts per key; the broadcast side can add to, or forget, the counts of all keys."""

    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value, ctx):
        assert ctx.get_current_key() == value % 3
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(1000)
        limit = ctx.get_broadcast_state(RULES).get("limit")
        if limit is not None and self.count.value() >= limit:
            yield value, self.count.value(), ctx.timestamp()

    def process_broadcast_element(self, value, ctx):
        name, number = value
        if name == "limit":
            ctx.get_broadcast_state(RULES).put(name, number)
        elif name == "add":
            ctx.apply_to_keyed_state(COUNT, lambda key, state: state.update(state.value() + number))
        elif name == "clear":
            ctx.apply_to_keyed_state(COUNT, lambda key, state: state.clear())
        yield SIDE, (name, ctx.timestamp(), ctx.current_watermark())

    def on_timer(self, timestamp, ctx):
        limit = ctx.get_broadcast_state(RULES).get("limit")
        assert ctx.time_domain() is TimeDomain.EVENT_TIME
        assert ctx.timestamp() == timestamp
        yield "end", ctx.get_current_key(), self.count.value() or 0, limit


COUNT = ValueStateDescriptor("count")


def keyed(**options) -> OperatorHarness:
    by_three = {"key_by": lambda value: value % 3}
    return OperatorHarness(Keyed(), broadcast_state=[RULES], **by_three, **options)


def test_keyed_state_and_timers() -> None:
    with keyed() as harness:
        harness.process_element(4, 10)
        harness.process_broadcast_element(("limit", 2), 11)
        harness.process_element(1, 12)
        harness.process_element(2, 13)
        assert harness.output() == [(1, 2, 12)]
        assert harness.side_output(SIDE) == [("limit", 11, -(2**63))]
        harness.process_watermark(1000)
        assert sorted(harness.output()[1:]) == [("end", 1, 2, 2), ("end", 2, 1, 2)]
        assert [r.timestamp for r in harness.records()] == [12, 1000, 1000]


def test_apply_to_keyed_state_reaches_every_key() -> None:
    with keyed() as harness:
        for value in (0, 1, 1, 2):
            harness.process_element(value, 1)
        harness.process_broadcast_element(("add", 10), 2)
        harness.snapshot()
        harness.process_watermark(1000)
        assert sorted(harness.output()) == [
            ("end", 0, 11, None), ("end", 1, 12, None), ("end", 2, 11, None),
        ]  # fmt: skip
        harness.process_broadcast_element(("clear", 0), 3)
        assert harness.keys("count") == []


ALL_KINDS = {
    "value": (ValueStateDescriptor("x"), lambda state: state.update(5), lambda s: s.value()),
    "list": (ListStateDescriptor("x"), lambda state: state.add(5), list),
    "map": (MapStateDescriptor("x"), lambda state: state.put(1, 5), lambda s: list(s.items())),
    "reducing": (
        ReducingStateDescriptor("x", max),
        lambda state: state.add(5),
        lambda state: state.get(),
    ),
}


class Apply(KeyedBroadcastProcessFunction):
    def __init__(self, kind):
        self.kind = kind

    def open(self, runtime_context):
        get = {
            "value": runtime_context.get_state,
            "list": runtime_context.get_list_state,
            "map": runtime_context.get_map_state,
            "reducing": runtime_context.get_reducing_state,
        }[self.kind]
        self.state = get(ALL_KINDS[self.kind][0])

    def process_element(self, value, ctx):
        ALL_KINDS[self.kind][1](self.state)

    def process_broadcast_element(self, value, ctx):
        seen = []
        descriptor, _, read = ALL_KINDS[self.kind]
        ctx.apply_to_keyed_state(descriptor, lambda key, state: seen.append((key, read(state))))
        return seen


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_apply_to_keyed_state_of_every_kind(kind) -> None:
    with OperatorHarness(Apply(kind), key_by=str, broadcast_state=[RULES]) as harness:
        harness.process_elements([1, 2])
        harness.process_broadcast_element(0)
        value = {"list": [5], "map": [(1, 5)]}.get(kind, 5)
        assert sorted(harness.output()) == [("1", value), ("2", value)]


class Touches(KeyedBroadcastProcessFunction):
    """Its broadcast side uses keyed state, which has no meaning without a key."""

    def __init__(self, use):
        self.use = use

    def open(self, runtime_context):
        self.value = runtime_context.get_state(ValueStateDescriptor("value"))
        self.typed = runtime_context.get_state(ValueStateDescriptor("typed", Types.INT()))
        self.list = runtime_context.get_list_state(ListStateDescriptor("list"))
        self.map = runtime_context.get_map_state(MapStateDescriptor("map"))
        self.reducing = runtime_context.get_reducing_state(ReducingStateDescriptor("r", max))

    def process_element(self, value, ctx):
        self.value.update(value)
        self.service = ctx.timer_service()

    def process_broadcast_element(self, value, ctx):
        if value == "apply first":
            ctx.apply_to_keyed_state(ValueStateDescriptor("value"), lambda key, state: None)
        self.use(self)


@pytest.mark.parametrize("first", ["use", "apply first"])
@pytest.mark.parametrize(
    "use",
    [
        lambda function: function.value.value(),
        lambda function: function.value.update(1),
        lambda function: function.value.clear(),
        lambda function: function.typed.value(),
        lambda function: function.typed.update(1),
        lambda function: function.list.add(1),
        lambda function: function.list.get(),
        lambda function: function.map.put(1, 1),
        lambda function: function.map.get(1),
        lambda function: function.reducing.add(1),
        lambda function: function.service.register_event_time_timer(1),
    ],
)
def test_a_broadcast_side_that_touches_keyed_state_is_refused(use, first) -> None:
    with OperatorHarness(Touches(use), key_by=str, broadcast_state=[RULES]) as harness:
        harness.process_element(7, 7)
        with pytest.raises(StateError, match="no current key.*ctx.apply_to_keyed_state"):
            harness.process_broadcast_element(first, 8)
        harness.abort()
        harness.process_element(7, 7)


class NoTimers(KeyedBroadcastProcessFunction):
    def process_element(self, value, ctx):
        return None

    def process_broadcast_element(self, value, ctx):
        return None


def test_on_timer_is_optional() -> None:
    assert NoTimers().on_timer(3, None) is None


# -- what is refused ---------------------------------------------------------------------------


def test_the_function_must_fit_the_streams() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    numbers, rules = env.from_collection([1]), env.from_collection([("a", 1)])
    with pytest.raises(JobDefinitionError, match="not keyed; call key_by before connect"):
        numbers.connect(rules.broadcast(RULES)).process(Keyed())
    with pytest.raises(JobDefinitionError, match="takes a KeyedBroadcastProcessFunction"):
        numbers.key_by(abs).connect(rules.broadcast(RULES)).process(Limits())
    with pytest.raises(JobDefinitionError, match="takes a BroadcastProcessFunction"):
        numbers.connect(rules.broadcast(RULES)).process(len)
    with pytest.raises(JobDefinitionError, match="takes MapStateDescriptors, got ValueState"):
        rules.broadcast(ValueStateDescriptor("x"))
    with pytest.raises(JobDefinitionError, match=r"connect\(\) takes a stream or a broadcast"):
        numbers.connect([1])
    other = StreamExecutionEnvironment.get_execution_environment().from_collection([1])
    with pytest.raises(JobDefinitionError, match=r"connect\(\) takes streams of one job"):
        numbers.connect(other.broadcast(RULES))


def test_the_refusal_of_a_write_shows_the_record() -> None:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        rules = env.from_collection(["rule"]).broadcast(RULES)
        function = Touches(lambda function: function.value.update(1))
        made = env.from_collection([1]).key_by(abs).connect(rules).process(function)
        with pytest.raises(UserFunctionError, match="no current key") as failure:
            list(made.execute_and_collect())
        assert failure.value.record == "'rule'"


# -- whole jobs --------------------------------------------------------------------------------

OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("limit"), st.integers(1, 4)),
        st.tuples(st.just("add"), st.integers(1, 3)),
        st.tuples(st.just("clear"), st.just(0)),
        st.tuples(st.just("record"), st.integers(0, 8)),
        st.tuples(st.just("cut"), st.sampled_from([1, 2, 3])),
    ),
    max_size=40,
)


def model(operations) -> Counter:
    limit, counts = None, {}
    results: Counter = Counter()
    for name, number in operations:
        if name == "record":
            key = number % 3
            counts[key] = counts.get(key, 0) + 1
            if limit is not None and counts[key] >= limit:
                results[number, counts[key], 5] += 1
        elif name == "limit":
            limit = number
        elif name == "add":
            counts = {key: count + number for key, count in counts.items()}
        elif name == "clear":
            counts = {}
    return results


@settings(max_examples=40, deadline=None)
@given(OPERATIONS)
def test_keyed_broadcast_against_a_model(operations) -> None:
    """With changes of parallelism at the cuts: each subtask has all the rules and its own keys."""
    subtasks = [keyed()]
    found: Counter = Counter()
    for name, number in operations:
        if name == "record":
            index = subtask_of(key_group_of(number % 3, 128), len(subtasks), 128)
            subtasks[index].process_element(number, 5)
        elif name == "cut":
            taken = [subtask.snapshot() for subtask in subtasks]
            for subtask in subtasks:
                found.update(subtask.output())
                subtask.close()
            # from harnesses of their own: those of one share the function object
            subtasks = [
                keyed().restored(*taken, subtask_index=index, parallelism=number)
                for index in range(number)
            ]
        else:
            for subtask in subtasks:
                subtask.process_broadcast_element((name, number), 5)
    for subtask in subtasks:
        found.update(subtask.output())
        subtask.close()
    assert found == model(operations)


class Tell(KeyedBroadcastProcessFunction):
    """At the end every key tells which rules its subtask knows."""

    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(10**9)

    def process_broadcast_element(self, value, ctx):
        state = ctx.get_broadcast_state(RULES)
        state.put(value, (state.get(value) or 0) + 1)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), tuple(sorted(ctx.get_broadcast_state(RULES).items()))


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(0, 9), max_size=20),
    st.lists(st.sampled_from("abc"), max_size=20),
    st.sampled_from([1, 3]),
    st.integers(0, 99),
    st.sampled_from([Faults(), Faults(0.2, 0.3, 0.2, 0.1)]),
)
def test_the_state_is_the_same_in_all_subtasks(values, rules, parallelism, seed, faults) -> None:
    with run_local(3, seed, faults=faults, epoch_records=4, buffer_records=2):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(parallelism)
        stream = env.from_collection(values).key_by(lambda value: value)
        connected = stream.connect(env.from_collection(rules).broadcast(RULES))
        found = list(connected.process(Tell()).execute_and_collect())
    known = tuple(sorted(Counter(rules).items()))
    assert sorted(found) == sorted((key, known) for key in set(values))
