"""Declared types of state and keys in whole jobs: savepoints of one program read by the next."""

from __future__ import annotations

import enum
import uuid
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from millrace.common.config import options
from millrace.common.config.configuration import Configuration
from millrace.common.errors import JobDefinitionError, JobExecutionError
from millrace.common.functions import KeyedProcessFunction
from millrace.common.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from millrace.common.time import Time
from millrace.common.time.watermark_strategy import WatermarkStrategy
from millrace.common.types import Row
from millrace.common.types.typeinfo import Types
from millrace.connectors.number_sequence import NumberSequenceSource
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.functions import ProcessJoinFunction, ProcessWindowFunction
from millrace.datastream.window import (
    CountEvictor,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from millrace.state.checkpoint.snapshot import open_snapshot
from millrace.state.serialization.schema import ANY
from millrace.state.snapshot_reader import SnapshotReader
from millrace.testing import run_local

KEY = Types.of(uuid.UUID).schema()


class Color(enum.Enum):
    RED = 1
    GREEN = 2


@dataclass
class First:
    count: int
    color: Color


@dataclass
class Second:
    color: Color
    count: float
    total: Decimal = Decimal("0.5")
    seen: list[int] = field(default_factory=list)


@dataclass
class Impossible:
    count: str
    color: Color


class Count(KeyedProcessFunction):
    """Counts in state of a class, and keeps what it saw in a list and a map."""

    def __init__(self, cls: Any, typed: bool = True) -> None:
        self._cls = cls
        self._typed = typed

    def open(self, runtime_context: Any) -> None:
        of = Types.of(self._cls) if self._typed else None
        self._value = runtime_context.get_state(ValueStateDescriptor("value", of))
        self._list = runtime_context.get_list_state(ListStateDescriptor("list", of))
        self._map = runtime_context.get_map_state(MapStateDescriptor("map", Types.LONG(), of))

    def process_element(self, value: int, ctx: Any) -> Any:
        now = self._value.value() or self._cls(count=0, color=Color.RED)
        now.count += 1
        self._value.update(now)
        self._list.add(now)
        self._map.put(value, now)
        yield value, now.count, len(list(self._list.get())), type(now).__name__


def keys(value: int) -> uuid.UUID:
    return uuid.UUID(int=value % 3)


def program(function: Count, key_type: Any = None) -> Callable[[StreamExecutionEnvironment], Any]:
    def build(env: StreamExecutionEnvironment) -> Any:
        numbers = env.from_collection(range(30)).uid("numbers")
        return numbers.key_by(keys, key_type).process(function).uid("count").name("Counter")

    return build


UUIDS = Types.of(uuid.UUID)


def run(
    directory: Path, build: Any, savepoint: str | None = None, parallelism: int = 2, **settings: Any
) -> tuple[list[Any], str]:
    """What a job gives from ``savepoint`` on, and the savepoint made after three of its epochs."""
    configuration = Configuration()
    configuration.set(options.SAVEPOINT_DIR, str(directory))
    for key, value in settings.items():
        configuration.set(getattr(options, key), value)
    if savepoint is not None:
        configuration.set(options.START_FROM, savepoint)
    made: list[Any] = []
    with run_local(workers=2, seed=1, epoch_records=2) as cluster:
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(parallelism).enable_checkpointing(0)
        started: Future[Any] = Future()

        def save(progress: Any) -> None:
            if progress.epochs == 3:
                made.append(started.result(60).trigger_savepoint())

        cluster.listeners.append(save)
        results = build(env).execute_and_collect("job")
        started.set_result(results._client)
        found = list(results)
    return found, made[0].result(0)


@pytest.mark.turns(7)
@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
@pytest.mark.parametrize("parallelism", [2, 3])
@pytest.mark.parametrize("key_type", [None, UUIDS], ids=["untyped keys", "typed keys"])
def test_a_class_evolves(tmp_path: Path, backend: str, parallelism: int, key_type: Any) -> None:
    """Counts go on, at any parallelism, wherever the tables are."""
    if backend == "rocksdb":
        pytest.importorskip("rocksdict")
    whole, savepoint = run(tmp_path, program(Count(First), key_type), STATE_BACKEND=backend)
    rest, _ = run(
        tmp_path,
        program(Count(Second), key_type),
        savepoint,
        parallelism=parallelism,
        STATE_BACKEND=backend,
    )
    assert 0 < len(rest) < 30
    expected = [(value, count, many, "Second") for value, count, many, _ in whole]
    assert set(rest) <= set(expected)
    assert {row[0] for row in rest} | {row[0] for row in whole} == set(range(30))


@pytest.mark.turns(7)
def test_an_impossible_change_is_refused(tmp_path: Path) -> None:
    """With operator, state and field, and no traceback."""
    _, savepoint = run(tmp_path, program(Count(First)))
    with pytest.raises(JobExecutionError) as caught:
        run(tmp_path, program(Count(Impossible)), savepoint)
    message = str(caught.value)
    assert (
        "state 'value' of operator 'Counter' cannot be restored: field 'count' was LONG and is "
        "STRING now"
    ) in message
    assert "Traceback" not in message


@pytest.mark.turns(7)
def test_what_has_types_is_read_without_leave(tmp_path: Path) -> None:
    """Nothing in such a savepoint is pickled."""
    whole, savepoint = run(tmp_path, program(Count(First), UUIDS))
    rest, _ = run(tmp_path, program(Count(Second), UUIDS), savepoint)
    assert {row[:3] for row in rest} <= {row[:3] for row in whole}
    states = open_snapshot(savepoint).manifest.states
    assert not any(file.pickled for state in states for file in state.files)


@pytest.mark.turns(7)
def test_pickles_of_others_are_not_read(tmp_path: Path) -> None:
    """Unless that is allowed."""
    first, savepoint = run(tmp_path, program(Count(First, typed=False), UUIDS))
    with pytest.raises(JobExecutionError, match="part-0000..parquet: it contains a pickle"):
        run(tmp_path, program(Count(First, typed=False), UUIDS), savepoint)
    rest, _ = run(tmp_path, program(Count(First, typed=False), UUIDS), savepoint, ALLOW_PICKLE=True)
    assert 0 < len(rest) < len(first)


@pytest.mark.turns(7)
def test_typed_state_is_read_without_the_program(tmp_path: Path) -> None:
    """Rows and the names of enums; keys are what they were."""
    _, savepoint = run(tmp_path, program(Count(First), UUIDS))
    reader = SnapshotReader(open_snapshot(savepoint))
    info = reader.state("count", "value")
    entries = list(reader.entries(info))
    assert info.schema == (1, KEY, ANY, Types.of(First).schema())
    assert {entry.key for entry in entries} == {uuid.UUID(int=number) for number in range(3)}
    assert all(isinstance(entry.value, Row) and entry.value.color == "RED" for entry in entries)


@dataclass(frozen=True)
class Place:
    country: str
    number: int


@dataclass(unsafe_hash=True)
class Hashed:
    name: str


class Point(NamedTuple):
    x: int
    color: Color


class Seen(KeyedProcessFunction):
    """How often each key has come."""

    def open(self, runtime_context: Any) -> None:
        self._seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.INT()))

    def process_element(self, value: int, ctx: Any) -> Any:
        self._seen.update((self._seen.value() or 0) + 1)
        yield ctx.get_current_key(), self._seen.value()


