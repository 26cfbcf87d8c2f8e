"""A savepoint at any moment, gone on from with any parallelism, changes nothing in the end."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from millrace.cep import CEP, Pattern, PatternProcessFunction, Rule, TimedOutPartialMatchHandler
from millrace.common.config import options
from millrace.common.config.configuration import Configuration
from millrace.common.time.watermark_strategy import WatermarkStrategy
from millrace.common.types.typeinfo import Types
from millrace.connectors.number_sequence import NumberSequenceSource
from millrace.datastream import AsyncDataStream, StreamExecutionEnvironment
from millrace.datastream.functions import (
    AsyncFunction,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
)
from millrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from millrace.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from millrace.testing import run_local

NUMBERS = 180
RULES = MapStateDescriptor("rules", Types.INT(), Types.INT())
MOMENTS = 50
"""Each has numbers of subtasks and backends of its own, before and afterwards."""


def timestamp(number: int, _: int) -> int:
    return number * 100


@dataclass(frozen=True)
class Place:
    """A key that has a type."""

    number: int
    name: str = "place"


class Note(NamedTuple):
    """A value that has a type."""

    count: int
    last: Place


def place_of(number: int) -> Place:
    return Place(number % 11)


class Annotate(KeyedProcessFunction):
    """Typed keys and values: the deltas hold plain data, the program sees its classes."""

    def open(self, runtime_context: Any) -> None:
        self.note = runtime_context.get_state(ValueStateDescriptor("note", Types.of(Note)))

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        before = self.note.value() or Note(0, Place(-1))
        assert type(before) is Note
        assert type(before.last) is Place
        self.note.update(Note(before.count + 1, ctx.get_current_key()))
        yield "note", ctx.get_current_key().number, before.count + 1


class Remember(KeyedProcessFunction):
    """Value, list and map state, and timers that read them."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.LONG()))
        self.last = runtime_context.get_map_state(
            MapStateDescriptor("last", Types.LONG(), Types.STRING())
        )

    def process_element(self, value: int, ctx: Any) -> None:
        self.count.update((self.count.value() or 0) + 1)
        self.seen.add(value)
        self.last.put(value % 3, str(value))
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 1_500)

    def on_timer(self, at: int, ctx: Any) -> Iterator[Any]:
        # what has come by then depends on how the epochs fell; what has passed does not
        passed = sorted(n for n in self.seen.get() if n * 100 <= at - 1_500)
        yield "timer", ctx.get_current_key(), at, len(passed), passed[-1], len(self.last.keys())


class Judge(KeyedBroadcastProcessFunction):
    """Says at the end which rules there are, and what came."""

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> None:
        self.total.update((self.total.value() or 0) + value)
        ctx.timer_service().register_event_time_timer(10**9)

    def process_broadcast_element(self, value: int, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES).put(value, value * value)

    def on_timer(self, at: int, ctx: Any) -> Iterator[Any]:
        rules = sorted(ctx.get_broadcast_state(RULES).items())
        yield "rules", ctx.get_current_key(), self.total.value(), len(rules), rules[-1]


class Twice(AsyncFunction):
    async def async_invoke(self, value: int) -> list[Any]:
        return [("twice", value, 2 * value)]


class Climbs(PatternProcessFunction, TimedOutPartialMatchHandler):
    """Says what was taken, and what was not in time."""

    def process_match(self, match: Any, ctx: Any) -> Iterator[Any]:
        assert all(type(note) is Note for notes in match.values() for note in notes)
        taken = {name: [note.count for note in notes] for name, notes in match.items()}
        yield "climb", ctx.get_current_key().number, ctx.timestamp(), str(taken)

    def process_timed_out_match(self, match: Any, ctx: Any) -> Iterator[Any]:
        yield "over", *self.process_match(match, ctx)


def climbing(value: Note, ctx: Any) -> bool:
    before = ctx.get_events_for_pattern("steps")
    return value.count % 3 > 0 and (not before or value.count > before[-1].count)


CLIMB = (
    Pattern.begin("foot")
    .where(lambda note: note.count % 5 == 0)
    .followed_by_any("steps")
    .where(climbing)
    .one_or_more()
    .not_followed_by("fall")
    .where(lambda note: note.count % 7 == 0)
    .followed_by("top")
    .where(lambda note: note.count % 3 == 0)
    .within(6_000)
)


