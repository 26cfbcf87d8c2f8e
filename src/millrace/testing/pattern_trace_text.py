"""Text of a pattern's trace."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from millrace.cep.condition_text import PLAIN, text_of
from millrace.common.functions.pattern_conditions import Condition
from millrace.testing.pattern_run import MatchResult
from millrace.testing.trace_step import Attempt, Taken, TraceStep
from millrace.testing.transition_verdict import Check, Verdict

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
    found = len(result.matches)
    lines.append("no match" if not found else f"{found} match{'es' * (found > 1)}")
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
        yield f"    {_taken(attempt.taken)} -> {_attempt(attempt)}"
    for taken, transition in step.closed:
        yield f"    {_taken(taken)} -> {transition}: closed, its time is over"
    for taken in step.timed_out:
        yield f"    timed out: {_taken(taken)}"
    for taken in step.held_back:
        yield f"    match, held back while an earlier one may come: {_taken(taken)}"
    for taken in step.found:
        yield f"    match: {_taken(taken)}"
    for pruned in step.pruned:
        yield f"    skipped: {_taken(pruned.taken)} (after the match {_taken(pruned.match)})"


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


def _taken(taken: Taken) -> str:
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
