"""Which states a checkpoint has, and their entries, whatever kind they are of."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from millrace.common import Time, Types
from millrace.common.errors import SerializationError, StateError
from millrace.common.functions import AggregateFunction
from millrace.common.window.time_window import TimeWindow
from millrace.datastream import (
    BroadcastProcessFunction,
    KeyedProcessFunction,
    ProcessWindowFunction,
    RuntimeContext,
)
from millrace.datastream.functions import CheckpointedFunction, MapFunction
from millrace.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from millrace.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from millrace.state.checkpoint.snapshot import open_snapshot
from millrace.state.kinds.state_shape import KeyedStateEntry, StateShape
from millrace.state.snapshot_reader import SnapshotReader
from millrace.testing import MiniJob

WORDS = [("a", 1), ("b", 2), ("a", 3), ("c", 4)]


class Mean(AggregateFunction[int, tuple[int, int], float]):
    def create_accumulator(self) -> tuple[int, int]:
        return (0, 0)

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return (accumulator[0] + value, accumulator[1] + 1)

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return (a[0] + b[0], a[1] + b[1])


class EveryKind(KeyedProcessFunction):
    """Keeps each record in every kind of keyed state."""

    def open(self, runtime_context: RuntimeContext) -> None:
        lasting = StateTtlConfig.new_builder(Time.hours(1)).build()
        self.states = [
            runtime_context.get_state(ValueStateDescriptor("last", Types.LONG())),
            runtime_context.get_list_state(ListStateDescriptor("all", Types.LONG())),
            runtime_context.get_map_state(
                MapStateDescriptor("by value", Types.LONG(), Types.STRING())
            ),
            runtime_context.get_reducing_state(
                ReducingStateDescriptor("sum", lambda a, b: a + b, Types.LONG())
            ),
            runtime_context.get_aggregating_state(AggregatingStateDescriptor("mean", Mean())),
        ]
        ttl_value = ValueStateDescriptor("last-ttl", Types.LONG())
        ttl_list = ListStateDescriptor("all-ttl", Types.LONG())
        ttl_map = MapStateDescriptor("by value-ttl", Types.LONG(), Types.STRING())
        for descriptor in (ttl_value, ttl_list, ttl_map):
            descriptor.enable_time_to_live(lasting)
        self.states += [
            runtime_context.get_state(ttl_value),
            runtime_context.get_list_state(ttl_list),
            runtime_context.get_map_state(ttl_map),
        ]

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        for state in self.states:
            if hasattr(state, "put"):
                state.put(value[1], value[0])
            elif hasattr(state, "add"):
                state.add(value[1])
            else:
                state.update(value[1])
        ctx.timer_service().register_event_time_timer(1_000 + value[1])
        ctx.timer_service().register_processing_time_timer(10_000)
        yield value

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield from ()


@pytest.fixture(scope="module", params=[1, 3])
def keyed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A reader of a checkpoint with all kinds of keyed state, at several parallelisms."""
    directory = tmp_path_factory.mktemp("checkpoints")
    with MiniJob(request.param, checkpoint_dir=str(directory)) as job:
        job.clock.set(500)
        words = job.source("words")
        keyed = words.stream.key_by(lambda word: word[0], key_type=Types.STRING())
        job.collect(keyed.process(EveryKind()).name("every kind").uid("my/uid"))
        for word in WORDS[:2]:
            words.push(word, timestamp=1)
        job.process()
        for word in WORDS[2:]:
            words.push(word, timestamp=1)
        job.process()
        yield reader_of(directory)


def reader_of(directory: Path) -> SnapshotReader:
    (job_dir,) = directory.iterdir()
    return SnapshotReader(open_snapshot(job_dir, trusted=True))


