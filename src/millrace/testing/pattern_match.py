"""Matching of a pattern against a few events, without a job and without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from millrace.runtime.cep.pattern_model import EventPattern
from millrace.runtime.cep.pattern_rule import HasModel
from millrace.testing.pattern_run import (
    Comparator,
    Key,
    MatchResult,
    PatternRun,
    Timestamps,
    last_time,
    timed_events,
)

__all__ = ["match"]


def match(
    pattern: HasModel | EventPattern,
    events: Iterable[Any],
    *,
    timestamps: Timestamps = None,
    key: Key = None,
    comparator: Comparator = None,
    watermark: int | None = None,
    event_time: bool = True,
    clock: Callable[[], int] = lambda: 0,
) -> MatchResult:
    """Find a pattern in events, as a job would. `trace` explains why.

    Args:
        pattern: a `millrace.cep.Pattern`.
        timestamps: times of the events in ms since the Unix epoch: one per event, or a callable
            that returns the time of an event. None for 0, 1, 2, and so on.
        key: key selector as for `DataStream.key_by`: a callable, or the name or position of a
            field; None for events without keys.
        comparator: orders events of the same time, as for `CEP.pattern`.
        watermark: time after the events, in ms since the Unix epoch: later events still wait, and
            partial matches that end later have not timed out. By default event time goes to its
            end, as in a job whose input ends; processing time stays at the last event.
        event_time: whether events are ordered by their times; otherwise they are taken in the
            given order, and their times are processing times.
        clock: processing time for conditions that use it, ms since the epoch.

    Raises:
        MalformedPatternError: the pattern contradicts itself.
        JobDefinitionError: the object is not a pattern, events have no such times or keys or, in
            processing time, times go back.

    Example:
        >>> from millrace.cep import Pattern
        >>> pattern = Pattern.begin("small").where(lambda value: value < 10)
        >>> pattern = pattern.followed_by("large").where(lambda value: value > 100).within(1_000)
        >>> result = match(pattern, [5, 50, 500, 7], timestamps=[0, 100, 200, 300])
        >>> result.matches
        [{'small': [5], 'large': [500]}]
        >>> result.timed_out
        [{'small': [7]}]
    """
    run = PatternRun(pattern, clock)
    ordered = timed_events(events, timestamps, key, comparator, event_time)
    return run.over(ordered, last_time(watermark, ordered, event_time))
