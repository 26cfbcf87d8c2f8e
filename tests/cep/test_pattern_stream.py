"""Patterns in whole jobs: keys, times, what is made of matches, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from millrace.cep import (
    CEP,
    IterativeCondition,
    MalformedPatternError,
    Pattern,
    PatternFlatSelectFunction,
    PatternFlatTimeoutFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    PatternStream,
    PatternTimeoutFunction,
    RichIterativeCondition,
    TimedOutPartialMatchHandler,
)
from millrace.common import Types, WatermarkStrategy
from millrace.common.errors import (
    JobDefinitionError,
    JobExecutionError,
    StateError,
    UserFunctionError,
)
from millrace.datastream import DataStream, OutputTag, StreamExecutionEnvironment
from millrace.datastream.state import ValueStateDescriptor
from millrace.testing import match, run_local

LATE: OutputTag[Any] = OutputTag("late")
ENDED: OutputTag[Any] = OutputTag("ended")
Event = tuple[str, str, int]  # key, kind, time


def kind(wanted: str) -> Callable[[Event], bool]:
    return lambda value: value[1] == wanted


def in_event_time(stream: DataStream[Event]) -> DataStream[Event]:
    strategy: WatermarkStrategy[Any] = WatermarkStrategy.for_monotonous_timestamps()
    return stream.assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(lambda value, _: value[2])
    )


def small_then_large() -> Pattern:
    pattern = Pattern.begin("small").where(kind("small"))
    return pattern.followed_by("large").where(kind("large")).within(10)


EVENTS: list[Event] = [
    ("ann", "small", 1),
    ("bob", "small", 2),
    ("ann", "large", 5),
    ("bob", "large", 12),
    ("ann", "small", 20),
    ("ann", "other", 40),
]


def found(
    events: list[Event],
    pattern: Pattern,
    made: Callable[[PatternStream[Event]], DataStream[Any]],
    *,
    tag: OutputTag[Any] = ENDED,
    keyed: bool = True,
    comparator: Any = None,
    epoch_records: int | None = None,
    parallelism: int = 2,
) -> tuple[list[Any], list[Any]]:
    """What comes out of a job, and out of its side output."""
    with run_local(epoch_records=epoch_records):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(parallelism)
        stream = in_event_time(env.from_collection(events))
        matches = CEP.pattern(stream.key_by(0) if keyed else stream, pattern, comparator)
        result = made(matches)
        side = result.get_side_output(tag).map(lambda value: ("side", value))
        both = result.map(lambda value: ("main", value)).union(side)
        out = list(both.execute_and_collect())
    main, aside = ([v for where, v in out if where == wanted] for wanted in ("main", "side"))
    return main, aside


def times(match: dict[str, list[Event]]) -> tuple[int, ...]:
    return tuple(event[2] for events in match.values() for event in events)


class Times(PatternSelectFunction[Event, Any]):
    def open(self, runtime_context: Any) -> None:
        self.opened = True

    def select(self, match: Any) -> Any:
        assert self.opened
        return times(match)


class Each(PatternFlatSelectFunction[Event, Any]):
    def flat_select(self, match: Any) -> Any:
        yield from times(match)


class Ended(PatternTimeoutFunction[Event, Any]):
    def open(self, runtime_context: Any) -> None:
        self.opened = True

    def timeout(self, match: Any, timeout_timestamp: int) -> Any:
        assert self.opened
        return times(match), timeout_timestamp


class EachEnded(PatternFlatTimeoutFunction[Event, Any]):
    def timeout(self, match: Any, timeout_timestamp: int) -> Any:
        yield "ended", times(match), timeout_timestamp


class Alerts(PatternProcessFunction[Event, Any]):
    def process_match(self, match: Any, ctx: Any) -> Any:
        yield ctx.get_current_key(), times(match), ctx.timestamp()


class Forgetful(Alerts):
    def process_timed_out_match(self, match: Any, ctx: Any) -> Any:
        yield ENDED, times(match)


class WithCollector(PatternProcessFunction[Event, Any]):
    def process_match(self, match: Any, ctx: Any, out: Any) -> Any:  # type: ignore[override]
        out.collect(times(match))


class EndsWithCollector(Alerts, TimedOutPartialMatchHandler[Event]):
    def process_timed_out_match(self, match: Any) -> Any:  # type: ignore[override]
        return times(match)


class Later(PatternProcessFunction[Event, Any]):
    async def process_match(self, match: Any, ctx: Any) -> Any:
        return [times(match)]


class Selects(PatternSelectFunction[Event, Any]):
    def select(self) -> Any:  # type: ignore[override]
        return 1

    def __repr__(self) -> str:
        return "<Selects>"


async def later(match: Any) -> Any:
    return times(match)


def each(match: Any) -> Any:
    yield from times(match)


def each_ended(match: Any, time: int) -> Any:
    yield time


class AlertsAndEnds(Alerts, TimedOutPartialMatchHandler[Event]):
    def process_timed_out_match(self, match: Any, ctx: Any) -> Any:
        yield ENDED, (ctx.get_current_key(), times(match), ctx.timestamp())


BOTH = [(1, 5)]
TIMED_OUT = [((2,), 12), ((20,), 30)]


@pytest.mark.parametrize("function", [Times(), times], ids=["object", "callable"])
def test_select(function: Any) -> None:
    assert found(EVENTS, small_then_large(), lambda m: m.select(function)) == (BOTH, [])


@pytest.mark.parametrize("function", [Each(), times], ids=["object", "callable"])
def test_flat_select(function: Any) -> None:
    assert found(EVENTS, small_then_large(), lambda m: m.flat_select(function)) == ([1, 5], [])


def test_flat_select_may_return_nothing() -> None:
    assert found(EVENTS, small_then_large(), lambda m: m.flat_select(lambda match: None))[0] == []


@pytest.mark.parametrize(
    "timeout", [Ended(), lambda match, time: (times(match), time)], ids=["object", "callable"]
)
def test_select_with_timeouts(timeout: Any) -> None:
    main, side = found(
        EVENTS,
        small_then_large(),
        lambda m: m.select(Times(), timed_out_tag=ENDED, timeout_function=timeout),
    )
    assert main == BOTH
    assert sorted(side) == TIMED_OUT


def test_flat_select_with_timeouts() -> None:
    main, side = found(
        EVENTS,
        small_then_large(),
        lambda m: m.flat_select(Each(), timed_out_tag=ENDED, timeout_function=EachEnded()),
    )
    assert main == [1, 5]
    assert sorted(side) == [("ended", *ended) for ended in TIMED_OUT]


def test_flat_timeouts_may_be_nothing() -> None:
    main, side = found(
        EVENTS,
        small_then_large(),
        lambda m: m.flat_select(
            times, timed_out_tag=ENDED, timeout_function=lambda match, time: None
        ),
    )
    assert (main, side) == ([1, 5], [])


def test_process_knows_key_and_time() -> None:
    main, side = found(EVENTS, small_then_large(), lambda m: m.process(Alerts()))
    assert (main, side) == ([("ann", (1, 5), 5)], [])


def test_process_takes_timed_out_matches_too() -> None:
    main, side = found(EVENTS, small_then_large(), lambda m: m.process(AlertsAndEnds()))
    assert main == [("ann", (1, 5), 5)]
    assert sorted(side) == [("ann", (20,), 30), ("bob", (2,), 12)]


def test_without_keys_all_events_are_one_sequence() -> None:
    main, _ = found(EVENTS, small_then_large(), lambda m: m.process(Alerts()), keyed=False)
    assert main == [(None, (1, 5), 5), (None, (2, 5), 5)]


def test_without_keys_there_is_one_subtask() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(4)
    stream = CEP.pattern(env.from_collection(EVENTS), small_then_large()).select(times)
    assert stream._transformation.parallelism == 1


def test_events_of_one_time_are_in_the_comparator_s_order() -> None:
    events: list[Event] = [("ann", "large", 1), ("ann", "small", 1)]
    backwards = lambda one, other: (one[1] < other[1]) - (one[1] > other[1])  # noqa: E731

    class Backwards:
        def compare(self, one: Event, other: Event) -> int:
            return backwards(one, other)

    def search(comparator: Any) -> list[Any]:
        main, _ = found(
            events, small_then_large(), lambda m: m.select(times), comparator=comparator
        )
        return main

    assert search(None) == []
    assert search(backwards) == [(1, 1)]
    assert search(Backwards()) == [(1, 1)]


@pytest.mark.parametrize("sources", [("large", "small"), ("small", "large")])
def test_in_processing_time_the_comparator_orders_unioned_sources(sources: Any) -> None:
    """Which of them comes first does not matter: an epoch is one instant."""
    backwards = lambda one, other: (one[1] < other[1]) - (one[1] > other[1])  # noqa: E731
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        first, second = (env.from_collection([("ann", name, 1)]) for name in sources)
        matches = CEP.pattern(first.union(second).key_by(0), small_then_large(), backwards)
        out = list(matches.in_processing_time().select(times).execute_and_collect())
    assert out == [(1, 1)]


def test_a_job_fails_when_a_key_has_too_many_partial_matches() -> None:
    many: list[Event] = [("ann", "small", time) for time in range(5)]
    with pytest.raises(JobExecutionError, match="'Pattern': the key 'ann' has 4 partial matches"):
        found(many, small_then_large(), lambda m: m.limit_partial_matches(3).select(times))


def test_late_events_go_to_their_side_output() -> None:
    events: list[Event] = [("ann", "small", 10), ("ann", "small", 3), ("ann", "large", 12)]
    main, side = found(
        events,
        small_then_large(),
        lambda m: m.side_output_late_data(LATE).select(times),
        tag=LATE,
        epoch_records=1,
        parallelism=1,  # else each subtask has seen but a part of the times
    )
    assert main == [(10, 12)]
    assert side == [("ann", "small", 3)]


def test_processing_time_takes_events_as_they_come() -> None:
    events: list[Event] = [("ann", "small", 9), ("ann", "large", 1)]
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        matches = CEP.pattern(env.from_collection(events).key_by(0), small_then_large())
        result = matches.in_event_time().in_processing_time().select(times)
        assert list(result.execute_and_collect()) == [(9, 1)]


def test_how_it_is_looked_for_is_not_changed_behind_one_s_back() -> None:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        matches = CEP.pattern(env.from_collection(EVENTS).key_by(0), small_then_large())
        matches.in_processing_time()
        with pytest.raises(JobExecutionError, match="in event time but its records carry no"):
            list(matches.select(times).execute_and_collect())


def test_a_condition_may_look_back() -> None:
    class Rising(IterativeCondition[Event]):
        def filter(self, value: Event, ctx: Any) -> bool:
            return all(event[2] + 1 == value[2] for event in ctx.get_events_for_pattern("up")[-1:])

    events: list[Event] = [("ann", "x", time) for time in (1, 2, 3, 7, 8)]
    pattern = Pattern.begin("up").where(Rising()).times(3).consecutive()
    assert found(events, pattern, lambda m: m.select(times))[0] == [(1, 2, 3)]


class After(RichIterativeCondition[Event]):
    """Only events later than a limit that is known once the condition was opened."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.opened = 0

    def open(self, runtime_context: Any) -> None:
        self.opened += 1

    def filter(self, value: Event, ctx: Any) -> bool:
        assert self.opened == 1
        return bool(ctx.timestamp() > self.limit)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (Pattern.begin("a").where(After(3)), [(5,), (12,)]),
        (Pattern.begin("a").where(kind("none")).or_(After(3)).times(2), [(5, 12)]),
        (Pattern.begin("a").one_or_more().until(After(3)), [(1,), (1, 2), (2,)]),
        (Pattern.begin("a").not_next("b").where(After(3)), [(1,)]),
        (
            Pattern.begin(Pattern.begin("a").next("b")).one_or_more().until(After(5)),
            [(1, 2), (2, 5)],
        ),
    ],
    ids=["where", "or", "until", "not", "until of a group"],
)
def test_rich_conditions_are_opened_once_wherever_they_are(
    pattern: Pattern, expected: list[tuple[int, ...]]
) -> None:
    found_times, _ = found(EVENTS[:4], pattern, lambda m: m.select(times), keyed=False)
    assert sorted(found_times) == expected
    assert sorted(times(m) for m in match(pattern, EVENTS[:4], timestamps=event_time).matches) == (
        expected
    )


