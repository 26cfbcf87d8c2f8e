"""Interval join, against all pairs compared one by one."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common import Duration, Time, WatermarkStrategy
from millrace.common.errors import JobDefinitionError, UserFunctionError
from millrace.datastream import (
    DataStream,
    KeyedStream,
    OutputTag,
    ProcessFunction,
    ProcessJoinFunction,
    StreamExecutionEnvironment,
)
from millrace.runtime.buffer import MAX_WATERMARK
from millrace.runtime.operators.interval_join import _Side
from millrace.state.nested_table import NestedTable
from millrace.testing import Faults, OperatorHarness, run_local

LEFT_LATE = OutputTag("late left")
RIGHT_LATE = OutputTag("late right")
SIDE = OutputTag("side")


class Pairs(ProcessJoinFunction):
    def open(self, runtime_context):
        self.opened = True

    def process_element(self, left, right, ctx):
        assert self.opened
        times = ctx.get_left_timestamp(), ctx.get_right_timestamp(), ctx.get_timestamp()
        yield left, right, times
        if left == right:
            yield SIDE, left


def streams() -> tuple[KeyedStream, KeyedStream]:
    env = StreamExecutionEnvironment.get_execution_environment()
    return env.from_collection([]).key_by(0), env.from_collection([]).key_by(0)


def joined(lower: Any, upper: Any, exclusive=(False, False)) -> DataStream:
    left, right = streams()
    join = left.interval_join(right).between(lower, upper)
    if exclusive[0]:
        join = join.lower_bound_exclusive()
    if exclusive[1]:
        join = join.upper_bound_exclusive()
    join = join.side_output_left_late_data(LEFT_LATE).side_output_right_late_data(RIGHT_LATE)
    return join.process(Pairs())


def feed(harness: OperatorHarness, side: int, value: Any, time: int) -> None:
    (harness.process_element1, harness.process_element2)[side](value, time)


def test_pairs_their_times_and_side_outputs() -> None:
    with OperatorHarness(joined(-2, Time.milliseconds(1))) as harness:
        feed(harness, 0, ("a", 1), 10)
        for time in (7, 8, 11, 12):
            feed(harness, 1, ("a", time), time)
        feed(harness, 1, ("b", 1), 10)
        feed(harness, 0, ("b", 1), 11)
        assert harness.output() == [
            (("a", 1), ("a", 8), (10, 8, 10)),
            (("a", 1), ("a", 11), (10, 11, 11)),
            (("b", 1), ("b", 1), (11, 10, 11)),
        ]
        assert [r.timestamp for r in harness.records()] == [10, 11, 11]
        assert harness.side_output(SIDE) == [("b", 1)]


@pytest.mark.parametrize(
    ("exclusive", "matching"),
    [
        ((False, False), [8, 9, 10, 11]),
        ((True, False), [9, 10, 11]),
        ((False, True), [8, 9, 10]),
        ((True, True), [9, 10]),
    ],
)
def test_exclusive_bounds(exclusive, matching) -> None:
    with OperatorHarness(joined(-2, 1, exclusive)) as harness:
        for time in range(5, 15):
            feed(harness, 1, ("a", time), time)
        feed(harness, 0, ("a", 0), 10)
        assert [right[1] for _, right, _ in harness.output()] == matching


def test_late_records_go_to_side_outputs_and_are_not_joined() -> None:
    with OperatorHarness(joined(-5, 5)) as harness:
        harness.process_watermark(10)
        feed(harness, 0, ("a", 0), 9)
        feed(harness, 1, ("a", 1), 8)
        feed(harness, 0, ("a", 2), 10)
        feed(harness, 1, ("a", 3), 11)
        assert [pair[:2] for pair in harness.output()] == [(("a", 2), ("a", 3))]
        assert harness.side_output(LEFT_LATE) == [("a", 0)]
        assert harness.side_output(RIGHT_LATE) == [("a", 1)]


def test_late_records_are_counted_if_nobody_wants_them() -> None:
    left, right = streams()
    made = left.interval_join(right).between(0, 1).process(lambda one, other: (one, other))
    with OperatorHarness(made) as harness:
        harness.process_watermark(10)
        feed(harness, 0, ("a", 0), 9)
        feed(harness, 1, ("a", 1), 8)
        counts = harness.operator.context.metrics.counts()
        assert counts == {"numLateRecordsDropped": 2}
        feed(harness, 0, ("a", 0), 10)
        feed(harness, 1, ("a", 1), 11)
        assert harness.output() == [(("a", 0), ("a", 1))], "a plain function gives the result"


@pytest.mark.parametrize(
    ("lower", "upper", "left_until", "right_until"),
    [(-5, 5, 15, 15), (2, 5, 15, 10), (-5, -2, 10, 15), (0, 0, 10, 10)],
)
def test_records_are_kept_only_as_long_as_they_can_match(
    lower, upper, left_until, right_until
) -> None:
    for side, until in ((0, left_until), (1, right_until)):
        with OperatorHarness(joined(lower, upper)) as harness:
            feed(harness, side, ("a", 0), 10)
            kept = harness.entries()
            harness.process_watermark(until - 1)
            assert harness.entries() == kept
            harness.process_watermark(until)
            assert harness.entries() == kept - 1


def test_the_end_of_the_input_leaves_nothing() -> None:
    with OperatorHarness(joined(-5, 5)) as harness:
        for time in range(20):
            feed(harness, time % 2, ("ab"[time % 3 % 2], time), time)
        harness.process_watermark(MAX_WATERMARK)
        assert harness.keys("@left") == harness.keys("@right") == []


def test_results_may_be_changed_and_state_stays() -> None:
    left, right = streams()
    made = left.interval_join(right).between(-5, 5).process(lambda one, other: (one, other))
    with OperatorHarness(made) as harness:
        feed(harness, 0, ["a", 0], 10)
        feed(harness, 1, ["a", 1], 10)
        harness.output()[0][0].append("changed")
        harness.output()[0][1].append("changed")
        feed(harness, 1, ["a", 2], 10)
        assert harness.output()[1] == (["a", 0], ["a", 2])


RECORDS = st.lists(
    st.tuples(
        st.integers(0, 1), st.integers(0, 2), st.integers(0, 30), st.sampled_from(["", "w", "wx"])
    ),
    max_size=40,
)
BOUNDS = st.tuples(st.integers(-8, 8), st.integers(-8, 8)).map(sorted)
CUTS = st.lists(st.sampled_from(["", "", "snapshot", "restore", "abort"]), min_size=7, max_size=7)


def model(steps, lower, upper) -> tuple[Counter, Counter]:
    """All pairs of records that were on time, and the late ones."""
    kept: tuple[list, list] = ([], [])
    late: Counter = Counter()
    watermark = -1
    for side, key, time, serial, then in steps:
        if time < watermark:
            late[side, serial] += 1
        else:
            kept[side].append((key, time, serial))
        watermark = max(watermark, then)
    pairs = Counter(
        (left[2], right[2], max(left[1], right[1]))
        for left in kept[0]
        for right in kept[1]
        if left[0] == right[0] and lower <= right[1] - left[1] <= upper
    )
    return pairs, late


@settings(max_examples=60, deadline=None)
@given(RECORDS, BOUNDS, CUTS)
def test_against_a_model(records, bounds, cuts) -> None:
    """Disorder, late records, snapshots, restores and aborted epochs."""
    lower, upper = bounds
    steps, highest, watermark = [], 0, -1
    for serial, (side, key, offset, marks) in enumerate(records):
        # on time by the watermark or well before it: just at it, cleanup decides (as in Flink)
        time = offset + serial // 2
        if time == watermark:
            time += 1
        highest = max(highest, time)
        if marks:
            watermark = max(watermark, highest - 6)
        steps.append((side, key, time, serial, watermark if marks else -1))
    harness = OperatorHarness(joined(lower, upper))
    results: list[Any] = []
    late: Counter = Counter()

    def gather() -> None:
        results.extend((r.value[0][1], r.value[1][1], r.timestamp) for r in harness.records())
        late.update((0, serial) for _, serial in harness.side_output(LEFT_LATE))
        late.update((1, serial) for _, serial in harness.side_output(RIGHT_LATE))
        harness.clear_output()

    reached = -1
    for index, (side, key, time, serial, then) in enumerate(steps):
        cut = cuts[index % len(cuts)]
        if cut:
            taken = harness.snapshot()
            gather()
            if cut == "restore":
                harness.close()
                harness = harness.restored(taken)
            if cut == "abort":
                feed(harness, side, (key, serial), time)
                harness.process_watermark(time + 100)
                harness.abort()
            # the engine restores the watermark from the channels
            harness.process_watermark(reached)
            harness.clear_output()
        feed(harness, side, (key, serial), time)
        reached = max(reached, then)
        harness.process_watermark(reached)
    gather()
    harness.close()
    pairs, expected_late = model(steps, lower, upper)
    assert Counter(results) == pairs
    assert late == expected_late


class WithTime(ProcessFunction):
    def process_element(self, value, ctx):
        yield (*value, ctx.timestamp())


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 40)), max_size=25),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 40)), max_size=25),
    BOUNDS,
    st.sampled_from([1, 3]),
    st.integers(0, 99),
    st.sampled_from([Faults(), Faults(0.2, 0.3, 0.2, 0.1)]),
)
def test_whole_jobs(left, right, bounds, parallelism, seed, faults) -> None:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(40))
    timed = strategy.with_timestamp_assigner(lambda value, record_timestamp: value[1])
    with run_local(3, seed, faults=faults, epoch_records=4, buffer_records=2):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(parallelism)
        one, two = (
            env.from_collection(side).assign_timestamps_and_watermarks(timed).key_by(0)
            for side in (left, right)
        )
        join = one.interval_join(two).between(*bounds)
        pairs = join.process(lambda one, two: (one, two)).process(WithTime())
        found = Counter(pairs.execute_and_collect())
    assert found == Counter(
        (one, two, max(one[1], two[1]))
        for one in left
        for two in right
        if one[0] == two[0] and bounds[0] <= two[1] - one[1] <= bounds[1]
    )


# -- what is refused ---------------------------------------------------------------------------


def test_what_cannot_work_is_refused() -> None:
    left, right = streams()
    with pytest.raises(JobDefinitionError, match="lower bound at most the upper bound, got 3 and"):
        left.interval_join(right).between(3, 2)
    env = StreamExecutionEnvironment.get_execution_environment()
    with pytest.raises(JobDefinitionError, match=r"takes a keyed stream.*call key_by"):
        left.interval_join(env.from_collection([]))
    with pytest.raises(JobDefinitionError, match="streams of one job"):
        left.interval_join(env.from_collection([]).key_by(0))
    same = left.interval_join(left).between(0, 1)
    with pytest.raises(JobDefinitionError, match="takes a ProcessJoinFunction or a callable"):
        same.process(WithTime())
    with pytest.raises(JobDefinitionError, match="late records go to an OutputTag, got 'late'"):
        same.side_output_left_late_data("late")
    with pytest.raises(JobDefinitionError, match="late records go to an OutputTag, got 'late'"):
        same.side_output_right_late_data("late")


@pytest.mark.parametrize("side", ["left", "right"])
def test_records_without_event_time_name_their_input(side) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    timed = strategy.with_timestamp_assigner(lambda value, record_timestamp: value[1])
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        one, two = env.from_collection([(1, 1)]), env.from_collection([(1, 1)])
        if side == "left":
            two = two.assign_timestamps_and_watermarks(timed)
        else:
            one = one.assign_timestamps_and_watermarks(timed)
        join = one.key_by(0).interval_join(two.key_by(0)).between(0, 1)
        with pytest.raises(UserFunctionError, match=f"{side} input carry no event time"):
            list(join.process(lambda one, two: 1).execute_and_collect())


class Record(tuple[int]):
    """Knows how many of its kind there are."""

    alive = most = 0

    def __new__(cls, number: int) -> Record:
        cls.alive += 1
        cls.most = max(cls.most, cls.alive)
        return super().__new__(cls, (number,))

    def __del__(self) -> None:
        type(self).alive -= 1


class Elsewhere(dict[Any, Any]):
    """Makes its records when they are asked for, as a table on disk does."""

    def items(self) -> Any:
        return ((place, Record(number)) for place, number in super().items())

    def values(self) -> Any:
        return (record for _, record in self.items())


def test_records_are_looked_at_one_by_one() -> None:
    """When the state has been restored: there may be more than memory takes."""
    table = NestedTable(lambda outer, inner: outer)
    table.data["k"] = Elsewhere({(number, 1, number): number for number in range(100)})
    side = _Side(table, 0, 10, 10)
    assert not side.mutable
    assert Record.most <= 3
    table.data["l"] = {(5, 1, 100): [1]}
    side.forget()
    assert side.mutable
