"""Windows of event time against a naive model of Flink's semantics: every operator there is for
them, with disorder, lateness, snapshots and failures at random places."""

from __future__ import annotations

import copy
from operator import add

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common.errors import JobExecutionError
from millrace.datastream import (
    AggregateFunction,
    OutputTag,
    ProcessWindowFunction,
    ReduceFunction,
    StreamExecutionEnvironment,
    WindowFunction,
)
from millrace.datastream.window import (
    CountTrigger,
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from millrace.runtime.aggregations import Extreme, ExtremeBy, Sum
from millrace.runtime.operators.pane_window import PaneWindowOperator
from millrace.runtime.operators.session_window import SessionWindowOperator
from millrace.runtime.operators.sliding_window import SlidingWindowOperator
from millrace.runtime.operators.window_operator import WindowOperator
from millrace.testing import OperatorHarness

LATE = OutputTag("late")
NEVER = -(2**63)


class General(EventTimeTrigger):
    """The plain trigger under another name: windows then go through the general operator."""


class Times(AggregateFunction):
    """Changes its accumulators in place, in ``add`` as in ``merge``."""

    def create_accumulator(self):
        return {"times": []}

    def add(self, value, accumulator):
        accumulator["times"].append(value[1])
        return accumulator

    def get_result(self, accumulator):
        return accumulator["times"]

    def merge(self, acc_a, acc_b):
        acc_a["times"] += acc_b["times"]
        return acc_a


class TimesWithoutMerge(Times):
    def merge(self, acc_a, acc_b):
        raise NotImplementedError


class Total(AggregateFunction):
    """Accumulators that nobody can change in place."""

    def create_accumulator(self):
        return ()

    def add(self, value, accumulator):
        return (*accumulator, value[1])

    def get_result(self, accumulator):
        return list(accumulator)

    def merge(self, acc_a, acc_b):
        return acc_a + acc_b


class Process(ProcessWindowFunction):
    def process(self, key, context, elements):
        window = context.window()
        yield key, window.start, window.end, [time for _, time, *_ in elements]


class Apply(WindowFunction):
    def apply(self, key, window, inputs):
        return [(key, window.start, window.end, [time for _, time, *_ in inputs])]


class Label(ProcessWindowFunction):
    def process(self, key, context, elements):
        (times,) = elements
        window = context.window()
        yield key, window.start, window.end, times


class LabelReduced(ProcessWindowFunction):
    def process(self, key, context, elements):
        ((_, times),) = elements
        window = context.window()
        yield key, window.start, window.end, times


def joined_in_place(one, other):
    one[1].extend(other[1])
    return one


class Model:
    """What Flink's documentation says of windows with the event-time trigger, word by word."""

    def __init__(self, assign, merging: bool, lateness: int) -> None:
        self.assign, self.merging, self.lateness = assign, merging, lateness
        self.windows: dict = {}
        self.watermark = NEVER
        self.fired: list = []
        self.late: list = []

    def add(self, record) -> None:
        key, time, _ = record
        taken = False
        for window in self.assign(record):
            if self.merging:
                window = self.merged(key, window)
            start, end = window
            if end - 1 + self.lateness <= self.watermark:
                continue
            taken = True
            self.windows.setdefault((key, start, end), []).append(time)
            if end - 1 <= self.watermark:
                self.fire(key, start, end)
        if not taken and time + self.lateness <= self.watermark:
            self.late.append(record)

    def merged(self, key, window):
        """The window and all that overlap or touch it become one."""
        start, end = window
        held: list = []
        while found := [w for w in self.windows if w[0] == key and w[1] <= end and start <= w[2]]:
            if found == [(key, start, end)]:
                return start, end
            start, end = min(start, *(w[1] for w in found)), max(end, *(w[2] for w in found))
            for w in found:
                held += self.windows.pop(w)
            self.windows[key, start, end] = held
            held = []
        return start, end

    def fire(self, key, start, end) -> None:
        self.fired.append((key, start, end, list(self.windows[key, start, end])))

    def advance(self, watermark: int) -> None:
        for key, start, end in sorted(self.windows, key=lambda window: window[2]):
            if self.watermark < end - 1 <= watermark:
                self.fire(key, start, end)
        self.watermark = watermark
        self.windows = {
            window: times
            for window, times in self.windows.items()
            if window[2] - 1 + self.lateness > watermark
        }

    def take(self):
        fired, late = self.fired, self.late
        self.fired, self.late = [], []
        return fired, late


def aligned(size: int, slide: int, offset: int):
    """All windows that hold the record, by definition."""

    def assign(record):
        time = record[1]
        starts = [s for s in range(time - size + 1, time + 1) if (s - offset) % slide == 0]
        return [(start, start + size) for start in reversed(starts)]

    return assign


def gap_of(record) -> int:
    return record[2]


def opened(record):
    return [(record[1], record[1] + 4)]


def opened_dynamically(record):
    return [(record[1], record[1] + record[2])]


SHAPES = {
    "tumbling": (TumblingEventTimeWindows.of(10), aligned(10, 10, 0)),
    "tumbling, moved": (TumblingEventTimeWindows.of(7, -3), aligned(7, 7, -3)),
    "sliding": (SlidingEventTimeWindows.of(10, 5), aligned(10, 5, 0)),
    "sliding alone": (SlidingEventTimeWindows.of(10, 5), aligned(10, 5, 0)),
    "sliding, not a multiple": (SlidingEventTimeWindows.of(7, 3, 1), aligned(7, 3, 1)),
    "sliding, many panes": (SlidingEventTimeWindows.of(12, 2, -1), aligned(12, 2, -1)),
    "sliding, very many panes": (SlidingEventTimeWindows.of(60, 3), aligned(60, 3, 0)),
    "sliding, almost tumbling": (SlidingEventTimeWindows.of(5, 4), aligned(5, 4, 0)),
    "sliding with holes": (SlidingEventTimeWindows.of(3, 7, 2), aligned(3, 7, 2)),
    "sessions": (EventTimeSessionWindows.with_gap(4), opened),
    "dynamic sessions": (
        DynamicEventTimeSessionWindows.with_dynamic_gap(gap_of),
        opened_dynamically,
    ),
}
LOGICS = {
    "process": lambda windowed: windowed.process(Process()),
    "apply": lambda windowed: windowed.apply(Apply()),
    "aggregate in place": lambda windowed: windowed.aggregate(Times(), Label()),
    "aggregate": lambda windowed: windowed.aggregate(Total(), Label()),
    "reduce in place": lambda windowed: windowed.reduce(joined_in_place, LabelReduced()),
}


def build_windowed(shape: str, lateness: int, general: bool):
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([]).key_by(0).window(SHAPES[shape][0])
    stream = stream.side_output_late_data(LATE).allowed_lateness(lateness)
    stream = stream.share_panes("alone" not in shape)
    return stream.trigger(General()) if general else stream


def build(shape: str, logic: str, lateness: int, general: bool):
    return LOGICS[logic](build_windowed(shape, lateness, general))


def given_to(logic: str, record):
    """A reduce gets what it can combine: (key, list of times)."""
    key, time, gap = record
    return record if logic != "reduce in place" else GapPair((key, [time]), gap)


class GapPair(tuple):
    """(key, times) of which the gap is known too, for sessions."""

    def __new__(cls, pair, gap):
        made = super().__new__(cls, pair)
        made.gap = gap
        return made

    def __getnewargs__(self):
        return tuple(self), self.gap

    def __getitem__(self, index):
        return self.gap if index == 2 else super().__getitem__(index)


RECORD = st.tuples(st.sampled_from("ab"), st.integers(-15, 45), st.integers(1, 9))
STEP = st.one_of(
    st.lists(RECORD, min_size=1, max_size=6),
    st.lists(RECORD, min_size=1, max_size=6),
    st.integers(0, 12),
    st.sampled_from(["snapshot", "abort", "restore", "rescale"]),
)


def rescaled(harness, snapshot):
    """From one subtask to three and back."""
    thirds = [harness.restored(snapshot, subtask_index=n, parallelism=3) for n in range(3)]
    return harness.restored(*(third.snapshot() for third in thirds))


class Trial:
    """One operator beside the model, failing and recovering together."""

    def __init__(self, shape: str, logic: str, lateness: int, general: bool) -> None:
        self.logic = logic
        self.harness = OperatorHarness(build(shape, logic, lateness, general))
        merging = "sessions" in shape
        # elements keep their order where neither merging nor sharing panes reorders them
        self.ordered = not merging and (general or logic in ("process", "apply"))
        self.model = Model(SHAPES[shape][1], merging, lateness)
        self.saved = copy.deepcopy(self.model)

    def do(self, step) -> None:
        if isinstance(step, list):
            for record in step:
                self.model.add(record)
            values = [given_to(self.logic, record) for record in step]
            self.harness.process_elements(values, [time for _, time, _ in step])
        elif isinstance(step, int):
            self.advance(max(self.model.watermark, -20) + step)
        elif step == "abort":
            self.harness.abort()
            self.model = copy.deepcopy(self.saved)
            self.catch_up()
        else:
            snapshot = self.harness.snapshot()
            self.saved = copy.deepcopy(self.model)
            if step != "snapshot" and snapshot.deltas:
                self.harness = (rescaled if step == "rescale" else OperatorHarness.restored)(
                    self.harness, snapshot
                )
                self.catch_up()
        self.compare()

    def catch_up(self) -> None:
        """A new instance is told the watermark; what fired is in its state."""
        if self.model.watermark != NEVER:
            self.harness.process_watermark(self.model.watermark)

    def advance(self, watermark: int) -> None:
        self.model.advance(watermark)
        self.harness.process_watermark(watermark)

    def compare(self) -> None:
        fired, late = self.model.take()
        assert sorted(self.seen()) == sorted(self.comparable(*result) for result in fired)
        side = self.harness.side_output(LATE)
        assert [(value[0], value[1]) for value in side] == [
            tuple(given_to(self.logic, record))[:2] for record in late
        ]
        self.harness.clear_output()

    def seen(self):
        records = self.harness.records()
        assert all(record.timestamp == record.value[2] - 1 for record in records)
        return [self.comparable(*record.value) for record in records]

    def comparable(self, key, start, end, times):
        return key, start, end, list(times) if self.ordered else sorted(times)

    def finish(self) -> None:
        self.advance(2**63 - 1)
        self.compare()
        self.harness.snapshot()
        assert self.harness.entries() == 0, "nothing is left of windows that are gone"


@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=50, deadline=None)
@given(
    st.sampled_from(list(LOGICS)),
    st.sampled_from([0, 0, 0, 5, 30]),
    st.booleans(),
    st.lists(STEP, max_size=14),
)
def test_every_window_is_what_the_model_says(shape, logic, lateness, general, steps) -> None:
    trial = Trial(shape, logic, lateness, general)
    for step in steps:
        trial.do(step)
    trial.finish()


