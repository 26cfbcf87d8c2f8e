"""Windows in whole jobs, against a naive model; and what is refused when they are built."""

from __future__ import annotations

from collections import defaultdict

import pytest
from drawn import job_examples
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common import Duration, WatermarkStrategy
from millrace.common.errors import JobDefinitionError, UserFunctionError
from millrace.datastream import (
    AggregateFunction,
    OutputTag,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
    WindowFunction,
)
from millrace.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows
from millrace.testing import Faults, run_local

LATE = OutputTag("late")


def event_time(value, record_timestamp):
    return value[1]


class Everything(AggregateFunction):
    def create_accumulator(self):
        return ()

    def add(self, value, accumulator):
        return (*accumulator, value[2])

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):
        raise AssertionError


class Label(ProcessWindowFunction):
    def process(self, key, context, elements):
        for element in elements:
            yield key, context.window().start, tuple(element)


class Elements(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key, context.window().start, tuple(element[2] for element in elements)


def expected_windows(records, size: int, slide: int) -> dict:
    """Per (key, start): the serial numbers of all the records in it."""
    windows = defaultdict(set)
    for key, time, serial in records:
        start = time - time % slide
        while start > time - size:
            windows[key, start].add(serial)
            start -= slide
    return dict(windows)


RECORDS = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 60)), max_size=40)


@settings(max_examples=job_examples(50), deadline=None)
@given(
    RECORDS,
    st.sampled_from([(10, 10), (10, 5), (15, 5)]),
    st.integers(0, 20),
    st.booleans(),
    st.sampled_from([1, 2]),
    st.integers(0, 5),
)
def test_on_time_and_late_together_are_everything(
    pairs, shape, delay, aggregated, channels, seed
) -> None:
    """Whatever is late goes to the side output; every other record is in each of its windows that
    had not fired yet, exactly once; faults and worker changes change nothing."""
    size, slide = shape
    records = [(key, time, serial) for serial, (key, time) in enumerate(pairs)]
    tumbling = size == slide
    assigner = (
        TumblingEventTimeWindows.of(size) if tumbling else SlidingEventTimeWindows.of(size, slide)
    )
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(delay))
    faults = Faults(lost_epochs=0.1, lost_workers=0.2, repeated_tasks=0.1)
    with run_local(2, seed, faults=faults, epoch_records=4, buffer_records=2):
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
        stream = (
            env.from_collection(records)
            .assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(event_time))
            .set_parallelism(channels)
        )
        windowed = stream.key_by(0).window(assigner).side_output_late_data(LATE)
        fired = windowed.process(Elements())
        if aggregated:
            fired = windowed.aggregate(Everything(), Label())
        late = fired.get_side_output(LATE).map(lambda value: ("late", value))
        results = list(fired.union(late).execute_and_collect())
    late_records = {value for tag, *rest in results if tag == "late" for value in rest}
    panes = [result for result in results if result[0] != "late"]
    assert len({(key, start) for key, start, _ in panes}) == len(panes), "each fires once"
    model = expected_windows(records, size, slide)
    in_windows = set()
    for key, start, serials in panes:
        assert len(set(serials)) == len(serials)
        assert set(serials) <= model[key, start]
        if channels == 1:
            assert list(serials) == sorted(serials), "elements stay in the order of their channel"
        in_windows |= set(serials)
    assert in_windows | {serial for *_, serial in late_records} == {s for *_, s in records}
    assert not in_windows & {serial for *_, serial in late_records}
    if delay >= max((time for _, time, _ in records), default=0):
        assert {(k, s): set(serials) for k, s, serials in panes} == model


def test_in_batch_mode_nothing_is_late() -> None:
    records = [("a", time, time) for time in (50, 1, 30, 2)]
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(event_time)
    from millrace.datastream import RuntimeExecutionMode

    with run_local(epoch_records=1):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
        stream = env.from_collection(records).assign_timestamps_and_watermarks(strategy)
        windowed = stream.key_by(0).window(TumblingEventTimeWindows.of(10))
        results = list(windowed.process(Elements()).execute_and_collect())
    assert results == [("a", 0, (1, 2)), ("a", 30, (30,)), ("a", 50, (50,))]


def test_windows_without_event_times_fail_with_the_way_out() -> None:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        keyed = env.from_collection([("a", 1)]).key_by(0)
        keyed.window(TumblingEventTimeWindows.of(10)).reduce(lambda a, b: a).print()
        with pytest.raises(UserFunctionError, match="assign_timestamps_and_watermarks"):
            env.execute()


class Apply(WindowFunction):
    def apply(self, key, window, inputs):
        return [key]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda w: w.reduce(Everything()), r"reduce\(\) takes a ReduceFunction or a callable"),
        (lambda w: w.aggregate(max), r"aggregate\(\) takes a AggregateFunction, got"),
        (lambda w: w.aggregate(Everything), r"pass an instance: Everything\(\)"),
        (lambda w: w.aggregate(Everything(), max), "window_function is a WindowFunction or"),
        (lambda w: w.process(Apply()), r"process\(\) takes a ProcessWindowFunction"),
        (lambda w: w.apply(Label()), r"apply\(\) takes a WindowFunction"),
        (lambda w: w.side_output_late_data("late"), "takes an OutputTag, got 'late'"),
    ],
)
def test_wrong_functions_are_refused(build, message) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    windowed = env.from_collection([]).key_by(0).window(TumblingEventTimeWindows.of(10))
    with pytest.raises(JobDefinitionError, match=message):
        build(windowed)
