"""Explanation of why a pattern matched or did not match: the effect of every event on every
partial match."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from millrace.cep.condition_text import PLAIN, text_of
from millrace.common.functions.pattern_conditions import Condition
from millrace.common.functions.pattern_functions import Match
from millrace.runtime.cep.automaton import MatchState
from millrace.runtime.cep.matcher import ConditionContext
from millrace.runtime.cep.partial_match import FoundMatch, Matches, PartialMatch, entries_between
from millrace.runtime.cep.pattern_model import EventPattern
from millrace.runtime.cep.pattern_rule import HasModel
from millrace.runtime.cep.position import Transition
from millrace.testing.pattern_run import (
    Comparator,
    Found,
    Key,
    MatchResult,
    PatternRun,
    TimedEvent,
    Timestamps,
    last_time,
    timed_events,
)
from millrace.testing.trace_step import Attempt, Pruned, Taken, TraceStep
from millrace.testing.transition_verdict import Check, Judge, Verdict, closing_guard

__all__ = ["Trace", "trace"]


@dataclass(frozen=True, slots=True)
class Trace:
    """Trace of a pattern over its events, step by step. Print it as text: ``print(trace(...))``."""

    events: list[TimedEvent]
    """Events in the order of their numbers, in which the pattern takes them."""
    steps: list[TraceStep]
    result: MatchResult

    @property
    def matches(self) -> list[Match[Any]]:
        """The events of each match, by pattern name."""
        return self.result.matches

    @property
    def timed_out(self) -> list[Match[Any]]:
        """The events of each timed-out partial match, by pattern name."""
        return self.result.timed_out

    def attempts(self, number: int) -> list[Attempt]:
        """The transitions that were tried with the event of the given number."""
        return [
            attempt
            for step in self.steps
            if step.event is not None and step.event.number == number
            for attempt in step.attempts
        ]

    def text(self, show: Callable[[Any], str] = repr) -> str:
        """The whole trace as text; ``show`` makes the text of an event. Times are in UTC."""
        return trace_text(self.steps, self.result, show)

    def __str__(self) -> str:
        return self.text()


def trace(
    pattern: HasModel | EventPattern,
    events: Iterable[Any],
    *,
    timestamps: Timestamps = None,
    key: Key = None,
    comparator: Comparator = None,
    watermark: int | None = None,
    event_time: bool = True,
    clock: Callable[[], int] = lambda: 0,
) -> Trace:
    """Explain why a pattern matches or does not; takes the same arguments as `match`, and finds the
    same matches.

    Conditions are evaluated twice, once by the matcher and once part by part.

    Raises:
        MalformedPatternError: the pattern contradicts itself.
        JobDefinitionError: the object is not a pattern, events have no such times or keys or, in
            processing time, times go back.

    Example:
        >>> from millrace.cep import Pattern
        >>> pattern = Pattern.begin("small").where(lambda value: value < 10)
        >>> pattern = pattern.next("large").where(lambda value: value > 100)
        >>> explained = trace(pattern, [5, 50])
        >>> explained.attempts(1)[0].verdict
        <Verdict.STRICT: 'strict contiguity'>
        >>> print(explained)
        #0 at 0 ms: 5
            start -> small: taken
        #1 at 1 ms: 50
            small #0 -> large: closed, nothing may lie between; value > 100 is false
            start -> small: not taken; value < 10 is false
        no match
    """
    run = PatternRun(pattern, clock)
    ordered = timed_events(events, timestamps, key, comparator, event_time)
    recorder = _TraceRecorder(run)
    run.matcher.on_pruned = recorder.prune
    result = run.over(ordered, last_time(watermark, ordered, event_time), recorder)
    steps = sorted(recorder.steps, key=_place)
    return Trace(ordered, steps, result)


class _TraceRecorder:
    """Recorder of a trace's steps."""

    def __init__(self, run: PatternRun) -> None:
        self._automaton = run.automaton
        self._judge = Judge(run.automaton)
        self._clock = run.clock
        self._pruned: list[tuple[Pruned, int]] = []
        self.steps: list[TraceStep] = []

    def prune(self, other: Any, match: FoundMatch) -> None:
        """Record that a match removed another match or partial match."""
        self._pruned.append((Pruned(_taken(other), _taken(match)), match.time))

    def event_taken(
        self, event: TimedEvent, before: Matches, after: Matches, new_matches: Found
    ) -> None:
        step = TraceStep(event.timestamp, event.key, event)
        for match in before.partial:
            step.attempts += self._attempts(match.state, match, event)
        step.attempts += self._attempts(self._automaton.start, None, event)
        step.found = [_taken(match) for match in new_matches]
        step.held_back = [_taken(match) for match in _new(before, after)]
        step.pruned = [pruned for pruned, _ in self._pruned]
        self._pruned.clear()
        self.steps.append(step)

    def time_passed(
        self, key: Any, before: Matches, after: Matches, new_matches: Found, timed_out: Found
    ) -> None:
        steps: dict[int, TraceStep] = {}

        def at(time: int) -> TraceStep:
            return steps.setdefault(time, TraceStep(time, key))

        for match in timed_out:
            at(match.time).timed_out.append(_taken(match))
        for match in new_matches:
            at(match.time).found.append(_taken(match))
        for match in _new(before, after):
            at(match.time).held_back.append(_taken(match))
        for pruned, time in self._pruned:
            at(time).pruned.append(pruned)
        for time, taken, transition in _closed_transitions(before, after):
            at(time).closed.append((taken, transition.label))
        self._pruned.clear()
        self.steps += steps.values()

    def _attempts(
        self, state: MatchState, match: PartialMatch | None, event: TimedEvent
    ) -> Iterator[Attempt]:
        context = ConditionContext(self._clock, match, event.timestamp)
        checks = self._judge.checks(state, event.value, context)
        taken = () if match is None else _taken(match)
        for transition in state.transitions:
            verdict = self._judge.verdict(state, transition, checks)
            if match is None and verdict is Verdict.TAKEN_AND_PASSED:
                verdict = Verdict.TAKEN  # every event may begin a match: that is no second try
            yield Attempt(
                taken, transition.label, verdict, *_reason(state, transition, verdict, checks)
            )