@pytest.mark.turns(7)
@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
@pytest.mark.parametrize(
    ("key_of", "key_type", "stored"),
    [
        (lambda n: Place("at", n % 3), Types.of(Place), Row(country="at", number=0)),
        (lambda n: Hashed(str(n % 3)), Types.of(Hashed), Row(name="0")),
        (lambda n: Point(n % 3, Color.RED), Types.of(Point), Row(x=0, color="RED")),
        (
            lambda n: (Place("at", n % 3), Color.RED),
            Types.TUPLE([Types.of(Place), Types.of(Color)]),
            (Row(country="at", number=0), "RED"),
        ),
        (
            lambda n: Row(a=n % 3, b=Color.RED),
            Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.of(Color)]),
            Row(a=0, b="RED"),
        ),
    ],
    ids=["frozen", "hashed", "named tuple", "tuple", "row"],
)
def test_keys_of_classes(
    tmp_path: Path, backend: str, key_of: Any, key_type: Any, stored: Any
) -> None:
    """Each key finds its state again, at another parallelism too; savepoints have it in the open
    form, which is read without the class."""

    def build(env: StreamExecutionEnvironment) -> Any:
        numbers = env.from_collection(range(30)).uid("numbers")
        return numbers.key_by(key_of, key_type).process(Seen()).uid("seen")

    whole, savepoint = run(tmp_path, build, STATE_BACKEND=backend)
    assert sorted(whole, key=str) == sorted(((key_of(n), n // 3 + 1) for n in range(30)), key=str)
    rest, _ = run(tmp_path / "again", build, savepoint, parallelism=3, STATE_BACKEND=backend)
    assert max(count for _, count in rest) == 10
    assert all(type(key) is type(key_of(0)) for key, _ in rest)
    reader = SnapshotReader(open_snapshot(savepoint))
    info = reader.state("seen", "seen")
    assert info.schema == (1, key_type.schema(), ANY, Types.INT().schema())
    assert stored in [entry.key for entry in reader.entries(info)]


@pytest.mark.turns(7)
def test_a_class_whose_instances_change_is_no_key() -> None:
    """It is refused while the program is built if the type is declared, else at its first key."""
    env = StreamExecutionEnvironment.get_execution_environment()
    with pytest.raises(JobDefinitionError, match=r"First cannot be hashed: make it a @dataclass"):
        env.from_collection([1]).key_by(lambda n: First(n, Color.RED), Types.of(First))
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        keyed = env.from_collection([1]).key_by(lambda n: First(n, Color.RED))
        with pytest.raises(
            JobExecutionError, match=r"make its class a\s*@dataclass\(frozen=True\)"
        ):
            list(keyed.process(Seen()).execute_and_collect())


@pytest.mark.turns(7)
def test_a_key_type_must_be_a_type() -> None:
    """``int`` is none."""
    env = StreamExecutionEnvironment.get_execution_environment()
    with pytest.raises(JobDefinitionError, match=r"key_by\(\) takes a key_type such as"):
        env.from_collection([1]).key_by(abs, int)  # type: ignore[arg-type]


def of_every_kind(env: StreamExecutionEnvironment) -> Any:
    """Every operator that keeps something of its own for each key."""
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda n, _: n * 100
    )
    numbers = env.from_source(NumberSequenceSource(0, 119), strategy, "numbers").uid("numbers")
    keyed = numbers.key_by(keys, UUIDS)
    others = numbers.map(lambda n: n).uid("others").key_by(keys, UUIDS)
    parts = [
        keyed.window(TumblingEventTimeWindows.of(2_000)).reduce(max).uid("tumbling"),
        keyed.window(SlidingEventTimeWindows.of(3_000, 1_000)).reduce(max).uid("sliding"),
        keyed.window(EventTimeSessionWindows.with_gap(450)).reduce(max).uid("sessions"),
        keyed.window(EventTimeSessionWindows.with_gap(450)).process(Elements()).uid("merging"),
        keyed.window(TumblingEventTimeWindows.of(3_000)).process(Elements()).uid("elements"),
        keyed.reduce(max).filter(lambda n: n > 116).uid("highest"),
        keyed.interval_join(others)
        .between(Time.milliseconds(-500), Time.milliseconds(500))
        .process(Joined())
        .uid("join"),
        keyed.process(Timed()).uid("timed"),
    ]
    tagged = [part.map(lambda v, i=i: (i, v)).uid(f"tag-{i}") for i, part in enumerate(parts)]
    return tagged[0].union(*tagged[1:])


class Elements(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield key, context.window().start, sorted(elements)


class Joined(ProcessJoinFunction):
    def process_element(self, left: int, right: int, ctx: Any) -> Any:
        yield left, right


class Timed(KeyedProcessFunction):
    def process_element(self, value: int, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(10_000 + value)

    def on_timer(self, at: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), at


@pytest.mark.turns(7)
@pytest.mark.parametrize("parallelism", [2, 3])
def test_typed_keys_of_every_operator_are_redistributed(tmp_path: Path, parallelism: int) -> None:
    """Without a pickle, to the same results."""
    whole, savepoint = run(tmp_path, of_every_kind)
    rest, _ = run(tmp_path, of_every_kind, savepoint, parallelism=parallelism)
    assert 20 < len(rest) < len(whole)
    once = [Counter(repr(row) for row in rows if row[0] != 5) for rows in (rest, whole)]
    assert not once[0] - once[1]
    # how often a rolling maximum is told depends on the order
    assert set(map(repr, rest)) <= set(map(repr, whole))
    assert {part for part, _ in rest} == set(range(8))
    reader = SnapshotReader(open_snapshot(savepoint))
    infos = [info for info in reader.states() if info.schema is not None]
    assert {info.schema[1] for info in infos} == {KEY}
    assert len(infos) >= 10


@dataclass
class Event:
    number: int
    price: Decimal


def of_typed_records(env: StreamExecutionEnvironment) -> Any:
    """Every operator that keeps records, or what they are reduced to."""
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda n, _: n * 100
    )
    numbers = env.from_source(NumberSequenceSource(0, 119), strategy, "numbers").uid("numbers")
    events = numbers.map(lambda n: Event(n, Decimal(n)), Types.of(Event)).uid("events")
    others = numbers.map(lambda n: Event(n, Decimal(n)), Types.of(Event)).uid("others")
    keyed, other = events.key_by(lambda e: e.number % 3), others.key_by(lambda e: e.number % 3)
    tumbling, sessions = TumblingEventTimeWindows.of(3_000), EventTimeSessionWindows.with_gap(450)
    parts = [
        keyed.window(tumbling).reduce(higher).uid("panes"),
        keyed.window(tumbling).process(Events()).uid("pane-elements"),
        keyed.window(SlidingEventTimeWindows.of(3_000, 1_000))
        .share_panes()
        .reduce(higher)
        .uid("slices"),
        keyed.window(sessions).process(Events()).uid("merging"),
        keyed.window(tumbling).evictor(CountEvictor.of(2)).process(Events()).uid("evicting"),
        keyed.window(tumbling).allowed_lateness(500).reduce(higher).uid("lateness"),
        keyed.reduce(higher).filter(lambda e: e.number > 116).uid("highest"),
        keyed.interval_join(other)
        .between(Time.milliseconds(-500), Time.milliseconds(500))
        .process(Joined())
        .uid("join"),
    ]
    tagged = [part.map(lambda v, i=i: (i, v)).uid(f"tag-{i}") for i, part in enumerate(parts)]
    return tagged[0].union(*tagged[1:])


def higher(left: Event, right: Event) -> Event:
    return left if left.number > right.number else right


class Events(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield key, context.window().start, len(list(elements))


@pytest.mark.turns(7)
def test_records_of_a_declared_type_need_no_pickle_either(tmp_path: Path) -> None:
    """In windows, joins and aggregates."""
    whole, savepoint = run(tmp_path, of_typed_records)
    rest, _ = run(tmp_path, of_typed_records, savepoint, parallelism=3)
    assert 20 < len(rest) < len(whole)
    assert set(map(repr, rest)) <= set(map(repr, whole))
    reader = SnapshotReader(open_snapshot(savepoint))
    kinds = {info.name for info in reader.states() if info.schema is not None}
    assert {"@panes", "@pane-elements", "@slices", "@elements", "@timed-elements"} <= kinds
    assert {"@accumulators", "@reduce", "@left", "@right"} <= kinds
