"""Advances the partial matches of one pattern and one key, event by event and with time.

Semantics: Flink docs, "FlinkCEP". Nothing here knows of keys, watermarks or state: operators and
tests feed it events in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from millrace.common.functions.pattern_conditions import IterativeCondition
from millrace.runtime.cep.after_match_skip_strategy import Skip
from millrace.runtime.cep.automaton import Automaton, MatchOutcome, MatchState
from millrace.runtime.cep.partial_match import (
    BufferedEvent,
    FoundMatch,
    MatchedEntry,
    Matches,
    PartialMatch,
    entries_between,
)
from millrace.runtime.cep.skipping import OnPruned, release

__all__ = ["Call", "ConditionContext", "Matcher", "any_call"]

Call = Callable[[Any], Any]
Entries = dict[MatchedEntry | tuple[MatchedEntry, str], MatchedEntry]
"""Entries of an event by the entry before; one for another name is under that name, too."""


class ConditionContext(IterativeCondition.Context):
    """Context of the condition that is being evaluated."""

    def __init__(
        self, clock: Callable[[], int], match: PartialMatch | None = None, time: int = 0
    ) -> None:
        self._clock = clock
        self.match = match
        self.time = time

    def get_events_for_pattern(self, name: str) -> list[Any]:
        match = self.match
        if match is None:
            return []
        entries = entries_between(match.start, match.last)
        return [entry.event.value for entry in entries if entry.name == name]

    def timestamp(self) -> int:
        return self.time

    def current_processing_time(self) -> int:
        return self._clock()


class Matcher:
    """Finds the matches of one pattern.

    Args:
        clock: processing time in ms since the epoch, for conditions that use it.

    Example:
        >>> from millrace.common.functions.pattern_conditions import condition_of
        >>> from millrace.runtime.cep.pattern_model import Contiguity, Event, EventPattern
        >>> big = condition_of(lambda value: value > 9, "where")
        >>> pattern = EventPattern((Event("a", big), Event("b", big, Contiguity.STRICT)))
        >>> matcher, matches = Matcher(Automaton(pattern)), Matches()
        >>> for number, value in enumerate([10, 3, 20, 30]):
        ...     for match in matcher.process(matches, BufferedEvent((number, number), value)):
        ...         print(match.events())
        {'a': [20], 'b': [30]}
    """

    def __init__(self, automaton: Automaton, clock: Callable[[], int] = lambda: 0) -> None:
        self.automaton = automaton
        self._context = ConditionContext(clock)
        self._can_start = _start_test(automaton)
        self.on_pruned: OnPruned | None = None
        """Called with every partial match or match that the skip strategy discards."""

    def starts(self, values: list[Any]) -> list[bool] | None:
        """For each of the values, whether a match could begin with this value. None if this cannot
        be decided from the values alone.
        """
        test = self._can_start
        if test is None:
            return None
        starts: list[bool] = []
        try:
            starts.extend(map(bool, map(test, values)))
        except Exception as error:
            # those before the one that failed are in the list
            self._name_start(error, values[len(starts)])
            raise
        return starts

    def _name_start(self, error: Exception, value: object) -> None:
        tests = self.automaton.start.tests
        names = " or ".join(test.description for test in tests)
        _name(error, names, value)

    # -- events ----------------------------------------------------------------------------------

    def process(
        self, matches: Matches, event: BufferedEvent, may_start: Any = True
    ) -> list[FoundMatch]:
        """Process one event. Events must be processed in their order, and after the matcher has
        advanced to their time.

        Args:
            may_start: false if it is known that no match begins with it.
        """
        outcomes: dict[MatchState, MatchOutcome] = {}
        partial: list[PartialMatch] = []
        found_matches: list[FoundMatch] = []
        entries: Entries = {}
        time = event.order[0]
        for match in matches.partial:
            state = match.state
            outcome = outcomes.get(state)
            if outcome is None:
                outcome = self._outcome(state, event, match)
                if not state.iterative:
                    outcomes[state] = outcome
            if outcome.taken:
                _take(outcome.taken, match, event, entries, partial, found_matches)
            if outcome.finished:
                found_matches.append(FoundMatch(match.last, match.start, time))
            staying = outcome.ignored
            if staying is state:
                partial.append(match)
            elif staying is not None:
                partial.append(PartialMatch(staying, match.last, match.start))
        if may_start:
            for after in self._outcome(self.automaton.start, event, None).taken:
                self._begin(after, event, entries.values(), partial, found_matches)
        matches.partial = partial
        if not (found_matches or matches.held_back):
            return found_matches
        return release(self.automaton.skip, matches, found_matches, time, self.on_pruned)

    def begin(
        self, matches: Matches, event: BufferedEvent, states: tuple[MatchState, ...]
    ) -> list[FoundMatch]:
        """Process one event that can only begin matches, and cannot continue existing ones.

        Args:
            states: states of the matches after the event.
        """
        found_matches: list[FoundMatch] = []
        for after in states:
            self._begin(after, event, (), matches.partial, found_matches)
        if not (found_matches or matches.held_back):
            return found_matches
        return release(self.automaton.skip, matches, found_matches, event.order[0], self.on_pruned)

    def _begin(
        self,
        after: MatchState,
        event: BufferedEvent,
        entries: Iterable[MatchedEntry],
        partial: list[PartialMatch],
        found_matches: list[FoundMatch],
    ) -> None:
        """Begin a match with an event. If an earlier match took the event for the same name,
        both share the entry."""
        for entry in entries:
            if entry.name == after.name:
                break
        else:
            entry = MatchedEntry(None, after.name, event)
        if after.accepting:
            found_matches.append(FoundMatch(entry, event, event.order[0]))
        if after.transitions:
            partial.append(PartialMatch(after, entry, event))

    def _outcome(
        self, state: MatchState, event: BufferedEvent, match: PartialMatch | None
    ) -> MatchOutcome:
        if state.iterative:
            satisfied = self._satisfied(state, event, match)
        else:
            satisfied = self._satisfied_by_value(state, event.value)
        known = state.outcomes.get(satisfied)
        return self.automaton.outcome(state, satisfied) if known is None else known

    def _satisfied_by_value(self, state: MatchState, value: Any) -> int:
        """Tests of a state that an event satisfies, as bits."""
        satisfied, bit = 0, 1
        for test in state.tests:
            try:
                if test.call(value):
                    satisfied |= bit
            except Exception as error:
                _name(error, test.description, value)
                raise
            bit += bit
        return satisfied

    def _satisfied(
        self, state: MatchState, event: BufferedEvent, match: PartialMatch | None
    ) -> int:
        context, value = self._context, event.value
        context.match, context.time = match, event.order[0]
        satisfied, bit = 0, 1
        for test in state.tests:
            try:
                if test.call(value, context) if test.iterative else test.call(value):
                    satisfied |= bit
            except Exception as error:
                _name(error, test.description, value)
                raise
            bit += bit
        return satisfied

    # -- time ------------------------------------------------------------------------------------

    def advance_time(
        self, matches: Matches, time: int
    ) -> tuple[list[FoundMatch], list[FoundMatch]]:
        """Advance time to ``time`` (ms since the epoch). Events that are processed later are not
        earlier than ``time``.

        Returns:
            The matches found, and the partial matches whose time is over.
        """
        released: list[FoundMatch] = []
        timed_out: list[FoundMatch] = []
        if self.automaton.skip.kind is Skip.NO_SKIP:
            released = release(
                self.automaton.skip, matches, self._end(matches, time, timed_out), time
            )
            return sorted(released, key=_moment), sorted(timed_out, key=_moment)
        # one by one: what is found at one moment may take away what would be found at the next
        while (deadline := self.next_deadline(matches)) is not None and deadline <= time:
            found_matches = self._end(matches, deadline, timed_out)
            released += release(
                self.automaton.skip, matches, found_matches, deadline, self.on_pruned
            )
        return released, timed_out

    def _end(self, matches: Matches, time: int, timed_out: list[FoundMatch]) -> list[FoundMatch]:
        """End the matches and transitions that are due up to ``time``, and return the matches
        found."""
        found_matches: list[FoundMatch] = []
        if self.automaton.has_gaps:
            self._close_transitions(matches, time, found_matches, timed_out)
        within = self.automaton.within
        if within is not None:
            over = 0
            for match in matches.partial:
                if match.start.order[0] + within > time:
                    break
                over += 1
                ended = FoundMatch(match.last, match.start, match.start.order[0] + within)
                (timed_out if match.state.pending is None else found_matches).append(ended)
            del matches.partial[:over]
        return found_matches

    def _close_transitions(
        self,
        matches: Matches,
        time: int,
        found_matches: list[FoundMatch],
        timed_out: list[FoundMatch],
    ) -> None:
        """Close the transitions whose time is over. The matches are processed as of the time at
        which their transitions closed."""
        still: list[PartialMatch] = []
        for match in matches.partial:
            left = self._with_open_transitions(match, time, found_matches, timed_out)
            if left is not None:
                still.append(left)
        matches.partial = still

    def _with_open_transitions(
        self,
        match: PartialMatch,
        time: int,
        found_matches: list[FoundMatch],
        timed_out: list[FoundMatch],
    ) -> PartialMatch | None:
        before = match.last.event.order[0]
        within = self.automaton.within
        end = None if within is None else match.start.order[0] + within
        while (closing := match.state.closing) is not None:
            over = before + closing
            if over > time or (end is not None and over >= end):
                break
            state = self.automaton.without_closed(match.state, closing)
            pending = match.state.pending
            if pending is not None and (state is None or state.pending is None):
                found_matches.append(FoundMatch(match.last, match.start, over))
            elif state is None:
                timed_out.append(FoundMatch(match.last, match.start, over))
            if state is None:
                return None
            match = PartialMatch(state, match.last, match.start)
        return match

    def next_deadline(self, matches: Matches) -> int | None:
        """Next time at which a match or transition ends, in ms since the epoch. None if there is
        none."""
        partial, within = matches.partial, self.automaton.within
        over = partial[0].start.order[0] + within if partial and within is not None else None
        if not self.automaton.has_gaps:
            return over
        deadlines = [
            match.last.event.order[0] + match.state.closing
            for match in partial
            if match.state.closing is not None
        ]
        if over is not None:
            deadlines.append(over)
        return min(deadlines, default=None)


def _take(
    states: tuple[MatchState, ...],
    match: PartialMatch,
    event: BufferedEvent,
    entries: Entries,
    partial: list[PartialMatch],
    found_matches: list[FoundMatch],
) -> None:
    """Move a partial match to its next states by an event. Matches that take the event after the
    same entry and for the same name share one new entry."""
    last, start = match.last, match.start
    for state in states:
        entry = entries.get(last)
        if entry is None:
            entry = entries[last] = MatchedEntry(last, state.name, event)
        elif entry.name != state.name:
            place = last, state.name
            entry = entries.get(place)
            if entry is None:
                entry = entries[place] = MatchedEntry(last, state.name, event)
        if state.accepting:
            found_matches.append(FoundMatch(entry, start, event.order[0]))
        if state.transitions:
            partial.append(PartialMatch(state, entry, start))


def _start_test(automaton: Automaton) -> Call | None:
    """Function that tells whether a match can begin with an event, given its value; None if
    values alone do not tell."""
    start = automaton.start
    conditions = [
        transition.target.condition
        for transition in start.transitions
        if transition.target is not None
    ]
    if start.iterative or None in conditions:
        return None
    calls = [condition.call for condition in conditions if condition is not None]
    return any_call(calls)


def any_call(calls: list[Call]) -> Call:
    """One function that tells whether at least one of the calls is true for an event."""
    if len(calls) == 1:
        return calls[0]
    if len(calls) == 2:
        first, second = calls
        return lambda value: first(value) or second(value)
    return lambda value: any(call(value) for call in calls)


def _moment(match: FoundMatch) -> int:
    return match.time


def _name(error: Exception, description: str, value: object) -> None:
    """Add the pattern and the event to an error of a condition."""
    error.add_note(f"raised by the condition of {description} for the event {value!r}")
