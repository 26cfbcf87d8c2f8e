"""Window joins and co-groups, against loops over all records."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest
from drawn import job_examples
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common import Duration, Time, WatermarkStrategy
from millrace.common.errors import JobDefinitionError, UserFunctionError
from millrace.common.window.evictor import CountEvictor
from millrace.datastream import (
    CoGroupFunction,
    DataStream,
    FlatJoinFunction,
    JoinFunction,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from millrace.datastream.functions import CheckpointedFunction
from millrace.datastream.state import ListStateDescriptor
from millrace.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from millrace.testing import Faults, run_local

LATE = OutputTag("late")
SIDES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 40)), max_size=25)
FAULTS = st.sampled_from([Faults(), Faults(0.2, 0.3, 0.2, 0.1)])
Env = StreamExecutionEnvironment


def new_env(parallelism: int = 1) -> Env:
    return Env.get_execution_environment().set_parallelism(parallelism)


def timed(env: Env, records, out_of_order: int = 100) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(out_of_order))
    return env.from_collection(records).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(lambda value, record_timestamp: value[1])
    )


class Pair(JoinFunction):
    def open(self, runtime_context):
        self.opened = True

    def join(self, first, second):
        assert self.opened
        return first, second


class Near(FlatJoinFunction):
    def join(self, first, second):
        if first[1] == second[1]:
            return None
        return [(first, second)] * 2


class Groups(CoGroupFunction):
    def co_group(self, first, second):
        yield tuple(sorted(first)), tuple(sorted(second))


class WithTime(ProcessFunction):
    def process_element(self, value, ctx):
        yield value, ctx.timestamp()


def windows(side, size, slide):
    found = defaultdict(list)
    for key, time in side:
        start = time - time % slide
        while start > time - size:
            found[key, start].append((key, time))
            start -= slide
    return found


def expected_groups(left, right, size, slide) -> Counter:
    first, second = windows(left, size, slide), windows(right, size, slide)
    return Counter(
        ((tuple(sorted(first.get(at, []))), tuple(sorted(second.get(at, [])))), at[1] + size - 1)
        for at in {*first, *second}
    )


def expected_pairs(left, right, size, slide) -> Counter:
    return Counter(
        ((one, two), end)
        for ((ones, twos), end), count in expected_groups(left, right, size, slide).items()
        for one in ones
        for two in twos
        for _ in range(count)
    )


@settings(max_examples=job_examples(20), deadline=None)
@given(
    SIDES,
    SIDES,
    st.sampled_from([(10, 10), (10, 5)]),
    st.sampled_from(["join", "plain join", "co_group"]),
    st.sampled_from([1, 3]),
    st.integers(0, 99),
    FAULTS,
)
def test_against_a_model(left, right, sizes, kind, parallelism, seed, faults) -> None:
    size, slide = sizes
    assigner = (
        TumblingEventTimeWindows.of(Time.milliseconds(size))
        if size == slide
        else SlidingEventTimeWindows.of(Time.milliseconds(size), Time.milliseconds(slide))
    )
    with run_local(3, seed, faults=faults, epoch_records=5, buffer_records=3):
        env = new_env(parallelism)
        one, two = timed(env, left), timed(env, right)
        paired = one.co_group(two) if kind == "co_group" else one.join(two)
        meeting = paired.where(lambda value: value[0]).equal_to(0).window(assigner)
        function = {"join": Pair(), "plain join": lambda a, b: (a, b), "co_group": Groups()}[kind]
        found = Counter(meeting.apply(function).process(WithTime()).execute_and_collect())
    model = expected_groups if kind == "co_group" else expected_pairs
    assert found == model(left, right, size, slide)


def test_a_flat_join() -> None:
    with run_local():
        env = new_env()
        one, two = timed(env, [(1, 1), (1, 2)]), timed(env, [(1, 2)])
        meeting = one.join(two).where(0).equal_to(0).window(TumblingEventTimeWindows.of(10))
        found = list(meeting.apply(Near()).execute_and_collect())
    assert found == [((1, 1), (1, 2))] * 2


def test_a_plain_co_group_and_session_windows() -> None:
    with run_local():
        env = new_env()
        one, two = timed(env, [(1, 1), (1, 4), (1, 30)]), timed(env, [(1, 6), (2, 6)])
        windows = EventTimeSessionWindows.with_gap(Time.milliseconds(5))
        meeting = one.co_group(two).where(0).equal_to(0).window(windows)
        found = list(meeting.apply(lambda a, b: [(len(a), len(b))]).execute_and_collect())
    assert Counter(found) == Counter([(2, 1), (1, 0), (0, 1)])


def test_trigger_and_evictor() -> None:
    with run_local():
        env = new_env()
        one, two = timed(env, [(1, t) for t in range(4)]), timed(env, [])
        meeting = one.co_group(two).where(0).equal_to(0).window(TumblingEventTimeWindows.of(10))
        meeting = meeting.trigger(CountTrigger.of(2)).evictor(CountEvictor.of(3))
        found = list(meeting.apply(lambda a, b: [[t for _, t in a]]).execute_and_collect())
    assert found == [[0, 1], [1, 2, 3]]


@pytest.mark.parametrize("lateness", [0, 100])
def test_late_records(lateness) -> None:
    with run_local(epoch_records=1):
        env = new_env()
        one = timed(env, [(1, 1), (1, 50), (1, 2), (1, 51)], out_of_order=0)
        two = timed(env, [(1, 3), (1, 50), (1, 4), (1, 51)], out_of_order=0)
        meeting = one.join(two).where(0).equal_to(0).window(TumblingEventTimeWindows.of(10))
        meeting = meeting.allowed_lateness(lateness).side_output_late_data(LATE)
        made = meeting.apply(lambda a, b: ("pair", a[1], b[1]))
        found = Counter(made.union(made.get_side_output(LATE)).execute_and_collect())
    late = [value for value in found if value[0] != "pair"]
    if lateness:
        assert late == []
        assert found["pair", 2, 4] == 1
        assert found["pair", 1, 3] > 1, "the window fires again"
    else:
        assert sorted(late) == [(0, (1, 2)), (1, (1, 4))]
        assert found["pair", 1, 3] == 1


class Counting(CoGroupFunction, CheckpointedFunction):
    """Numbers its windows: operator state in the function of a join."""

    def initialize_state(self, context):
        descriptor = ListStateDescriptor("count")
        self.kept = context.get_operator_state_store().get_list_state(descriptor)
        self.count = sum(self.kept)

    def snapshot_state(self, context):
        self.kept.update([self.count])

    def co_group(self, first, second):
        self.count += 1
        return [self.count]


def test_operator_state_of_a_joining_function() -> None:
    with run_local(3, 5, faults=Faults(0.3, 0.5), epoch_records=2):
        env = new_env()
        one, two = timed(env, [(1, 10 * t) for t in range(9)], 0), timed(env, [])
        meeting = one.co_group(two).where(0).equal_to(0).window(TumblingEventTimeWindows.of(10))
        found = list(meeting.apply(Counting()).execute_and_collect())
    assert found == list(range(1, 10))


CLOSED = []


class Told(CoGroupFunction):
    def open(self, runtime_context):
        self.open = True

    def close(self):
        CLOSED.append(self.open)

    def co_group(self, first, second):
        return None


def test_the_function_is_opened_and_closed() -> None:
    CLOSED.clear()
    with run_local():
        env = new_env()
        one, two = timed(env, [(1, 1)]), timed(env, [(1, 2)])
        meeting = one.co_group(two).where(0).equal_to(0).window(TumblingEventTimeWindows.of(10))
        assert list(meeting.apply(Told()).execute_and_collect()) == []
    assert CLOSED == [True]


class Closing(JoinFunction):
    def join(self, first, second):
        return 1 // 0

    def close(self):
        raise RuntimeError("not to be seen")


def test_a_failing_join_names_the_operator() -> None:
    with run_local():
        env = new_env()
        one, two = timed(env, [(1, 1)]), timed(env, [(1, 2)])
        meeting = one.join(two).where(0).equal_to(0).window(TumblingEventTimeWindows.of(10))
        with pytest.raises(UserFunctionError, match="'Join'.*") as failure:
            list(meeting.apply(Closing()).execute_and_collect())
    assert "ZeroDivisionError" in str(failure.value)


def test_what_cannot_work_is_refused() -> None:
    env = new_env()
    one, two = env.from_collection([1]), env.from_collection([2])
    other = new_env().from_collection([1])
    with pytest.raises(JobDefinitionError, match=r"join\(\) takes streams of one job"):
        one.join(other)
    with pytest.raises(JobDefinitionError, match=r"co_group\(\) takes streams of one job"):
        one.co_group(other)
    with pytest.raises(JobDefinitionError, match=r"join\(\) takes a stream, got 5"):
        one.join(5)
    window = TumblingEventTimeWindows.of(10)
    meeting = one.join(two).where(abs).equal_to(abs).window(window)
    with pytest.raises(JobDefinitionError, match="takes a JoinFunction or a callable"):
        meeting.apply(Groups())
    grouping = one.co_group(two).where(abs).equal_to(abs).window(window)
    with pytest.raises(JobDefinitionError, match="takes a CoGroupFunction or a callable"):
        grouping.apply(Pair())
    with pytest.raises(JobDefinitionError, match="takes a window assigner"):
        one.join(two).where(abs).equal_to(abs).window(10)
    with pytest.raises(JobDefinitionError, match="key"):
        one.join(two).where(None)
