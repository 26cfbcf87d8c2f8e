"""The matcher, and the operator around it, find what the brute-force reference finds."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from operator import itemgetter
from typing import Any

from drawn import job_examples
from hypothesis import given, settings
from hypothesis import strategies as st
from random_patterns import described, patterns, streams
from reference_matcher import Outcome, Reference

from millrace.common.functions.output_tag import OutputTag
from millrace.common.functions.pattern_functions import (
    PatternProcessFunction,
    TimedOutPartialMatchHandler,
)
from millrace.runtime.cep.automaton import Automaton
from millrace.runtime.cep.matcher import Matcher
from millrace.runtime.cep.partial_match import BufferedEvent, FoundMatch, Matches
from millrace.runtime.cep.pattern_model import EventPattern
from millrace.runtime.operators.cep import CepOperator
from millrace.state.key_groups import key_group_of, key_group_range
from millrace.testing import OperatorHarness

START = -100
END = 1000
KEYS = "kl"
MAX_PARALLELISM = 8
LATE: OutputTag[Any] = OutputTag("late")
OVER: OutputTag[Any] = OutputTag("over")
Stream = list[tuple[str, int]]
Found = tuple[tuple[tuple[str, str], ...], int]
"""Names and events, and a time."""


# -- the matcher alone --------------------------------------------------------------------------


def of_matcher(pattern: EventPattern, stream: Stream) -> tuple[list[Found], list[Found]]:
    """Matches and timed-out partial matches."""
    matcher, matches = Matcher(Automaton(pattern)), Matches()
    found: list[Found] = []
    timed_out: list[Found] = []

    def advance(time: int) -> None:
        ended = matcher.advance_time(matches, time)
        found.extend(map(plain, ended[0]))
        timed_out.extend(map(plain, ended[1]))

    for number, (value, time) in enumerate(stream):
        advance(time)
        found += map(plain, matcher.process(matches, BufferedEvent((time, number), value)))
    advance(END)
    return found, timed_out


def plain(match: FoundMatch) -> Found:
    return tuple((entry.name, entry.event.value) for entry in match.entries()), match.time


def of_reference(pattern: EventPattern, stream: Stream) -> tuple[list[Found], list[Found]]:
    reference = Reference(pattern, stream, END)

    def written(outcome: Outcome) -> Found:
        return tuple((name, stream[i][0]) for name, i in outcome.takes), outcome.time

    return [*map(written, reference.matches())], [*map(written, reference.timed_out())]


@settings(max_examples=job_examples(200), deadline=None)
@given(patterns(), streams(6))
def test_the_matcher_agrees(pattern: EventPattern, stream: Stream) -> None:
    """Matches in their order; timed-out partial matches in the order of time."""
    found, timed_out = of_matcher(pattern, stream)
    wanted, wanted_timed_out = of_reference(pattern, stream)
    assert found == wanted, described(pattern)
    assert sorted(timed_out) == sorted(wanted_timed_out), described(pattern)
    assert [time for _, time in timed_out] == [time for _, time in wanted_timed_out]


# -- the operator: disorder, keys, restarts --------------------------------------------------------


class Tell(PatternProcessFunction[Any, Any], TimedOutPartialMatchHandler[Any]):
    """Key, events by name, time."""

    def process_match(self, match: Any, ctx: Any) -> Any:
        events = tuple((name, value) for name, values in match.items() for value in values)
        yield ctx.get_current_key(), events, ctx.timestamp()

    def process_timed_out_match(self, match: Any, ctx: Any) -> Any:
        for result in self.process_match(match, ctx):
            yield OVER, result


def harness(pattern: EventPattern) -> OperatorHarness:
    def build(stream: Any) -> Any:
        keyed = stream.key_by(itemgetter(-1))
        function = Tell()
        factory = partial(CepOperator, pattern, function, keyed._key_batch, late_tag=LATE)
        return keyed._then("CEP", factory, function)

    return OperatorHarness(build, max_parallelism=MAX_PARALLELISM)


class Job:
    """The subtasks of the operator, with what they gave out in epochs that are over."""

    def __init__(self, pattern: EventPattern) -> None:
        self.subtasks = [harness(pattern)]
        self.out: dict[str, list[Any]] = {"found": [], "over": [], "late": []}
        self.since: list[tuple[Any, ...]] = [(START,)]
        """What went in since the last checkpoint, the watermark first."""
        self.watermark = START

    def feed(self, value: str, time: int) -> None:
        self._do(value, time)

    def advance(self, watermark: int) -> None:
        self._do(watermark)

    def _do(self, *action: Any) -> None:
        self.since.append(action)
        self._apply(action)

    def _apply(self, action: tuple[Any, ...]) -> None:
        if len(action) == 1:
            self.watermark = action[0]
            for subtask in self.subtasks:
                subtask.process_watermark(action[0])
            return
        value, time = action
        self._owner(value[-1]).process_element(value, time)

    def _owner(self, key: str) -> OperatorHarness:
        group, count = key_group_of(key, MAX_PARALLELISM), len(self.subtasks)
        owners = [i for i in range(count) if group in key_group_range(i, count, MAX_PARALLELISM)]
        return self.subtasks[owners[0]]

    def restart(self, parallelism: int) -> None:
        """A checkpoint, and new subtasks from it."""
        snapshots = [subtask.snapshot() for subtask in self.subtasks]
        self._collect()
        first = self.subtasks[0]
        restored = [
            first.restored(
                *(snapshots if parallelism != len(snapshots) else [snapshots[i]]),
                subtask_index=i,
                parallelism=parallelism,
            )
            for i in range(parallelism)
        ]
        self.subtasks = restored
        self.advance(self.watermark)

    def fail(self) -> None:
        """Take back what came since the last checkpoint, and do it again."""
        for subtask in self.subtasks:
            subtask.abort()
        for action in self.since:
            self._apply(action)

    def _collect(self) -> None:
        for subtask in self.subtasks:
            self.out["found"] += subtask.output()
            self.out["over"] += subtask.side_output(OVER)
            self.out["late"] += subtask.side_output(LATE)
            subtask.clear_output()
        self.since = []

    def end(self) -> dict[str, list[Any]]:
        self.advance(END)
        for subtask in self.subtasks:
            subtask.snapshot()
        self._collect()
        return self.out


ACTIONS = st.sampled_from(
    ["", "", "advance", "restart", "restart", "rescale", "fail", "checkpoint"]
)
HISTORIES = st.lists(
    st.tuples(st.sampled_from(KEYS), st.integers(-2, 2), ACTIONS), min_size=8, max_size=8
)


@settings(max_examples=job_examples(60), deadline=None)
@given(patterns(), streams(8), HISTORIES)
def test_the_operator_agrees(pattern: EventPattern, stream: Stream, history: Any) -> None:
    """Whatever the order of arrival, and whatever happens between the events."""
    job = Job(pattern)
    arrived: Stream = []
    late: Stream = []
    watermark = START
    for (value, time), (key, disorder, action) in zip(stream, history, strict=False):
        event = (value + key, time + disorder)
        (arrived if event[1] > watermark else late).append(event)
        job.feed(*event)
        if action == "advance":
            watermark = max(watermark, event[1] - 1)
            job.advance(watermark)
        elif action == "fail":
            job.fail()
        elif action == "checkpoint":
            job.restart(len(job.subtasks))
            job.fail()
        elif action:
            job.restart(len(job.subtasks) if action == "restart" else 3 - len(job.subtasks))
    out = job.end()
    if pattern.within is not None:
        assert sum(subtask.entries() for subtask in job.subtasks) == 0, "state is left behind"
    assert sorted(out["late"]) == sorted(value for value, _ in late)
    for key in KEYS:
        events = sorted((e for e in arrived if e[0][-1] == key), key=itemgetter(1))
        wanted = of_reference(pattern, events)
        got = [[(e, t) for k, e, t in out[kind] if k == key] for kind in ("found", "over")]
        assert got[0] == by_names(wanted[0]), described(pattern)
        assert sorted(got[1]) == sorted(by_names(wanted[1])), described(pattern)


def by_names(found: Iterable[Found]) -> list[Found]:
    """The events of each name together, as a match gives them."""
    grouped = []
    for takes, time in found:
        names = list(dict.fromkeys(name for name, _ in takes))
        grouped.append((tuple(take for n in names for take in takes if take[0] == n), time))
    return grouped