def event_time(value: Event) -> int:
    return value[2]


def test_a_pattern_is_used_as_it_was_when_it_was_given() -> None:
    pattern = Pattern.begin("small").where(kind("small"))

    def made(matches: PatternStream[Event]) -> DataStream[Any]:
        pattern.where(lambda value: False)
        return matches.select(times)

    assert sorted(found(EVENTS, pattern, made)[0]) == [(1,), (2,), (20,)]


def test_a_condition_that_raises_names_its_pattern_and_the_event() -> None:
    pattern = Pattern.begin("a").next("b").where(lambda value: value[7])
    with pytest.raises(UserFunctionError) as caught:
        found(EVENTS, pattern, lambda m: m.select(times))
    message = str(caught.value)
    assert "'b'" in message
    assert "('ann', 'large', 5)" in message


class Counts(PatternProcessFunction[Event, Any]):
    def process_match(self, match: Any, ctx: Any) -> Any:
        return len(match)


class Outputs(PatternProcessFunction[Event, Any]):
    def process_match(self, match: Any, ctx: Any) -> Any:
        ctx.output(ENDED, times(match))


class Remembers(Alerts):
    def open(self, runtime_context: Any) -> None:
        runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))


class RemembersToo(RichIterativeCondition[Event]):
    def open(self, runtime_context: Any) -> None:
        runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def filter(self, value: Event, ctx: Any) -> bool:
        return True


