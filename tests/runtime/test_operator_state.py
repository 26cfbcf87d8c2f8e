"""Operator state: lists, union lists and broadcast maps of functions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common import Types
from millrace.common.errors import StateError
from millrace.datastream import (
    AllWindowFunction,
    AsyncDataStream,
    AsyncFunction,
    CheckpointedFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
    SinkFunction,
    StreamExecutionEnvironment,
    WindowFunction,
)
from millrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from millrace.datastream.window import CountTumblingWindowAssigner
from millrace.testing import Faults, OperatorHarness, OperatorSnapshot, run_local

LIST = ListStateDescriptor("list", Types.LONG())
UNION = ListStateDescriptor("union", Types.LONG())
MAP = MapStateDescriptor("map", Types.STRING(), Types.LONG())


class Buffering(MapFunction, CheckpointedFunction):
    """Keeps all it ever saw in its own fields; state is written when an epoch ends."""

    def initialize_state(self, context):
        store = context.get_operator_state_store()
        self.list = store.get_list_state(LIST)
        self.union = store.get_union_list_state(UNION)
        self.shared = store.get_broadcast_state(MAP)
        assert store.get_list_state(LIST) is self.list
        self.restored = context.is_restored()
        self.seen = list(self.list)
        self.own = []
        self.everybody = list(self.union)

    def open(self, runtime_context):
        self.opened_with = list(self.seen)

    def snapshot_state(self, context):
        self.list.update(self.seen)
        self.union.clear()
        self.union.add_all(self.everybody)
        self.shared.put("epoch", context.get_checkpoint_id())

    def map(self, value):
        self.seen.append(value)
        self.everybody.append(value)
        return self


def function_of(harness: OperatorHarness) -> Buffering:
    return harness.operator.function


def test_a_new_function_has_nothing_and_is_not_restored() -> None:
    with OperatorHarness(Buffering()) as harness:
        function = function_of(harness)
        assert (function.restored, function.seen, function.everybody) == (False, [], [])
        assert function.shared.is_empty()


def test_it_is_initialized_before_it_is_opened() -> None:
    with OperatorHarness(Buffering()) as harness:
        harness.process_elements([1, 2])
        taken = harness.snapshot()
    with harness.restored(taken) as other:
        function = function_of(other)
        assert (function.restored, function.opened_with) == (True, [1, 2])
        assert list(function.shared.items()) == [("epoch", 0)]


def test_an_aborted_epoch_is_forgotten() -> None:
    with OperatorHarness(Buffering()) as harness:
        harness.process_elements([1, 2])
        harness.snapshot()
        harness.process_elements([3])
        harness.abort()
        assert function_of(harness).seen == [1, 2]
        harness.process_elements([4])
        taken = harness.snapshot()
    with harness.restored(taken) as other:
        assert function_of(other).seen == [1, 2, 4]
        assert function_of(other).shared["epoch"] == 1


def subtasks(taken: list[OperatorSnapshot], parallelism: int) -> list[OperatorHarness]:
    """Each from a harness of its own: those of one share the function object."""
    made = []
    for index in range(parallelism):
        fresh = OperatorHarness(Buffering())
        made.append(fresh.restored(*taken, subtask_index=index, parallelism=parallelism))
    return made


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(1, 4), st.lists(st.integers(0, 9), max_size=8)),
        min_size=1,
        max_size=4,
    )
)
def test_lists_are_redistributed_and_unions_go_to_all(rounds) -> None:
    running = [OperatorHarness(Buffering())]
    everything: list[int] = []
    for parallelism, values in rounds:
        for number, value in enumerate(values):
            running[number % len(running)].process_element(value)
        everything += values
        taken = [harness.snapshot() for harness in running]
        before = [function_of(harness).everybody for harness in running]
        changed = parallelism != len(running)
        running = subtasks(taken, parallelism)
        lists = [function_of(harness).seen for harness in running]
        assert sorted(value for part in lists for value in part) == sorted(everything)
        assert max(map(len, lists)) - min(map(len, lists)) <= 1 or not changed
        for index, harness in enumerate(running):
            function = function_of(harness)
            assert list(function.shared.keys()) == ["epoch"]
            if changed:
                assert sorted(function.everybody) == sorted(v for part in before for v in part)
            elif parallelism == 1:
                assert function.everybody == before[index]


def test_a_list_keeps_its_order_and_what_is_added_comes_last() -> None:
    class Adding(Buffering):
        def snapshot_state(self, context):
            pass

        def map(self, value):
            self.list.add(value)

    with OperatorHarness(Buffering()) as harness:
        harness.process_elements(list(range(12)))
        taken = harness.snapshot()
    halves = []
    for index in range(2):
        fresh = OperatorHarness(Adding())
        half = fresh.restored(taken, subtask_index=index, parallelism=2)
        half.process_elements([100 + index, 200 + index])
        assert list(function_of(half).list) == [*range(index, 12, 2), 100 + index, 200 + index]
        halves.append(half.snapshot())
    with OperatorHarness(Adding()).restored(*halves) as whole:
        whole.process_element(300)
        assert list(function_of(whole).list)[-1] == 300
        assert len(function_of(whole).list.get()) == 17


class Methods(MapFunction, CheckpointedFunction):
    def initialize_state(self, context):
        self.state = context.get_operator_state_store().get_list_state(LIST)

    def snapshot_state(self, context):
        pass

    def map(self, value):
        method, argument = value
        getattr(self.state, method)(*argument)
        return list(self.state.get())


def test_all_that_a_list_can_do() -> None:
    with OperatorHarness(Methods()) as harness:
        for step in [
            ("add", [1]), ("add_all", [[2, 3]]), ("update", [[9]]), ("add", [8]), ("clear", []),
            ("add", [7]), ("update", [[]]), ("add_all", [[5, 6]]),
        ]:  # fmt: skip
            harness.process_element(step)
        assert harness.output() == [[1], [1, 2, 3], [9], [9, 8], [], [7], [], [5, 6]]


def test_a_state_that_does_not_change_is_not_written_again() -> None:
    class Same(MapFunction, CheckpointedFunction):
        def initialize_state(self, context):
            self.state = context.get_operator_state_store().get_list_state(LIST)

        def snapshot_state(self, context):
            self.state.update([1, 2, 3])

        def map(self, value):
            return value

    with OperatorHarness(Same()) as harness:
        first = harness.snapshot()
        harness.process_element(1)
        assert harness.snapshot().deltas == first.deltas


class TwoKinds(MapFunction, CheckpointedFunction):
    def initialize_state(self, context):
        store = context.get_operator_state_store()
        store.get_list_state(LIST)
        store.get_union_list_state(LIST)

    def snapshot_state(self, context):
        pass

    def map(self, value):
        return value


class WantsKeys(TwoKinds):
    def initialize_state(self, context):
        context.get_keyed_state_store().get_state(ValueStateDescriptor("x"))


def test_what_cannot_work_is_refused() -> None:
    with pytest.raises(StateError, match="'list' is declared twice.*give each its own name"):
        OperatorHarness(TwoKinds())
    with pytest.raises(StateError, match="operator 'Map' has no keyed state.*call key_by"):
        OperatorHarness(WantsKeys())


# -- in functions of every kind ----------------------------------------------------------------


class Numbering(CheckpointedFunction):
    """Numbers what it sees, over all epochs."""

    def initialize_state(self, context):
        self.kept = context.get_operator_state_store().get_list_state(LIST)
        self.count = sum(self.kept)

    def snapshot_state(self, context):
        self.kept.update([self.count])

    def next(self):
        self.count += 1
        return self.count


class NumberingMap(MapFunction, Numbering):
    def map(self, value):
        return self.next()


class NumberingFlatMap(FlatMapFunction, Numbering):
    def flat_map(self, value):
        yield self.next()


class NumberingFilter(FilterFunction, Numbering):
    def filter(self, value):
        return self.next() == value


class NumberingProcess(ProcessFunction, Numbering):
    def process_element(self, value, ctx):
        yield self.next()


class NumberingKeyed(KeyedProcessFunction, Numbering):
    """With keyed state as well, from either context."""

    def initialize_state(self, context):
        super().initialize_state(context)
        self.keyed = context.get_keyed_state_store().get_state(ValueStateDescriptor("count"))

    def process_element(self, value, ctx):
        self.keyed.update((self.keyed.value() or 0) + 1)
        assert self.keyed.value() == self.next()
        yield self.count


class NumberingReduce(ReduceFunction, Numbering):
    def reduce(self, value1, value2):
        return self.next() + 1


class NumberingWindow(WindowFunction, Numbering):
    def apply(self, key, window, inputs):
        yield self.next()


class NumberingAllWindow(AllWindowFunction, Numbering):
    def apply(self, window, inputs):
        yield self.next()


class NumberingAsync(AsyncFunction, Numbering):
    async def async_invoke(self, value):
        return [self.next()]


class NumberingCallable(Numbering):
    def __call__(self, value):
        return self.next()


def one(value):
    return 1


def single():
    return CountTumblingWindowAssigner.of(1)


PLACES = {
    "map": lambda s: s.map(NumberingMap()),
    "plain callable": lambda s: s.map(NumberingCallable()),
    "flat_map": lambda s: s.flat_map(NumberingFlatMap()),
    "filter": lambda s: s.filter(NumberingFilter()),
    "process": lambda s: s.process(NumberingProcess()),
    "keyed map": lambda s: s.key_by(one).map(NumberingMap()),
    "keyed flat_map": lambda s: s.key_by(one).flat_map(NumberingFlatMap()),
    "keyed filter": lambda s: s.key_by(one).filter(NumberingFilter()),
    "keyed process": lambda s: s.key_by(one).process(NumberingKeyed()),
    "reduce": lambda s: s.key_by(one).reduce(NumberingReduce()),
    "window": lambda s: s.key_by(one).window(single()).apply(NumberingWindow()),
    "window_all": lambda s: s.window_all(single()).apply(NumberingAllWindow()),
    "async": lambda s: AsyncDataStream.ordered_wait(s, NumberingAsync(), 60_000, 1, drain=True),
}


@pytest.mark.parametrize("place", PLACES)
def test_in_every_kind_of_function(place) -> None:
    """The numbers have no gaps although epochs are repeated and workers lost."""
    with run_local(3, 11, faults=Faults(0.3, 0.5, 0.2), epoch_records=2):
        env = StreamExecutionEnvironment.get_execution_environment()
        stream = PLACES[place](env.from_collection(list(range(1, 16))))
        assert list(stream.execute_and_collect()) == list(range(1, 16))


TOLD: list[Any] = []


class Telling(SinkFunction, Numbering):
    def invoke(self, value, context):
        TOLD.append((self.next(), value))


def test_in_a_sink_function() -> None:
    """It sees some records again when an epoch is repeated, with the same numbers."""
    TOLD.clear()
    with run_local(3, 11, faults=Faults(0.3, 0.5), epoch_records=2):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.from_collection(list(range(1, 16))).add_sink(Telling())
        env.execute()
    assert {number for number, _ in TOLD} == set(range(1, 16))
    assert all(number == value for number, value in TOLD)


def test_a_users_own_field_called_wrapped_is_no_adapter() -> None:
    class Wrapping(NumberingMap):
        def __init__(self, wrapped):
            self.wrapped = wrapped

    with OperatorHarness(Wrapping(abs)) as harness:
        harness.process_elements([5, 6])
        assert harness.output() == [1, 2]


def test_interfaces() -> None:
    with pytest.raises(TypeError, match="abstract"):
        CheckpointedFunction()