def _reason(
    state: MatchState, transition: Transition, verdict: Verdict, checks: dict[int, Check]
) -> tuple[tuple[Check, ...], str]:
    """The conditions that decided against a transition, and the pattern that closed it."""
    closing = closing_guard(transition, checks) if verdict.closes else None
    if closing is not None:
        guard = closing[1]
        return tuple(checks[id(guard.condition)].deciding()), guard.name
    if verdict is Verdict.GREEDY:
        return (), next(p.name for p in transition.yields_to if _satisfied(p.condition, checks))
    if verdict not in (Verdict.PASSED, Verdict.STRICT) or transition.target is None:
        return (), ""
    condition = transition.target.condition
    if condition is not None and not _satisfied(condition, checks):
        return tuple(checks[id(condition)].deciding()), ""
    for guard in transition.target.refused:
        if checks[id(guard.condition)].result:
            return tuple(checks[id(guard.condition)].deciding()), guard.name
    return (), ""


def _satisfied(condition: Condition | None, checks: dict[int, Check]) -> bool:
    if condition is None:
        return True
    check = checks.get(id(condition))
    return check is not None and check.result


def _taken(match: PartialMatch | FoundMatch) -> Taken:
    entries = entries_between(match.start, match.last)
    return tuple((entry.name, entry.event.order[1]) for entry in entries)


def _new(before: Matches, after: Matches) -> list[FoundMatch]:
    """Matches held back since an earlier state."""
    known = set(map(id, before.held_back))
    return [match for match in after.held_back if id(match) not in known]


def _closed_transitions(before: Matches, after: Matches) -> Iterator[tuple[int, Taken, Transition]]:
    """The transitions that time has closed in partial matches that continue."""
    going_on = {_way_taken(match): match for match in after.partial}
    for match in before.partial:
        still = going_on.get(_way_taken(match))
        if still is None:
            continue
        for transition in match.state.transitions:
            if transition.window_time is not None and transition not in still.state.transitions:
                yield match.last.event.order[0] + transition.window_time, _taken(match), transition


def _way_taken(match: PartialMatch) -> tuple[int, ...]:
    """The path that distinguishes a partial match from all others."""
    return id(match.start), id(match.last), id(match.state.position)


