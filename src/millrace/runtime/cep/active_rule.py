"""An active rule: its automaton, and a check for events that the rule can skip."""

from __future__ import annotations

from collections.abc import Callable

from millrace.common.functions.pattern_conditions import Condition
from millrace.runtime.cep.automaton import Automaton, MatchState
from millrace.runtime.cep.inspectable_condition import without_context
from millrace.runtime.cep.matcher import Call, Matcher, any_call
from millrace.runtime.cep.partial_match import BufferedEvent, MatchedEntry, Matches, PartialMatch
from millrace.runtime.cep.pattern_rule import PatternRule
from millrace.runtime.cep.position import Transition

__all__ = ["ActiveRule"]


class ActiveRule:
    """A compiled rule.

    Raises:
        MalformedPatternError: the pattern contradicts itself.

    Example:
        >>> from millrace.common.functions.pattern_conditions import condition_of
        >>> from millrace.runtime.cep.pattern_model import Event, EventPattern
        >>> big = condition_of(lambda value: value > 9, "where")
        >>> rule = ActiveRule(PatternRule("r", 1, EventPattern((Event("a"), Event("b", big)))), 1)
        >>> rule.wakes(5), rule.wakes(50)
        (False, True)
    """

    __slots__ = (
        "_first_end",
        "automaton",
        "begins",
        "id",
        "matcher",
        "number",
        "opens",
        "prefix",
        "rule",
        "soonest",
        "timed",
        "wakes",
    )

    def __init__(
        self, rule: PatternRule, number: int, clock: Callable[[], int] = lambda: 0
    ) -> None:
        self.rule = rule
        self.id = rule.id
        self.number = number
        """Number of the rule's activation. A later activation has a higher number."""
        self.prefix = rule.key_prefix
        self.automaton = Automaton(rule.pattern)
        self.matcher = Matcher(self.automaton, clock)
        self.timed = self.automaton.within is not None or self.automaton.has_gaps
        window_times = [
            transition.window_time
            for position in self.automaton.positions
            for transition in position.transitions
        ]
        self.soonest = min(
            (limit for limit in (self.automaton.within, *window_times) if limit is not None),
            default=None,
        )
        """Ms after the first event at which time may end something at the earliest. None if
        never."""
        self.begins = _begins(self.automaton)
        """States of matches that begin with an event. None if they depend on more than the
        event."""
        self._first_end = min(
            (limit for limit in _limits(self.automaton.within, self.begins) if limit is not None),
            default=None,
        )
        """Ms after the beginning of a match at which time may end something of it. None if
        never."""
        self.opens = _opens(self.begins)
        """State of matches that begin with an event. None if it is not a single known state that
        waits for more events."""
        self.wakes = _wakes(self.automaton)
        """Function that tells whether an event may change a partial match. None if it always
        may."""

    def start_conditions(self) -> list[Condition | None]:
        """The first event of a match satisfies at least one of these conditions. If None is among
        them, any event may begin a match.
        """
        return [
            None if condition is None else without_context(condition)
            for transition in self.automaton.start.transitions
            if transition.target is not None
            for condition in [transition.target.condition]
        ]

    def open(self, matches: Matches, event: BufferedEvent) -> None:
        """Begin a match with an event. Called only if `opens` is not None."""
        state = self.opens
        assert state is not None
        assert state.position is not None
        entry = MatchedEntry(None, state.position.name, event)
        matches.partial.append(PartialMatch(state, entry, event))
        self.note_begun(matches, event)

    def note_begun(self, matches: Matches, event: BufferedEvent) -> None:
        """Record the first deadline of a match that began with an event. Called only if `begins`
        is not None."""
        if self._first_end is not None:
            end = event.order[0] + self._first_end
            if matches.deadline is None or end < matches.deadline:
                matches.deadline = end

    def name(self, error: Exception) -> None:
        """Extend an error of a condition by the rule's name."""
        error.add_note(f"the rule is '{self.id}', version {self.rule.version}")

    def __repr__(self) -> str:
        return f"<rule {self.id} version {self.rule.version}>"


def _begins(automaton: Automaton) -> tuple[MatchState, ...] | None:
    start = automaton.start
    if len(start.tests) != 1 or start.iterative:
        return None
    # an event that may begin a match satisfies the condition of one transition; that determines the
    # outcome at the start only if all transitions have this condition and no other
    condition = start.tests[0].condition
    if not all(_depends_only_on(transition, condition) for transition in start.transitions):
        return None
    return automaton.outcome(start, 1).taken


def _depends_only_on(transition: Transition, condition: Condition) -> bool:
    target = transition.target
    if target is None or target.condition is not condition or target.refused:
        return False
    return not (transition.unless or transition.not_next or transition.until)


def _limits(within: int | None, begins: tuple[MatchState, ...] | None) -> list[int | None]:
    return [within, *(state.closing for state in begins or ())]


def _opens(begins: tuple[MatchState, ...] | None) -> MatchState | None:
    if begins is None or len(begins) != 1 or begins[0].accepting:
        return None
    return begins[0]


def _wakes(automaton: Automaton) -> Call | None:
    calls: dict[int, Call] = {}
    for position in automaton.positions:
        state = automaton.after(position)
        if state.transitions and not _sleeps(automaton, state):
            return None
        for test in state.tests:
            simple = without_context(test.condition)
            if simple is None:
                return None
            calls[id(test.condition)] = simple.call
    return any_call(list(calls.values())) if calls else _never


def _sleeps(automaton: Automaton, state: MatchState) -> bool:
    """Whether an event leaves a partial match in this state unchanged, if it satisfies none of
    the state's conditions."""
    outcome = automaton.outcome(state, 0)
    return outcome.ignored is state and not outcome.taken and not outcome.finished


def _never(value: object) -> bool:
    return False
