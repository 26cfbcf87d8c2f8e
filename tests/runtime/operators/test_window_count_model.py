"""Windows that are not of event time against naive models: count windows, the global window with a
count trigger, and windows of the clock."""

from __future__ import annotations

import copy
from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.functions import AggregateFunction, ProcessWindowFunction
from millrace.datastream.window import (
    CountTrigger,
    GlobalWindows,
    ProcessingTimeSessionWindows,
    PurgingTrigger,
    SlidingProcessingTimeWindows,
    TumblingProcessingTimeWindows,
)
from millrace.testing import OperatorHarness


class Numbers(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key, [number for _, number in elements]


class Collect(AggregateFunction):
    """Changes its accumulators in place."""

    def create_accumulator(self):
        return []

    def add(self, value, accumulator):
        accumulator.append(value[1])
        return accumulator

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):
        acc_a.extend(acc_b)
        return acc_a


class Label(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key, *elements


def keyed():
    env = StreamExecutionEnvironment.get_execution_environment()
    return env.from_collection([]).key_by(0)


def harness_of(windowed, aggregated: bool) -> OperatorHarness:
    stream = windowed.aggregate(Collect(), Label()) if aggregated else windowed.process(Numbers())
    return OperatorHarness(stream)


class CountModel:
    """The records of each key, and what has to be emitted when one more comes."""

    def __init__(self, emitted) -> None:
        self.numbers = defaultdict(list)
        self.emitted = emitted

    def add(self, key, number):
        numbers = self.numbers[key]
        numbers.append(number)
        return [(key, part) for part in self.emitted(numbers)]


def full_windows(size: int, slide: int):
    """The window that ends with this record, if there is one."""

    def emitted(numbers):
        start = len(numbers) - size
        return [numbers[start:]] if start >= 0 and start % slide == 0 else []

    return emitted


def everything_at(count: int):
    return lambda numbers: [] if len(numbers) % count else [list(numbers)]


COUNTED = {
    "tumbling": (lambda s: s.count_window(3), full_windows(3, 3)),
    "of one": (lambda s: s.count_window(1), full_windows(1, 1)),
    "sliding": (lambda s: s.count_window(4, 2), full_windows(4, 2)),
    "sliding, not a multiple": (lambda s: s.count_window(5, 2), full_windows(5, 2)),
    "with holes": (lambda s: s.count_window(2, 3), full_windows(2, 3)),
    "global": (
        lambda s: s.window(GlobalWindows.create()).trigger(CountTrigger.of(3)),
        everything_at(3),
    ),
    "global, purged": (
        lambda s: s.window(GlobalWindows.create()).trigger(PurgingTrigger(CountTrigger(3))),
        full_windows(3, 3),
    ),
}
STEP = st.one_of(
    st.lists(st.sampled_from("ab"), min_size=1, max_size=6),
    st.lists(st.sampled_from("ab"), min_size=1, max_size=6),
    st.sampled_from(["snapshot", "abort", "restore"]),
)


@pytest.mark.parametrize("kind", COUNTED)
@settings(max_examples=30, deadline=None)
@given(st.booleans(), st.lists(STEP, max_size=12))
def test_count_windows_are_what_the_model_says(kind, aggregated, steps) -> None:
    build, emitted = COUNTED[kind]
    harness = harness_of(build(keyed()), aggregated)
    model = CountModel(emitted)
    saved = copy.deepcopy(model.numbers)
    number = 0
    for step in steps:
        if step == "abort":
            harness.abort()
            model.numbers = copy.deepcopy(saved)
        elif isinstance(step, str):
            snapshot = harness.snapshot()
            saved = copy.deepcopy(model.numbers)
            if step == "restore" and snapshot.deltas:
                harness = harness.restored(snapshot)
        else:
            records = [(key, number + index) for index, key in enumerate(step)]
            number += len(records)
            expected = [result for record in records for result in model.add(*record)]
            harness.clear_output()
            harness.process_elements(records)
            assert harness.output() == expected


def tumbling(numbers):
    return _aligned(numbers, 10, 10)


def sliding(numbers):
    return _aligned(numbers, 10, 4)


def _aligned(records, size, slide):
    windows = defaultdict(list)
    for now, number in records:
        for start in range(now - size + 1, now + 1):
            if start % slide == 0:
                windows[start + size - 1].append(number)
    return windows


def sessions(records):
    """They end 10 ms after their last record."""
    windows: list[tuple[int, list[int]]] = []
    for now, number in records:
        if windows and windows[-1][0] >= now:
            _, numbers = windows.pop()
            windows.append((now + 9, [*numbers, number]))
        else:
            windows.append((now + 9, [number]))
    found = defaultdict(list)
    for end, numbers in windows:
        found[end] += numbers
    return found


CLOCKED = {
    "tumbling": (TumblingProcessingTimeWindows.of(10), tumbling),
    "sliding": (SlidingProcessingTimeWindows.of(10, 4), sliding),
    "sessions": (ProcessingTimeSessionWindows.with_gap(10), sessions),
}


@pytest.mark.parametrize("kind", CLOCKED)
@settings(max_examples=30, deadline=None)
@given(
    st.booleans(),
    st.lists(st.tuples(st.integers(1, 12), st.integers(0, 3), st.booleans()), max_size=12),
)
def test_windows_of_the_clock_are_what_the_model_says(kind, aggregated, rounds) -> None:
    """The clock fires what is over: the last millisecond of a window still belongs to it."""
    assigner, model = CLOCKED[kind]
    harness = harness_of(keyed().window(assigner), aggregated)
    now, number = 0, 0
    records: list[tuple[int, int]] = []
    seen = []
    for passed, count, restored in rounds:
        fresh = range(number, number + count)
        number += count
        harness.process_elements([("a", n) for n in fresh])
        records += [(now, n) for n in fresh]
        if restored:
            snapshot = harness.snapshot()
            seen += harness.output()
            harness = harness.restored(snapshot) if snapshot.deltas else harness
            harness.clear_output()
        now += passed
        harness.set_processing_time(now)
    harness.set_processing_time(now + 100)
    seen += harness.output()
    expected = [("a", numbers) for _, numbers in sorted(model(records).items())]
    assert [(key, sorted(numbers)) for key, numbers in seen] == expected
    assert harness.entries() == 0
    assert harness.next_wakeup() is None