def _place(step: TraceStep) -> tuple[int, bool, int]:
    """Sort key of a step: the passing of time precedes an event of that time."""
    number = 0 if step.event is None else step.event.number
    return step.timestamp, step.event is not None, number


SMALL_TIMES = 10**11
"""Times below this number of ms are shown as numbers, because the test counts from 0."""
SHORT = 40
"""Largest number of characters of a value that is shown."""

WORDS = {
    Verdict.TAKEN: "taken",
    Verdict.TAKEN_AND_PASSED: "taken, and passed over in another try",
    Verdict.PASSED: "passed over",
    Verdict.STRICT: "closed, nothing may lie between",
    Verdict.NOT_FOLLOWED_BY: "closed by not_followed_by('{by}')",
    Verdict.NOT_NEXT: "closed by not_next('{by}')",
    Verdict.UNTIL: "closed, the loop '{by}' is over",
    Verdict.GREEDY: "closed, the greedy '{by}' has taken it",
    Verdict.FOUND: "found",
}


def trace_text(steps: Iterable[TraceStep], result: MatchResult, show: Callable[[Any], str]) -> str:
    """Text of the whole trace."""
    lines = [line for step in steps for line in _step(step, show)]
    count = len(result.matches)
    lines.append("no match" if not count else f"{count} match{'es' * (count > 1)}")
    if result.timed_out:
        lines[-1] += f", {len(result.timed_out)} timed out"
    return "\n".join(lines)


def _step(step: TraceStep, show: Callable[[Any], str]) -> Iterator[str]:
    key = "" if step.key is None else f" [{step.key!r}]"
    if step.event is None:
        yield f"at {_time(step.timestamp)}{key}"
    else:
        yield f"#{step.event.number} at {_time(step.timestamp)}{key}: {show(step.event.value)}"
    for attempt in step.attempts:
        yield f"    {_taken_text(attempt.taken)} -> {_attempt(attempt)}"
    for taken, transition in step.closed:
        yield f"    {_taken_text(taken)} -> {transition}: closed, its time is over"
    for taken in step.timed_out:
        yield f"    timed out: {_taken_text(taken)}"
    for taken in step.held_back:
        yield f"    match, held back while an earlier one may come: {_taken_text(taken)}"
    for taken in step.found:
        yield f"    match: {_taken_text(taken)}"
    for pruned in step.pruned:
        skipped, match = _taken_text(pruned.taken), _taken_text(pruned.match)
        yield f"    skipped: {skipped} (after the match {match})"


def _attempt(attempt: Attempt) -> str:
    words = WORDS[attempt.verdict].format(by=attempt.by)
    if attempt.verdict is Verdict.PASSED and not attempt.taken:
        words = "not taken"
    where = "the end" if attempt.target == "$end" else attempt.target
    reasons = "".join(f"; {_check(check)}" for check in attempt.because)
    return f"{where}: {words}{reasons}"


def _check(check: Check) -> str:
    condition = check.condition
    return f"{text_of(condition)}{_known_to(condition)} is {str(check.result).lower()}"


def _known_to(condition: Condition) -> str:
    """Values in the closure of a condition's function, if they are short: `` [limits={3}]``.
    Plain values of a lambda's closure are left out, because its text contains them."""
    if not inspect.isfunction(condition.source):
        return ""
    try:
        known = inspect.getclosurevars(condition.source).nonlocals
    except ValueError:  # not set yet
        return ""
    if condition.source.__name__ == "<lambda>":
        known = {name: value for name, value in known.items() if type(value) not in PLAIN}
    texts = [f"{name}={value!r}" for name, value in known.items() if len(repr(value)) <= SHORT]
    return f" [{', '.join(texts)}]" if texts else ""


def _taken_text(taken: Taken) -> str:
    if not taken:
        return "start"
    parts: list[str] = []
    before = None
    for name, number in taken:
        parts.append(f" #{number}" if name == before else f", {name} #{number}")
        before = name
    return "".join(parts).removeprefix(", ")


def _time(timestamp: int) -> str:
    if abs(timestamp) < SMALL_TIMES:
        return f"{timestamp} ms"
    try:
        return datetime.fromtimestamp(timestamp / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):  # there are no such dates
        return f"{timestamp} ms"
