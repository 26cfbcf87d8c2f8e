"""Windows in whole jobs: what comes out does not depend on parallelism, epochs or buffers, nor on
workers that are lost."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common import Duration, WatermarkStrategy
from millrace.common.errors import JobDefinitionError, JobExecutionError, UserFunctionError
from millrace.datastream import (
    MergingWindowAssigner,
    OutputTag,
    StreamExecutionEnvironment,
    WindowAssigner,
)
from millrace.datastream.functions import (
    AggregateFunction,
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
)
from millrace.datastream.window import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountEvictor,
    CountTrigger,
    DeltaTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TimeEvictor,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from millrace.testing import Faults, MiniJob, run_local

LATE = OutputTag("late")
RECORDS = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(-20, 60)), min_size=1, max_size=30
).map(lambda pairs: [(key, time, serial) for serial, (key, time) in enumerate(pairs)])
SETTINGS = [(1, 1, 1), (2, 3, 2), (4, 1, 1), (4, 1000, 1000)]
"""(parallelism, records per epoch, records per buffer)."""


class Elements(ProcessWindowFunction):
    def process(self, key, context, elements):
        window = context.window()
        yield key, window.start, window.end, tuple(sorted(value[2] for value in elements))


class Serials(AggregateFunction):
    """Changes its accumulator in place."""

    mergeable = True

    def create_accumulator(self):
        return []

    def add(self, value, accumulator):
        accumulator.append(value[2])
        return accumulator

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):
        acc_a.extend(acc_b)
        return acc_a


class Label(ProcessWindowFunction):
    def process(self, key, context, elements):
        (serials,) = elements
        yield key, context.window().start, context.window().end, tuple(sorted(serials))


ASSIGNERS = {
    "tumbling": TumblingEventTimeWindows.of(10, 3),
    "sliding": SlidingEventTimeWindows.of(12, 4),
    "sliding with holes": SlidingEventTimeWindows.of(3, 5),
    "sessions": EventTimeSessionWindows.with_gap(6),
    "dynamic sessions": EventTimeSessionWindows.with_dynamic_gap(lambda value: 1 + value[2] % 7),
}


def timed(delay: int):
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(delay))
    return strategy.with_timestamp_assigner(lambda value, _: value[1])


def run(build, records, setting, delay=1000, channels=1, faults=None, seed=None):
    """What a job emits, in no particular order."""
    parallelism, epoch_records, buffer_records = setting
    with run_local(
        2, seed, faults=faults, epoch_records=epoch_records, buffer_records=buffer_records
    ):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(parallelism)
        stream = env.from_collection(records).assign_timestamps_and_watermarks(timed(delay))
        stream.set_parallelism(min(channels, parallelism))
        return sorted(build(stream).execute_and_collect(), key=str)


def windowed(stream, assigner):
    return stream.key_by(lambda value: value[0]).window(assigner)


@pytest.mark.turns(7)
@pytest.mark.parametrize("kind", ASSIGNERS)
@settings(max_examples=5, deadline=None)
@given(RECORDS, st.booleans(), st.integers(0, 9))
def test_windows_do_not_depend_on_how_the_job_runs(kind, records, aggregated, seed) -> None:
    """Nothing is late here, so every window has all its records, however they travelled."""

    def build(stream):
        windows = windowed(stream, ASSIGNERS[kind])
        return windows.aggregate(Serials(), Label()) if aggregated else windows.process(Elements())

    first, *others = (run(build, records, setting, channels=4) for setting in SETTINGS)
    assert all(other == first for other in others)
    faults = Faults(lost_epochs=0.2, lost_workers=0.2, repeated_tasks=0.2)
    assert run(build, records, (2, 2, 1), channels=2, faults=faults, seed=seed) == first
    assert {serial for *_, serials in first for serial in serials} <= {r[2] for r in records}
    if kind != "sliding with holes":
        assert {serial for *_, serials in first for serial in serials} == {r[2] for r in records}


@pytest.mark.turns(7)
@pytest.mark.parametrize("kind", ["tumbling", "sliding", "sessions"])
@pytest.mark.parametrize("lateness", [0, 7])
@settings(max_examples=6, deadline=None)
@given(RECORDS, st.booleans())
def test_on_time_and_late_together_do_not_depend_on_it(kind, lateness, records, aggregated) -> None:
    """Which records are late may; together they are all there are, none of them twice."""

    def build(stream):
        windows = windowed(stream, ASSIGNERS[kind]).side_output_late_data(LATE)
        windows = windows.allowed_lateness(lateness)
        fired = windows.process(Elements())
        if aggregated:
            fired = windows.aggregate(Serials(), Label())
        return fired.union(fired.get_side_output(LATE).map(lambda value: ("late", value[2])))

    for setting in SETTINGS:
        results = run(build, records, setting, delay=2, channels=2)
        late = [serial for tag, serial, *rest in results if not rest]
        last: dict = {}
        for key, start, end, serials in (result for result in results if len(result) > 2):
            known = last.setdefault((key, start, end), ())
            last[key, start, end] = max(known, serials, key=len)
        on_time = {serial for serials in last.values() for serial in serials}
        assert len(set(late)) == len(late)
        assert on_time | set(late) == {serial for *_, serial in records}
        assert not on_time & set(late)


TRIGGERED = {
    "purging": lambda w: w.trigger(PurgingTrigger.of(EventTimeTrigger())),
    "evicting": lambda w: w.evictor(TimeEvictor.of(1000)),
    "a subclass": lambda w: w.trigger(type("Own", (EventTimeTrigger,), {})()),
}


@pytest.mark.turns(7)
@pytest.mark.parametrize("how", TRIGGERED)
@settings(max_examples=4, deadline=None)
@given(RECORDS, st.sampled_from(list(ASSIGNERS)))
def test_what_ends_in_the_general_operator_gives_the_same(how, records, kind) -> None:
    def plain(stream):
        return windowed(stream, ASSIGNERS[kind]).aggregate(Serials(), Label())

    def other(stream):
        return TRIGGERED[how](windowed(stream, ASSIGNERS[kind])).aggregate(Serials(), Label())

    assert run(other, records, (2, 2, 2)) == run(plain, records, (1, 1000, 1000))


@pytest.mark.turns(7)
@settings(max_examples=5, deadline=None)
@given(RECORDS)
def test_continuous_firings_end_with_the_whole_window(records) -> None:
    """How often it fires early depends on watermarks; what it fires last does not."""

    def build(stream):
        trigger = ContinuousEventTimeTrigger.of(3)
        return windowed(stream, ASSIGNERS["tumbling"]).trigger(trigger).process(Elements())

    def plain(stream):
        return windowed(stream, ASSIGNERS["tumbling"]).process(Elements())

    expected = run(plain, records, (1, 1000, 1000))
    for setting in SETTINGS:
        fired = run(build, records, setting)
        # a later firing of a window holds what an earlier one did
        last = {result[:3]: result for result in sorted(fired, key=lambda r: len(r[3]))}
        assert sorted(last.values(), key=str) == expected


class Counted(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key, tuple(value[2] for value in elements)


@pytest.mark.turns(7)
@pytest.mark.parametrize(
    ("build", "size", "slide"),
    [
        (lambda keyed: keyed.count_window(3), 3, 3),
        (lambda keyed: keyed.count_window(3, 2), 3, 2),
        (
            lambda keyed: keyed.window(GlobalWindows.create()).trigger(
                PurgingTrigger.of(CountTrigger.of(3))
            ),
            3,
            3,
        ),
    ],
)
@settings(max_examples=4, deadline=None)
@given(RECORDS)
def test_count_windows_of_one_channel_are_in_order(build, size, slide, records) -> None:
    """Which records meet is decided by the order of arrival, and one channel keeps it."""

    def job(stream):
        return build(stream.key_by(lambda value: value[0])).process(Counted())

    expected = []
    for name in "abc":
        serials = [serial for key, _, serial in records if key == name]
        starts = range(0, len(serials) - size + 1, slide)
        expected += [(name, tuple(serials[start : start + size])) for start in starts]
    for setting in SETTINGS:
        assert run(job, records, setting) == sorted(expected, key=str)


class AllElements(ProcessAllWindowFunction):
    def process(self, context, elements):
        yield context.window().start, tuple(sorted(value[2] for value in elements))


class AllApply(AllWindowFunction):
    def apply(self, window, inputs):
        return [(window.start, tuple(sorted(value[2] for value in inputs)))]


@pytest.mark.turns(7)
@settings(max_examples=5, deadline=None)
@given(RECORDS)
def test_windows_of_the_whole_stream(records) -> None:
    """One subtask sees all of it, whatever the parallelism."""
    expected: dict = {}
    for _, time, serial in records:
        expected.setdefault(time - time % 10, []).append(serial)
    for setting in SETTINGS:
        for build in (lambda w: w.process(AllElements()), lambda w: w.apply(AllApply())):
            results = run(
                lambda stream, build=build: build(
                    stream.window_all(TumblingEventTimeWindows.of(10))
                ),
                records,
                setting,
                channels=2,
            )
            assert dict(results) == {start: tuple(s) for start, s in expected.items()}
            assert len(results) == len(expected)


@pytest.mark.turns(7)
def test_window_all_runs_in_one_subtask() -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(4)
    windows = env.from_collection([1]).count_window_all(2)
    assert windows.reduce(max)._inputs[0].transformation.parallelism == 1


@pytest.mark.turns(7)
def test_count_windows_of_the_whole_stream() -> None:
    with run_local(epoch_records=1):
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
        sums = env.from_collection([1, 2, 3, 4, 5]).count_window_all(2).reduce(lambda a, b: a + b)
        assert list(sums.execute_and_collect()) == [3, 7]


# -- what is refused -------------------------------------------------------------------------------


def keyed():
    env = StreamExecutionEnvironment.get_execution_environment()
    return env.from_collection([("a", 1)]).key_by(lambda value: value[0])


class Own(WindowAssigner):
    """An assigner whose default trigger is given."""

    def __init__(self, trigger) -> None:
        self.trigger = trigger

    def assign_windows(self, element, timestamp, context):
        return []

    def get_default_trigger(self, env):
        return self.trigger

    def get_window_serializer(self):
        raise AssertionError

    def is_event_time(self):
        return True

    def __repr__(self):
        return "Own()"


class OwnMerging(Own, MergingWindowAssigner):
    def merge_windows(self, windows, callback):
        pass


def delta(old, new):
    return 0


@pytest.mark.turns(7)
@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: keyed().window(TumblingEventTimeWindows.of(10)).allowed_lateness(-1),
            r"allowed_lateness\(\) takes 0 ms or more, got -1",
        ),
        (
            lambda: (
                keyed()
                .window(EventTimeSessionWindows.with_gap(5))
                .trigger(DeltaTrigger.of(1, delta))
            ),
            r"DeltaTrigger\(1\) cannot merge, but the windows of .*can_merge\(\) returns True",
        ),
        (
            lambda: (
                keyed()
                .window(EventTimeSessionWindows.with_gap(5))
                .trigger(PurgingTrigger.of(DeltaTrigger.of(1, delta)))
            ),
            r"PurgingTrigger\(DeltaTrigger\(1\)\) cannot merge",
        ),
        (
            lambda: keyed().window(OwnMerging(DeltaTrigger.of(1, delta))).process(Elements()),
            r"DeltaTrigger\(1\) cannot merge, but the windows of Own\(\) are merged",
        ),
        (
            lambda: keyed().window(Own(None)).process(Elements()),
            r"Own\(\) has no default trigger: .* returned None; return a Trigger there, or set one",
        ),
        (
            lambda: keyed().window(TumblingEventTimeWindows.of(10)).trigger(EventTimeTrigger),
            r"trigger\(\) takes a Trigger, got <class",
        ),
        (
            lambda: keyed().window(TumblingEventTimeWindows.of(10)).evictor(3),
            r"evictor\(\) takes an Evictor, got 3",
        ),
        (lambda: keyed().window(10), r"window\(\) takes a window assigner such as .*, got 10"),
        (lambda: keyed().window_all(10), r"window_all\(\) takes a window assigner"),
        (lambda: keyed().count_window(0), "count windows need a size > 0, got 0"),
        (lambda: keyed().count_window(3, -1), "count windows need size > 0 and slide > 0"),
        (lambda: keyed().count_window_all(-2), "count windows need a size > 0, got -2"),
        (lambda: SlidingEventTimeWindows.of(10, 0), "need size > 0"),
        (lambda: EventTimeSessionWindows.with_gap(0), "need a gap > 0 ms, got 0"),
        (
            lambda: keyed().window_all(TumblingEventTimeWindows.of(10)).process(Elements()),
            r"process\(\) takes a ProcessAllWindowFunction",
        ),
        (
            lambda: keyed().window_all(TumblingEventTimeWindows.of(10)).apply(AllElements()),
            r"apply\(\) takes a AllWindowFunction",
        ),
        (
            lambda: keyed().window_all(TumblingEventTimeWindows.of(10)).reduce(max, Elements()),
            "window_function is an AllWindowFunction or a ProcessAllWindowFunction",
        ),
    ],
)
def test_refused_when_the_job_is_built(build, message) -> None:
    with pytest.raises(JobDefinitionError, match=message):
        build()


@pytest.mark.turns(7)
def test_an_assigner_without_a_default_trigger_takes_one_by_name() -> None:
    named = keyed().window(Own(None)).trigger(EventTimeTrigger()).process(Elements())
    assert named.get_name() == "Window Process"


@pytest.mark.turns(7)
@pytest.mark.parametrize("assigner", ASSIGNERS.values())
@pytest.mark.parametrize(
    "how",
    [
        lambda w: w.process(Elements()),
        lambda w: w.reduce(max),
        lambda w: w.evictor(CountEvictor.of(1)).reduce(max),
    ],
)
def test_refused_at_the_first_record_without_a_timestamp(assigner, how) -> None:
    with run_local():
        windows = how(keyed().window(assigner))
        with pytest.raises(
            (JobExecutionError, UserFunctionError), match="assign_timestamps_and_watermarks"
        ):
            list(windows.execute_and_collect())


@pytest.mark.turns(7)
def test_a_gap_that_is_none_fails_with_its_record() -> None:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        stream = env.from_collection([("a", 1)]).assign_timestamps_and_watermarks(timed(0))
        sessions = EventTimeSessionWindows.with_dynamic_gap(lambda value: 0)
        results = windowed(stream, sessions).reduce(max)
        with pytest.raises(UserFunctionError, match=r"gap of record \('a', 1\) is 0 ms"):
            list(results.execute_and_collect())


# -- the clock -------------------------------------------------------------------------------------


@pytest.mark.turns(7)
@pytest.mark.parametrize("parallelism", [1, 3])
def test_windows_of_the_clock_in_a_job(parallelism) -> None:
    """An epoch in the last millisecond of a window still adds to it; the next one fires it."""
    with MiniJob(parallelism) as job:
        source = job.source()
        windows = source.stream.key_by(lambda value: value).window(
            TumblingProcessingTimeWindows.of(10)
        )
        sink = job.collect(windows.process(Counts()))
        source.push("a", "b", "a")
        job.process()
        source.push("a")
        job.set_processing_time(9)
        assert sink.values() == []
        source.push("a")
        job.set_processing_time(10)
        assert sorted(sink.values()) == [("a", 0, 3), ("b", 0, 1)]
        job.set_processing_time(20)
        assert sorted(sink.values())[1:] == [("a", 10, 1), ("b", 0, 1)]


class Counts(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key, context.window().start, len(list(elements))


@pytest.mark.turns(7)
def test_windows_of_the_clock_do_not_fire_because_the_input_ends() -> None:
    """As in Flink: only event time ends with the input."""
    with MiniJob() as job:
        source = job.source()
        windows = source.stream.key_by(lambda value: value).window(
            TumblingProcessingTimeWindows.of(10)
        )
        sink = job.collect(windows.process(Counts()))
        source.push("a")
        job.process()
        job.finish()
        assert sink.values() == []


@pytest.mark.turns(7)
def test_early_firings_by_the_clock_and_the_last_one_by_the_watermark() -> None:
    """Windows of event time with a trigger of the clock that purges nothing."""
    with MiniJob() as job:
        source = job.source()
        windows = source.stream.key_by(lambda value: value).window(
            TumblingEventTimeWindows.of(1000)
        )
        sink = job.collect(
            windows.trigger(ContinuousProcessingTimeTrigger.of(10)).process(Counts())
        )
        source.push("a", timestamp=5)
        job.process()
        source.push("a", timestamp=6)
        job.set_processing_time(11)
        assert sink.values() == [("a", 0, 1)]
        job.set_processing_time(21)
        assert sink.values() == [("a", 0, 1), ("a", 0, 2)]