def content(reader: SnapshotReader, uid: str, name: str) -> dict[Any, Any]:
    entries = list(reader.entries(reader.state(uid, name)))
    assert len({entry.key for entry in entries}) == len(entries)
    return {entry.key: entry.value for entry in entries}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("last", {"a": 3, "b": 2, "c": 4}),
        ("all", {"a": [1, 3], "b": [2], "c": [4]}),
        ("by value", {"a": {1: "a", 3: "a"}, "b": {2: "b"}, "c": {4: "c"}}),
        ("sum", {"a": 4, "b": 2, "c": 4}),
        ("mean", {"a": (4, 2), "b": (2, 1), "c": (4, 1)}),
    ],
)
def test_keyed_state(keyed: SnapshotReader, name: str, expected: dict[Any, Any]) -> None:
    """One entry per key, over all subtasks."""
    assert content(keyed, "my/uid", name) == expected


def test_the_shapes(keyed: SnapshotReader) -> None:
    """Each state says what its entries are; slashes in uids and names do no harm."""
    shapes = {i.name: i.shape for i in keyed.states() if i.uid == "my/uid"}
    assert shapes == {
        "last": StateShape.VALUE,
        "all": StateShape.LIST,
        "by value": StateShape.MAP,
        "sum": StateShape.VALUE,
        "mean": StateShape.VALUE,
        "last-ttl": StateShape.VALUE,
        "all-ttl": StateShape.LIST,
        "by value-ttl": StateShape.MAP,
        "@event-timers": StateShape.EVENT_TIMERS,
        "@processing-timers": StateShape.PROCESSING_TIMERS,
    }
    last = keyed.state("every kind", "last")
    assert (last.uid, last.operator, last.internal, last.has_ttl) == (
        "my/uid", "every kind", False, False,
    )  # fmt: skip
    assert keyed.state("my/uid", "last-ttl").has_ttl
    assert keyed.state("my/uid", "@event-timers").internal


def test_state_with_a_time_to_live(keyed: SnapshotReader) -> None:
    """Values are unwrapped; when they were written is beside them."""
    found = {e.key: e for e in keyed.entries(keyed.state("my/uid", "last-ttl"))}
    assert found["a"] == KeyedStateEntry("a", 3, None, 500)
    found = {e.key: e for e in keyed.entries(keyed.state("my/uid", "all-ttl"))}
    assert found["a"] == KeyedStateEntry("a", [1, 3], None, [500, 500])
    found = {e.key: e for e in keyed.entries(keyed.state("my/uid", "by value-ttl"))}
    assert found["a"] == KeyedStateEntry("a", {1: "a", 3: "a"}, None, [500, 500])


def test_timers(keyed: SnapshotReader) -> None:
    """Each timer is an entry; what is due comes first within a subtask."""
    event = list(keyed.entries(keyed.state("my/uid", "@event-timers")))
    assert sorted((e.key, e.value, e.window) for e in event) == [
        ("a", 1_001, None), ("a", 1_003, None), ("b", 1_002, None), ("c", 1_004, None),
    ]  # fmt: skip
    processing = keyed.entries(keyed.state("my/uid", "@processing-timers"))
    assert sorted((e.key, e.value) for e in processing) == [
        ("a", 10_000), ("b", 10_000), ("c", 10_000),
    ]  # fmt: skip


def test_one_subtask(keyed: SnapshotReader) -> None:
    """The parts of the subtasks make the whole; a restored subtask is read many times."""
    info = keyed.state("my/uid", "last")
    parts: list[Any] = []
    for subtask in info.subtasks:
        state = keyed.restore(info.stage, subtask)
        parts += keyed.entries(info, subtask, state)
    assert sorted(parts) == sorted(keyed.entries(info))
    assert list(keyed.entries(info, 99)) == []


def test_unknown_names_are_told(keyed: SnapshotReader) -> None:
    """And what there is, too."""
    with pytest.raises(StateError, match="operator 'my/uid' has no state 'lost' .*by value"):
        keyed.state("my/uid", "lost")
    with pytest.raises(StateError, match="no state of an operator 'other' .*my/uid"):
        keyed.state("other", "last")


class Spread(ProcessWindowFunction):
    """Has state of its windows."""

    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        yield key

    def clear(self, context: Any) -> None:
        pass


