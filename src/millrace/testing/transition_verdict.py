"""Verdicts: the effect of an event on one transition of a partial match, with the reason.

The automaton itself decides, about each transition alone: no rule of matching is repeated here.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from millrace.cep.rules.condition_tree import Junction
from millrace.cep.rules.expression import RuleExpression
from millrace.common.functions.pattern_conditions import Condition
from millrace.runtime.cep.automaton import Automaton, MatchOutcome, MatchState
from millrace.runtime.cep.position import Guard, Transition

__all__ = ["Check", "Judge", "Verdict", "closing_guard"]


class Verdict(enum.Enum):
    """Effect of an event on a transition."""

    TAKEN = "taken"
    TAKEN_AND_PASSED = "taken; in another try passed over"
    PASSED = "passed over"
    """The event is not taken, and the transition stays open."""
    STRICT = "strict contiguity"
    """The event is not taken, and strict contiguity allows no event in between."""
    NOT_FOLLOWED_BY = "not_followed_by"
    """The event must not occur."""
    NOT_NEXT = "not_next"
    """The event must not occur next."""
    UNTIL = "until"
    """The event ends the loop."""
    GREEDY = "greedy"
    """A greedy loop has taken the event."""
    FOUND = "match found"
    """The match is complete: it was only waiting to see that the next event is not a forbidden
    one."""

    @property
    def closes(self) -> bool:
        """Whether the transition is closed without its event."""
        return self not in (Verdict.TAKEN, Verdict.TAKEN_AND_PASSED, Verdict.PASSED, Verdict.FOUND)


@dataclass(frozen=True, slots=True)
class Check:
    """A condition that was evaluated."""

    description: str
    """Description of the pattern whose condition it is."""
    condition: Condition
    result: bool
    parts: tuple[Check, ...] = ()
    """Evaluated parts of a combined condition."""

    def deciding(self) -> list[Check]:
        """The single conditions that decided the result, such as the false part of an "and"."""
        if not self.parts:
            return [self]
        return [
            check for part in self.parts if part.result == self.result for check in part.deciding()
        ]


class Judge:
    """Judges the transitions of an automaton's states."""

    def __init__(self, automaton: Automaton) -> None:
        self._automaton = automaton

    def checks(self, state: MatchState, value: Any, context: Any) -> dict[int, Check]:
        """Evaluate the conditions of a state for an event; returns each evaluation by the
        condition's id."""
        return {
            id(test.condition): _check(test.description, test.condition, value, context)
            for test in state.tests
        }

    def verdict(
        self, state: MatchState, transition: Transition, checks: dict[int, Check]
    ) -> Verdict:
        """Verdict on a transition of a state for an event with evaluated ``checks``."""
        alone = self._outcome(self._automaton.state(state.position, (transition,)), checks)
        if alone.taken or alone.ignored is not None or alone.finished:
            if transition.yields_to and _less(self._outcome(state, checks), transition, alone):
                return Verdict.GREEDY
            return _open(alone)
        return _closed(transition, checks)

    def _outcome(self, state: MatchState, checks: dict[int, Check]) -> MatchOutcome:
        satisfied = sum(
            1 << bit for bit, test in enumerate(state.tests) if checks[id(test.condition)].result
        )
        return self._automaton.outcome(state, satisfied)


def _less(outcome: MatchOutcome, transition: Transition, alone: MatchOutcome) -> bool:
    """Whether a transition has less effect in the outcome of all transitions than it has alone."""
    taken = {after.position for after in outcome.taken}
    staying = () if outcome.ignored is None else outcome.ignored.transitions
    return (
        any(after.position not in taken for after in alone.taken)
        or (alone.ignored is not None and transition.after_waiting() not in staying)
        or (alone.finished and not outcome.finished)
    )


def _open(outcome: MatchOutcome) -> Verdict:
    if outcome.finished:
        return Verdict.FOUND
    if not outcome.taken:
        return Verdict.PASSED
    return Verdict.TAKEN if outcome.ignored is None else Verdict.TAKEN_AND_PASSED


def closing_guard(transition: Transition, checks: dict[int, Check]) -> tuple[Verdict, Guard] | None:
    """The guard that closes a transition because its condition is true, and the verdict for it;
    None if there is none."""
    kinds = (
        (Verdict.NOT_FOLLOWED_BY, transition.unless),
        (Verdict.NOT_NEXT, transition.not_next),
        (Verdict.UNTIL, transition.until),
        (Verdict.UNTIL, _refused(transition, checks)),
    )
    for verdict, guards in kinds:
        for guard in guards:
            if checks[id(guard.condition)].result:
                return verdict, guard
    return None


def _refused(transition: Transition, checks: dict[int, Check]) -> tuple[Guard, ...]:
    """The guards that keep a matching event from being taken."""
    target = transition.target
    if target is None or (target.condition and not checks[id(target.condition)].result):
        return ()
    return target.refused


def _closed(transition: Transition, checks: dict[int, Check]) -> Verdict:
    closing = closing_guard(transition, checks)
    return Verdict.STRICT if closing is None else closing[0]


def _check(description: str, condition: Condition, value: Any, context: Any) -> Check:
    word, conditions = _parts(condition)
    if not conditions:
        result = bool(condition.with_context()(value, context))
        return Check(description, condition, result)
    decides = word == "or"
    parts: list[Check] = []
    for part in conditions:
        parts.append(_check(description, part, value, context))
        if parts[-1].result is decides:
            break
    return Check(description, condition, parts[-1].result, tuple(parts))


def _parts(condition: Condition) -> tuple[str, tuple[Condition, ...]]:
    """Operator and parts of a condition. The automaton sees a data condition as a single one,
    but here it has parts, too."""
    if isinstance(condition.source, RuleExpression):
        tree = condition.source.tree
        if isinstance(tree, Junction):
            return tree.word, tuple(RuleExpression(part).condition() for part in tree.parts)
    return condition.word, condition.parts