NEAR = st.lists(st.tuples(st.sampled_from("ab"), st.floats(-1.2, 0.5)), max_size=3)
"""Keys, and how many sizes of a window from the watermark."""


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape.startswith("sliding")])
@settings(max_examples=50, deadline=None)
@given(
    st.sampled_from(["aggregate in place", "aggregate", "reduce in place"]),
    st.lists(st.tuples(NEAR, st.integers(0, 3), st.booleans()), min_size=4, max_size=14),
)
def test_shared_panes_take_records_behind_the_watermark(shape, logic, rounds) -> None:
    """Panes of which windows have fired already get more, and later windows must see it."""
    trial = Trial(shape, logic, lateness=0, general=False)
    trial.do(0)
    size = SHAPES[shape][0].size
    for near, advance, fails in rounds:
        now = trial.model.watermark
        trial.do([(key, now + round(distance * size), 1) for key, distance in near])
        trial.do(advance * size // 10)
        if fails:
            trial.do("snapshot")
            trial.do(5)
            trial.do("abort")
    trial.finish()


class MoreTimes(Times):
    """Its ``merge`` is as good as none: panes cannot be shared."""

    def merge(self, acc_a, acc_b):
        pass


class Lists(AggregateFunction):
    """Keeps the first record and changes it."""

    def create_accumulator(self):
        return None

    def add(self, value, accumulator):
        return value if accumulator is None else joined_in_place(accumulator, value)

    def get_result(self, accumulator):
        return accumulator[1]

    def merge(self, acc_a, acc_b):
        raise NotImplementedError


@pytest.mark.parametrize("function", [TimesWithoutMerge, MoreTimes])
@settings(max_examples=30, deadline=None)
@given(st.lists(STEP, max_size=14))
def test_an_aggregate_that_cannot_merge_slides_all_the_same(function, steps) -> None:
    """Flink asks for merge only where windows merge."""
    trial = Trial("sliding alone", "aggregate in place", lateness=0, general=False)
    windowed = build_windowed("sliding alone", 0, False)
    trial.harness = OperatorHarness(windowed.aggregate(function(), Label()))
    assert type(trial.harness.operator) is PaneWindowOperator
    for step in steps:
        trial.do(step)
    trial.finish()


@pytest.mark.parametrize("general", [False, True])
def test_an_accumulator_may_be_a_record_that_it_changes(general) -> None:
    """The windows of a record do not change each other's."""
    harness = OperatorHarness(
        build_windowed("sliding alone", 0, general).aggregate(Lists(), Label())
    )
    for time in (1, 2, 7):
        harness.process_element(("a", [time]), time)
    harness.process_watermark(100)
    assert harness.output() == [
        ("a", -5, 5, [1, 2]),
        ("a", 0, 10, [1, 2, 7]),
        ("a", 5, 15, [7]),
    ]


@pytest.mark.parametrize(
    ("shape", "logic", "operator"),
    [
        ("tumbling", "process", PaneWindowOperator),
        ("tumbling", "aggregate", PaneWindowOperator),
        ("sliding", "process", SlidingWindowOperator),
        ("sliding", "aggregate", SlidingWindowOperator),
        ("sliding", "reduce in place", SlidingWindowOperator),
        ("sliding alone", "process", SlidingWindowOperator),
        ("sliding alone", "aggregate", PaneWindowOperator),
        ("sliding alone", "reduce in place", PaneWindowOperator),
        ("sliding with holes", "aggregate", WindowOperator),
        ("sessions", "aggregate", SessionWindowOperator),
        ("dynamic sessions", "reduce in place", SessionWindowOperator),
        ("sessions", "process", WindowOperator),
    ],
)
def test_plain_windows_have_operators_of_their_own(shape, logic, operator) -> None:
    """So that what is above has tested all of them; the general one serves the rest."""
    assert type(OperatorHarness(build(shape, logic, 0, False)).operator) is operator
    assert type(OperatorHarness(build(shape, logic, 0, True)).operator) is WindowOperator
    assert type(OperatorHarness(build(shape, logic, 1, False)).operator) is WindowOperator


class Mergeable(Total):
    mergeable = True


class ReducesAgain(ReduceFunction):
    mergeable = True

    def reduce(self, value1, value2):
        return max(value1, value2)


@pytest.mark.parametrize(
    ("function", "shares"),
    [
        (Total(), False),
        (Mergeable(), True),
        (lambda one, other: one if one > other else other, False),
        (max, True),
        (add, True),
        (Sum(1), True),
        (Extreme(1, greatest=True), True),
        (ExtremeBy(1, greatest=False), True),
        (ReducesAgain(), True),
    ],
)
def test_panes_are_shared_where_it_is_declared(function, shares) -> None:
    """What a function's code looks like does not matter; the window has the last word."""
    env = StreamExecutionEnvironment.get_execution_environment()

    def operator_of(told: bool | None):
        windowed = env.from_collection([]).key_by(0).window(SlidingEventTimeWindows.of(10, 5))
        windowed = windowed if told is None else windowed.share_panes(told)
        aggregates = isinstance(function, AggregateFunction)
        stream = windowed.aggregate(function) if aggregates else windowed.reduce(function)
        return type(OperatorHarness(stream).operator)

    kinds = {True: SlidingWindowOperator, False: PaneWindowOperator}
    assert operator_of(None) is kinds[shares]
    assert operator_of(True) is SlidingWindowOperator
    assert operator_of(False) is PaneWindowOperator


def test_a_reduce_that_counts_is_right_where_nothing_is_declared() -> None:
    """It takes ``other`` for a record, so results cannot be reduced again."""
    env = StreamExecutionEnvironment.get_execution_environment()
    windowed = env.from_collection([]).key_by(0).window(SlidingEventTimeWindows.of(10, 5))
    harness = OperatorHarness(windowed.reduce(lambda one, other: (one[0], one[1] + 1)))
    harness.process_elements([("a", 1)] * 4, [1, 2, 6, 7])
    harness.process_watermark(100)
    assert harness.output() == [("a", 2), ("a", 4), ("a", 2)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("logic", ["process", "aggregate"])
def test_a_record_that_has_the_least_timestamp_has_none(shape, logic) -> None:
    """As in Flink, where that is how a record without one looks; others are far in the past."""
    harness = OperatorHarness(build(shape, logic, 0, False))
    harness.process_elements([("a", 1, 5)], [NEVER + 100])
    with pytest.raises(JobExecutionError, match=r"\('b', 1, 5\) has no timestamp"):
        harness.process_elements([("a", 1, 5), ("b", 1, 5)], [0, NEVER])


def test_a_reduce_that_does_not_commute_sees_shared_panes_in_the_order_of_time() -> None:
    """Arrival decides within a pane, and everywhere in windows that do not share."""
    outputs = []
    for general in (False, True):
        windowed = build_windowed("sliding", 0, general)
        harness = OperatorHarness(windowed.reduce(lambda one, other: (one[0], one[1] + other[1])))
        harness.process_elements([("a", "7"), ("a", "6"), ("a", "1")], [7, 6, 1])
        harness.process_watermark(9)
        outputs.append(harness.output())
    assert outputs == [[("a", "1"), ("a", "176")], [("a", "1"), ("a", "761")]]


@pytest.mark.parametrize("logic", ["process", "aggregate"])
@settings(max_examples=30, deadline=None)
@given(st.lists(RECORD, min_size=1, max_size=12), st.integers(-20, 40), st.data())
def test_sliding_windows_fire_once_when_the_parallelism_changes(
    logic, records, watermark, data
) -> None:
    """The watermarks of a job are gone then, and come again from the beginning."""
    harness = OperatorHarness(build("sliding", logic, 0, False))
    times = [time for _, time, _ in records]
    harness.process_elements(records, times)
    harness.process_watermark(watermark)
    before = harness.output()
    snapshot = harness.snapshot()
    if not snapshot.deltas:
        return
    halves = [harness.restored(snapshot, subtask_index=n, parallelism=2) for n in (0, 1)]
    for half in halves:
        half.process_watermark(data.draw(st.integers(-30, watermark)))
    again = [half.snapshot() for half in halves]
    whole = halves[0].restored(*again) if all(s.deltas for s in again) else None
    after = []
    for one in halves if whole is None else [whole]:
        one.process_watermark(1000)
        after += one.output()
    model = Model(SHAPES["sliding"][1], False, 0)
    for record in records:
        model.add(record)
    model.advance(1000)
    assert sorted(map(_in_any_order, before + after)) == sorted(map(_in_any_order, model.take()[0]))


def _in_any_order(result):
    key, start, end, times = result
    return key, start, end, sorted(times)


class CountingModel(Model):
    """The same windows with a count trigger in place of the event-time one."""

    def __init__(self, assign, merging: bool, lateness: int, count: int, purging: bool) -> None:
        super().__init__(assign, merging, lateness)
        self.count, self.purging = count, purging
        self.counts: dict = {}

    def add(self, record) -> None:
        key, time, _ = record
        taken = False
        for window in self.assign(record):
            if self.merging:
                window = self.counted(key, window)
            place = (key, *window)
            if window[1] - 1 + self.lateness <= self.watermark:
                continue
            taken = True
            self.windows.setdefault(place, []).append(time)
            self.counts[place] = self.counts.get(place, 0) + 1
            if self.counts[place] >= self.count:
                self.fire(*place)
                self.counts[place] = 0
                if self.purging:
                    self.windows[place] = []
        if not taken and time + self.lateness <= self.watermark:
            self.late.append(record)

    def counted(self, key, window):
        before = dict(self.counts)
        joined = self.merged(key, window)
        gone = [place for place in before if place[0] == key and place not in self.windows]
        total = sum(self.counts.pop(place) for place in gone)
        place = (key, *joined)
        if total:
            self.counts[place] = self.counts.get(place, 0) + total
        return joined

    def advance(self, watermark: int) -> None:
        self.watermark = watermark
        self.windows = {
            window: times
            for window, times in self.windows.items()
            if window[2] - 1 + self.lateness > watermark
        }
        self.counts = {place: n for place, n in self.counts.items() if place in self.windows}


@pytest.mark.parametrize("shape", ["tumbling", "sliding", "sessions", "dynamic sessions"])
@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(["process", "aggregate in place"]),
    st.sampled_from([0, 10]),
    st.integers(1, 3),
    st.booleans(),
    st.lists(STEP, max_size=14),
)
def test_a_count_trigger_fires_as_the_model_says(
    shape, logic, lateness, count, purging, steps
) -> None:
    """Its count is state of the window: it is merged, taken back and restored with it."""
    trigger = CountTrigger.of(count)
    windowed = build_windowed(shape, lateness, False)
    windowed = windowed.trigger(PurgingTrigger.of(trigger) if purging else trigger)
    trial = Trial(shape, logic, lateness, general=True)
    trial.harness = OperatorHarness(LOGICS[logic](windowed))
    merging = "sessions" in shape
    trial.model = CountingModel(SHAPES[shape][1], merging, lateness, count, purging)
    trial.saved = copy.deepcopy(trial.model)
    for step in steps:
        trial.do(step)
    trial.finish()