def count(match: Any) -> Any:
    return len(match)


def time_of(match: Any, time: int) -> Any:
    return time


HAS_NO_STATE = "functions and conditions of patterns have no state of their own"


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda m: m.process(Counts()), "Counts.process_match returned 2, which is one record"),
        (lambda m: m.flat_select(count), " count returned 2, which is one record"),
        (
            lambda m: m.flat_select(each, timed_out_tag=ENDED, timeout_function=time_of),
            " time_of returned [0-9]+, which is one record",
        ),
        (
            lambda m: m.process(Outputs()),
            "does not emit records to a side output here: use yield out",
        ),
        (lambda m: m.process(Remembers()), HAS_NO_STATE),
    ],
)
def test_what_only_the_running_job_finds_out(made: Any, message: str) -> None:
    with pytest.raises((UserFunctionError, JobExecutionError), match=message):
        found(EVENTS, small_then_large(), made)


def test_conditions_have_no_state_of_their_own() -> None:
    pattern = Pattern.begin("a").where(RemembersToo())
    with pytest.raises((UserFunctionError, JobExecutionError), match=HAS_NO_STATE):
        found(EVENTS, pattern, lambda m: m.select(times))
    with pytest.raises(StateError, match=HAS_NO_STATE):
        match(pattern, EVENTS)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda s: CEP.pattern([1, 2], Pattern.begin("a")), "CEP.pattern() takes a stream, got [1"),
        (lambda s: CEP.pattern(s, "a"), "CEP.pattern() takes a Pattern such as"),
        (
            lambda s: CEP.pattern(s, Pattern.begin("a"), 5),
            "the comparator must be a callable of two ev",
        ),
        (
            lambda s: CEP.pattern(s, Pattern.begin("a"), lambda one: 0),
            "the comparator must be a callable",
        ),
        (
            lambda s: CEP.pattern(s, Pattern.begin("a"), int),
            "the comparator must be a callable of two ev",
        ),
        (
            lambda s: CEP.pattern(s, Pattern.begin("a")).limit_partial_matches(0),
            "at least 1, got 0",
        ),
        (lambda s: CEP.pattern(s, Pattern.begin("a")).limit_partial_matches(True), "got True"),
        (
            lambda s: CEP.pattern(s, Pattern.begin("a")).limit_partial_matches(9, "drop"),
            "takes PartialMatchOverflow.FAIL or PartialMatchOverflow.DROP, got 'drop'",
        ),
        (lambda s: CEP.pattern(s, Pattern.begin("a")).select(5), "select() takes a PatternSelectF"),
        (lambda s: CEP.pattern(s, Pattern.begin("a")).select(Each()), "got Each, which is neither"),
        (lambda s: CEP.pattern(s, Pattern.begin("a")).select(Times), "pass an instance: Times()"),
        (lambda s: CEP.pattern(s, Pattern.begin("a")).flat_select(Times()), "got Times, which is"),
        (
            lambda s: CEP.pattern(s, Pattern.begin("a")).process(times),
            "process() takes a PatternPr",
        ),
        (
            lambda s: CEP.pattern(s, Pattern.begin("a")).select(lambda match, time: 1),
            "with the match, but it takes other arguments",
        ),
        (
            lambda s: CEP.pattern(s, Pattern.begin("a")).flat_select(
                times, timed_out_tag=ENDED, timeout_function=times
            ),
            "with the partial match and the time at which it timed out, but it takes",
        ),
        (
            lambda s: CEP.pattern(s, Pattern.begin("a")).select(times, timed_out_tag=ENDED),
            "select() takes timed_out_tag and timeout_function together or neither",
        ),
        (
            lambda s: CEP.pattern(s, Pattern.begin("a")).flat_select(times, timeout_function=times),
            "flat_select() takes timed_out_tag and timeout_function together or neither",
        ),
        (
            lambda s: CEP.pattern(s, Pattern.begin("a")).select(
                times, timed_out_tag="ended", timeout_function=times
            ),
            "select() takes an OutputTag, got 'ended'",
        ),
        (
            lambda s: CEP.pattern(s, Pattern.begin("a")).select(
                times, timed_out_tag=ENDED, timeout_function=EachEnded()
            ),
            "got EachEnded, which is neither",
        ),
        (
            lambda s: CEP.pattern(s, Pattern.begin("a")).select(ENDED, times, times),
            "select() takes the function for matches first; name the arguments for timed-out",
        ),
        (
            lambda s: CEP.pattern(s, Pattern.begin("a")).flat_select(ENDED, times, times),
            "flat_select(function, timed_out_tag=tag, timeout_function=function)",
        ),
        (
            lambda s: CEP.pattern(s, Pattern.begin("a")).process(Forgetful()),
            "class Forgetful(PatternProcessFunction, TimedOutPartialMatchHandler)",
        ),
        (
            lambda s: CEP.pattern(s, Pattern.begin("a")).process(WithCollector()),
            "define it as `def process_match(self, match, ctx)` and yield its records, because",
        ),
        (
            lambda s: CEP.pattern(s, Pattern.begin("a")).process(EndsWithCollector()),
            "define it as `def process_timed_out_match(self, match, ctx)`",
        ),
        (
            lambda s: CEP.pattern(s, Pattern.begin("a")).process(Later()),
            "process() takes a function that returns its records, but",
        ),
        (
            lambda s: CEP.pattern(s, Pattern.begin("a")).select(each),
            "yields; flat_select() takes functions that yield any number",
        ),
        (lambda s: CEP.pattern(s, Pattern.begin("a")).select(later), "is async, and its result"),
        (
            lambda s: CEP.pattern(s, Pattern.begin("a")).flat_select(later),
            "is async, and its result",
        ),
        (
            lambda s: CEP.pattern(s, Pattern.begin("a")).select(Selects()),
            "calls <Selects> with the match, but it takes other arguments",
        ),
        (
            lambda s: CEP.pattern(s, Pattern.begin("a")).select(
                times, timed_out_tag=ENDED, timeout_function=each_ended
            ),
            "yields; flat_select() takes",
        ),
        (
            lambda s: CEP.pattern(s, Pattern.begin("a")).side_output_late_data("late"),
            "side_output_late_data() takes an OutputTag, got 'late'",
        ),
    ],
)
def test_refused(build: Callable[[Any], Any], message: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    with pytest.raises(JobDefinitionError) as caught:
        build(env.from_collection(EVENTS))
    assert message in str(caught.value)


def test_a_pattern_that_contradicts_itself_is_refused_when_it_is_given() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    pattern = Pattern.begin("a").not_followed_by("b")
    with pytest.raises(MalformedPatternError, match="the pattern ends with not_followed_by"):
        CEP.pattern(env.from_collection(EVENTS), pattern)