def pipeline(env: StreamExecutionEnvironment) -> Any:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(timestamp)
    numbers = env.from_source(NumberSequenceSource(0, NUMBERS - 1), strategy, "numbers")
    keyed = numbers.uid("numbers").key_by(lambda n: n % 7)
    rules = env.from_collection(range(12)).uid("rules").broadcast(RULES)
    notes = numbers.map(lambda n: Note(n, place_of(n)), Types.of(Note)).uid("notes")
    by_place = notes.key_by(lambda note: Place(note.count % 4), Types.of(Place))
    climb = env.from_collection([Rule("climb", 1, CLIMB)]).uid("climb")
    parts = [
        keyed.window(TumblingEventTimeWindows.of(2_000)).reduce(max).uid("tumbling"),
        keyed.window(SlidingEventTimeWindows.of(3_000, 1_000)).reduce(max).uid("sliding"),
        keyed.window(EventTimeSessionWindows.with_gap(900)).reduce(max).uid("sessions"),
        keyed.process(Remember()).uid("remember"),
        keyed.connect(rules).process(Judge()).uid("judge"),
        numbers.key_by(place_of, Types.of(Place)).process(Annotate()).uid("annotate"),
        CEP.pattern(by_place, CLIMB).process(Climbs()).uid("climbs"),
        AsyncDataStream.unordered_wait(numbers, Twice(), 10_000).uid("twice"),
        CEP.dynamic_pattern(by_place, climb).process(Climbs()).uid("ruled"),
    ]
    tagged = [part.map(lambda v, i=i: (i, v)).uid(f"tag-{i}") for i, part in enumerate(parts)]
    return tagged[0].union(*tagged[1:])


def run(
    directory: Path, parallelism: int, seed: int, *, stop_at: int | None = None,
    start_from: str | None = None, drain: bool = False, backend: str = "hashmap",
) -> tuple[list[Any], str | None, int]:  # fmt: skip
    """What a run gave, the savepoint it ended with, and how many epochs it had."""
    configuration = Configuration()
    configuration.set(options.SAVEPOINT_DIR, str(directory / "savepoints"))
    configuration.set(options.STATE_BACKEND, backend)
    if start_from is not None:
        configuration.set(options.START_FROM, start_from)
        configuration.set(options.ALLOW_PICKLE, True)  # rules that were made in Python
    with run_local(workers=2, seed=seed, epoch_records=1) as cluster:
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(parallelism)
        started: Future[Any] = Future()
        asked: list[Any] = []

        def watch(progress: Any) -> None:
            if progress.epochs == stop_at:
                asked.append(started.result(60).stop_with_savepoint(drain))

        cluster.listeners.append(watch)
        results = pipeline(env).execute_and_collect("moments")
        started.set_result(results._client)
        got = list(results)
        path = asked[0].result(60) if asked else None
        return got, path, cluster.progress[-1].epochs


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Counter[Any]:
    """What the uninterrupted job gives."""
    got, _, epochs = run(tmp_path_factory.mktemp("whole"), 2, 0)
    assert epochs > 20
    assert {value[0] for part, value in got if part == 6} == {"climb", "over"}
    of_rule, of_pattern = (Counter(v for part, v in got if part == n) for n in (8, 6))
    assert of_rule == of_pattern
    return Counter(got)


@pytest.mark.turns(10)
@pytest.mark.parametrize("moment", range(MOMENTS))
def test_nothing_changes(moment: int, tmp_path: Path, whole: Counter[Any]) -> None:
    """Windows, timers, broadcast state and requests under way, all of them dealt out anew."""
    chance = random.Random(moment)
    before, after = chance.sample([1, 2, 3, 4], 2)
    stop_at = chance.randint(1, 20)
    backends = [chance.choice(["hashmap", "rocksdb"]) for _ in range(2)]
    first, path, _ = run(tmp_path, before, moment, stop_at=stop_at, backend=backends[0])
    assert path is not None
    second, _, _ = run(tmp_path, after, moment + 1, start_from=path, backend=backends[1])
    assert Counter(first) + Counter(second) == whole