def add(a: Any, b: Any) -> Any:
    return (a[0], a[1] + b[1])


WINDOWED = {
    "tumbling, reduced": (
        lambda keyed: keyed.window(TumblingEventTimeWindows.of(Time.seconds(10))).reduce(add),
        "@panes",
        [("a", (0, 10_000), ("a", 4)), ("b", (0, 10_000), ("b", 2))],
    ),
    "tumbling, elements": (
        lambda keyed: keyed.window(TumblingEventTimeWindows.of(Time.seconds(10))).process(Spread()),
        "@pane-elements",
        [("a", (0, 10_000), [("a", 1), ("a", 3)]), ("b", (0, 10_000), [("b", 2)])],
    ),
    "sliding": (
        lambda keyed: (
            keyed.window(SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(5)))
            .share_panes()
            .reduce(add)
        ),
        "@slices",
        [("a", (0, 5_000), ("a", 4)), ("b", (0, 5_000), ("b", 2))],
    ),
    "sliding, elements": (
        lambda keyed: keyed.window(
            SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(5))
        ).process(Spread()),
        "@slice-elements",
        [("a", (0, 5_000), [("a", 1), ("a", 3)]), ("b", (0, 5_000), [("b", 2)])],
    ),
    "sessions": (
        lambda keyed: keyed.window(EventTimeSessionWindows.with_gap(Time.seconds(3))).reduce(add),
        "@sessions",
        [("a", (1_000, 6_000), ("a", 4)), ("b", (2_000, 5_000), ("b", 2))],
    ),
    "with a trigger": (
        lambda keyed: (
            keyed.window(TumblingEventTimeWindows.of(Time.seconds(10)))
            .trigger(CountTrigger.of(9))
            .reduce(add)
        ),
        "@accumulators",
        [("a", (0, 10_000), ("a", 4)), ("b", (0, 10_000), ("b", 2))],
    ),
    "merging, with a trigger": (
        lambda keyed: (
            keyed.window(EventTimeSessionWindows.with_gap(Time.seconds(3)))
            .trigger(CountTrigger.of(9))
            .process(Spread())
        ),
        "@elements",
        [("a", (1_000, 6_000), [("a", 1), ("a", 3)]), ("b", (2_000, 5_000), [("b", 2)])],
    ),
}


@pytest.mark.parametrize("case", WINDOWED)
def test_windows(case: str, tmp_path: Path) -> None:
    """Each key and window with what it holds, however that is kept."""
    build, name, expected = WINDOWED[case]
    with MiniJob(2, checkpoint_dir=str(tmp_path)) as job:
        words = job.source("words")
        job.collect(build(words.stream.key_by(lambda word: word[0])).uid("windows"))
        for word in WORDS[:3]:
            words.push(word, timestamp=1_000 * word[1])
            job.process()
        reader = reader_of(tmp_path)
    info = reader.state("windows", name)
    assert info.shape.is_windowed
    found = sorted(reader.entries(info), key=lambda entry: str(entry.key))
    assert [(e.key, (e.window.start, e.window.end), e.value) for e in found] == expected


def test_timers_of_windows(tmp_path: Path) -> None:
    """A timer of a trigger names its window."""
    with MiniJob(checkpoint_dir=str(tmp_path)) as job:
        words = job.source("words")
        windows = words.stream.key_by(lambda word: word[0]).window(
            TumblingEventTimeWindows.of(Time.seconds(10))
        )
        job.collect(windows.trigger(CountTrigger.of(9)).reduce(add).uid("windows"))
        words.push(("a", 1), timestamp=1)
        job.process()
        reader = reader_of(tmp_path)
    timers = list(reader.entries(reader.state("windows", "@event-timers")))
    assert timers == [KeyedStateEntry("a", 9_999, TimeWindow(0, 10_000))]
    counts = list(reader.entries(reader.state("windows", "@trigger/count")))
    assert [(e.key, e.window, e.value) for e in counts] == [("a", TimeWindow(0, 10_000), 1)]


class Lists(MapFunction, CheckpointedFunction):
    """Keeps every record in two lists of its subtask."""

    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        self.dealt = store.get_list_state(ListStateDescriptor("dealt", Types.LONG()))
        self.union = store.get_union_list_state(ListStateDescriptor("union", Types.LONG()))

    def snapshot_state(self, context: Any) -> None:
        pass

    def map(self, value: int) -> int:
        self.dealt.add(value)
        self.union.add(10 * value)
        return value


RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


class Ruled(BroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        ctx.get_broadcast_state(RULES).put(*value)
        yield from ()


def test_operator_state(tmp_path: Path) -> None:
    """Elements of lists from all subtasks, broadcast state once."""
    with MiniJob(2, checkpoint_dir=str(tmp_path)) as job:
        numbers, rules = job.source("numbers"), job.source("rules")
        kept = numbers.stream.rebalance().map(Lists()).uid("lists")
        job.collect(kept.connect(rules.stream.broadcast(RULES)).process(Ruled()).uid("ruled"))
        numbers.push(1, 2, 3)
        rules.push(("r", 1), ("s", 2))
        job.process()
        reader = reader_of(tmp_path)
    dealt = reader.state("lists", "dealt")
    assert (dealt.shape, dealt.parallelism, dealt.subtasks) == (
        StateShape.OPERATOR_LIST, 2, (0, 1),
    )  # fmt: skip
    assert sorted(entry.value for entry in reader.entries(dealt)) == [1, 2, 3]
    union = reader.entries(reader.state("lists", "union"))
    assert sorted(entry.value for entry in union) == [10, 20, 30]
    assert content(reader, "ruled", "rules") == {"r": 1, "s": 2}
    (own,) = (i for i in reader.states() if i.name == "@operator" and i.stage == "ruled")
    assert (own.uid, own.shape) == ("", StateShape.OPERATOR)
    assert "@valve" in {entry.key for entry in reader.entries(own, 0)}


def test_the_values_of_others_are_not_touched_when_listing(tmp_path: Path) -> None:
    """The list is made without decoding a value: one may be of a class that is not here."""
    with MiniJob(checkpoint_dir=str(tmp_path)) as job:
        words = job.source("words")
        job.collect(words.stream.key_by(lambda word: word[0]).reduce(lambda a, b: b).uid("last"))
        words.push(("a", Unreadable()))
        job.process()
        reader = reader_of(tmp_path)
    Unreadable.readable = False
    try:
        info = reader.state("last", "@reduce")
        with pytest.raises(SerializationError, match="was read"):
            list(reader.entries(info))
    finally:
        Unreadable.readable = True


class Unreadable:
    """Tells when it is unpickled."""

    readable = True

    def __reduce__(self) -> Any:
        return _read, ()


def _read() -> Unreadable:
    if not Unreadable.readable:
        raise RuntimeError("was read")
    return Unreadable()


def test_uids_with_slashes_whatever_operators_are_known(tmp_path: Path) -> None:
    """What is before the last slash is the uid, also of an operator that the manifest lacks."""
    with MiniJob(1, checkpoint_dir=str(tmp_path)) as job:
        words = job.source("words")
        keyed = words.stream.key_by(lambda word: word[0]).process(EveryKind()).uid("a/b")
        windows = keyed.key_by(lambda word: word[0]).window(
            TumblingEventTimeWindows.of(Time.seconds(1))
        )
        counted = windows.trigger(CountTrigger.of(5)).reduce(max).uid("a/b/c")
        job.collect(counted)
        words.push(WORDS[0], timestamp=1)
        job.process()
        known = reader_of(tmp_path)
        manifest = dataclasses.replace(known.snapshot.manifest, operators={"a": "a"})
        unknown = SnapshotReader(dataclasses.replace(known.snapshot, manifest=manifest))
        for reader in (known, unknown):
            names = {(info.uid, info.name) for info in reader.states()}
            assert {("a/b", "last"), ("a/b/c", "@trigger/count")} <= names
