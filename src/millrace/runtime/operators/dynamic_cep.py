"""Finds the matches of many patterns in the events of each key. Patterns may be added and removed
while the job runs.

Input 0 has the events, input 1 the rules, which are broadcast. For each batch of events, the
operator first finds the rules whose matches may begin with each event. Only keys in which a match
may begin or has begun are processed, and only the rules of the key that the event may affect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any

from millrace.common.functions.output_tag import OutputTag
from millrace.common.functions.pattern_functions import PatternProcessFunction
from millrace.common.types.batch import RowBatch
from millrace.runtime.cep.active_rule import ActiveRule
from millrace.runtime.cep.automaton import Automaton
from millrace.runtime.cep.partial_match import BufferedEvent, FoundMatch, KeyMatches, Matches
from millrace.runtime.cep.partial_match_limit import PartialMatchLimit
from millrace.runtime.cep.pattern_rule import RejectedRule, RuleMatch
from millrace.runtime.cep.rule_set import RULE_STATE, ReadRule, RuleSet
from millrace.runtime.cep.shared_buffer import SharedBuffer
from millrace.runtime.cep.waiting_events import EventColumns
from millrace.runtime.metrics import RegisteredGroup
from millrace.runtime.operators.pattern_operator import (
    PatternOperator,
    Results,
    close_conditions,
    open_conditions,
)

Starting = list[list[ActiveRule] | None]


class DynamicCepOperator(PatternOperator):
    """Runs a `PatternProcessFunction` on the matches of rules; see `PatternOperator`.

    Args:
        read: function that makes a rule from a record of the stream of rules.
        rejected_tag: side output for `RejectedRule` objects.
    """

    operator_states = (RULE_STATE,)

    def __init__(
        self,
        read: ReadRule,
        function: PatternProcessFunction[Any, Any],
        key_batch: Callable[[list[Any]], list[Any]],
        comparator: Callable[[Any, Any], int] | None = None,
        late_tag: OutputTag[Any] | None = None,
        event_time: bool = True,
        keyed: bool = True,
        limit: PartialMatchLimit | None = None,
        rejected_tag: OutputTag[Any] | None = None,
    ) -> None:
        super().__init__(function, key_batch, comparator, late_tag, event_time, keyed, limit)
        self._read = read
        self._rejected_tag = rejected_tag

    def open(self) -> None:
        self._rules = RuleSet(self.context, self._read, self._open_rule, self._keyed)
        self._current: ActiveRule
        super().open()
        metrics = RegisteredGroup(self.context.metrics)
        self._rejected = metrics.counter("numRejectedRules")
        metrics.gauge("numIgnoredRules", lambda: self._rules.ignored if self._reports else 0)
        metrics.gauge("numRules", lambda: len(self._rules.active) if self._reports else 0)
        self._reports = self.context.subtask_index == 0
        """Whether this subtask reports on rules. All subtasks get the same rules, but only one
        reports."""

    def make_buffer(self) -> SharedBuffer:
        rules = self._rules
        return SharedBuffer(self.context, self._automaton_of, rules.number_of, self._note_deadlines)

    def _note_deadlines(self, live: KeyMatches) -> None:
        for id, matches in live.matches.items():
            matches.deadline = self._rules.active[id].matcher.next_deadline(matches)

    def _automaton_of(self, rule: str, number: int) -> Automaton | None:
        active = self._rules.active.get(rule)
        return active.automaton if active is not None and active.number == number else None

    def restore(self) -> None:
        for rule in self._rules.restore():
            self._close_rule(rule)
        self._buffer.forget()
        self._waiting.forget()
        limits = [rule.soonest for rule in self._rules.active.values() if rule.soonest is not None]
        if limits:
            # not later than anything ends; what it is exactly is found when a key is looked at
            soonest = min(limits)
            self._deadlines.fill({key: time + soonest for key, time in self._buffer.first_events()})
        else:
            self._deadlines.fill({})

    def close(self) -> None:
        for rule in self._rules.active.values():
            self._close_rule(rule)
        super().close()

    # -- rules -------------------------------------------------------------------------------------

    def process_input(self, number: int, values: list[Any], timestamps: list[int] | None) -> None:
        if number == 0:
            self.process(values, timestamps)
        else:
            self._take_rules(values)

    def _take_rules(self, given: list[Any]) -> None:
        gone: set[str] = set()
        rejected: list[RejectedRule] = []
        for value in given:
            effect = self._rules.take(value)
            if isinstance(effect, ActiveRule):
                self._close_rule(effect)
                gone.add(effect.id)
            elif effect is not None:
                rejected.append(effect)
        if gone:
            self._buffer.drop_rules(gone)
        if rejected and self._reports:
            self._rejected.inc(len(rejected))
            if self._rejected_tag is not None:
                self.side_output(self._rejected_tag).emit(RowBatch(rejected))

    def _open_rule(self, rule: ActiveRule) -> None:
        open_conditions(rule.automaton, self.runtime_context())

    def _close_rule(self, rule: ActiveRule) -> None:
        close_conditions(rule.automaton)

    # -- matching ----------------------------------------------------------------------------------

    def _matched(self, batch: EventColumns) -> Results:
        results: Results = []
        keys, values, _ = batch
        if not values or not self._rules.active:
            return results
        starting = self._rules.index.starting(keys, values)
        different = set(keys)
        self._buffer.prefetch(different)
        hot = self._buffer.active(different)
        hot.update(key for key, rules in zip(keys, starting, strict=True) if rules is not None)
        for key, indices in self._by_key(batch, hot):
            self._match_key(key, indices, batch, starting, results)
        return results

    def _match_key(
        self,
        key: Any,
        indices: list[int],
        batch: EventColumns,
        starting: Starting,
        results: Results,
    ) -> None:
        live = self._buffer.of(key)
        seen: list[Matches] = []
        for index in indices:
            value, time, begin = batch.values[index], batch.times[index], starting[index]
            woken = self._woken(live, value) if live.matches else ()
            if not woken and begin is None:
                continue
            if time < live.time:
                if not self._event_time:
                    time = live.time  # the clock was set back
                elif self._is_past(live, value, time):
                    continue
            self._buffer.hold((value,))
            event = live.next_event(time, value)
            if woken:
                begins = set(begin or ())
                for rule in woken:
                    seen.append(self._process(key, live, rule, event, rule in begins, results))
                if begin is not None:
                    taken = set(woken)
                    begin = [rule for rule in begin if rule not in taken]
            for rule in begin or ():
                seen.append(self._begin(key, live, rule, event, results))
        self._leave(key, live, seen)

    def _woken(self, live: KeyMatches, value: Any) -> list[ActiveRule]:
        """Rules whose partial matches an event may change."""
        active = self._rules.active
        woken: list[ActiveRule] = []
        for id, matches in live.matches.items():
            if matches.partial:
                rule = active[id]
                try:
                    wakes = rule.wakes is None or rule.wakes(value)
                except Exception:
                    # perhaps of a condition that is not due yet; if it is, it is evaluated again
                    wakes = True
                if wakes:
                    woken.append(rule)
        if len(woken) > 1:
            woken.sort(key=_number)
        return woken

    def _process(
        self,
        key: Any,
        live: KeyMatches,
        rule: ActiveRule,
        event: BufferedEvent,
        starts: bool,
        results: Results,
    ) -> Matches:
        """Process an event for a rule."""
        matches = live.of(rule.id)
        self._advance(key, rule, matches, event.order[0], results)
        try:
            new_matches = rule.matcher.process(matches, event, starts)
        except Exception as error:
            rule.name(error)
            raise
        if self._limit is not None:
            self._bound(key, matches, rule.id)
        if new_matches:
            self._emit_matches(key, rule, new_matches, [], results)
        matches.deadline = rule.matcher.next_deadline(matches) if rule.timed else None
        if not matches:
            live.drop(rule.id)
        return matches

    def _begin(
        self, key: Any, live: KeyMatches, rule: ActiveRule, event: BufferedEvent, results: Results
    ) -> Matches:
        """Process an event for a rule, if the event changes none of the rule's partial matches
        but may begin matches."""
        if rule.begins is None:
            return self._process(key, live, rule, event, True, results)
        matches = live.of(rule.id)
        if matches.partial:
            self._advance(key, rule, matches, event.order[0], results)
        if rule.opens is not None and not matches.held_back:
            rule.open(matches, event)
            if self._limit is not None:
                self._bound(key, matches, rule.id)
            return matches
        new_matches = rule.matcher.begin(matches, event, rule.begins)
        if self._limit is not None:
            self._bound(key, matches, rule.id)
        if new_matches:
            self._emit_matches(key, rule, new_matches, [], results)
        if not matches:
            live.drop(rule.id)
        else:
            rule.note_begun(matches, event)
        return matches

    def _leave(self, key: Any, live: KeyMatches, seen: Iterable[Matches]) -> None:
        """Set the next deadline of a key, and drop the key if it has no matches. ``seen`` are
        the matches whose deadlines may have changed."""
        deadline = _earliest(seen)
        if deadline is not None:
            self._deadlines.set(key, deadline)
        self._buffer.drop_if_empty(key, live)

    def _advanced(self, time: int) -> Results:
        results: Results = []
        due = self._deadlines.take_due(time)
        self._buffer.prefetch(due)
        for key in due:
            live = self._buffer.of(key)
            for rule in self._due(live, time):
                matches = live.of(rule.id)
                self._advance(key, rule, matches, time, results)
                if not matches:
                    live.drop(rule.id)
            self._leave(key, live, live.matches.values())
        return results

    def _due(self, live: KeyMatches, time: int) -> list[ActiveRule]:
        """Rules with a deadline that has passed, in the order of their numbers."""
        active = self._rules.active
        due = [
            active[id]
            for id, matches in live.matches.items()
            if matches.deadline is not None and matches.deadline <= time
        ]
        due.sort(key=_number)
        return due

    def _advance(
        self, key: Any, rule: ActiveRule, matches: Matches, time: int, results: Results
    ) -> None:
        """End the matches and transitions of a rule that are due."""
        if matches.deadline is not None and matches.deadline <= time:
            new_matches, timed_out = rule.matcher.advance_time(matches, time)
            if new_matches or self._process_timed_out is not None:
                self._emit_matches(key, rule, new_matches, timed_out, results)
            matches.deadline = rule.matcher.next_deadline(matches) if matches.partial else None

    # -- what comes out ----------------------------------------------------------------------------

    def _emit_matches(
        self,
        key: Any,
        rule: ActiveRule,
        new_matches: list[FoundMatch],
        timed_out: list[FoundMatch],
        results: Results,
    ) -> None:
        self._current = rule
        self._take(key, new_matches, timed_out, results)

    def _match(self, events: dict[str, list[Any]]) -> RuleMatch:
        rule = self._current.rule
        return RuleMatch(events, rule.id, rule.version, dict(rule.metadata))


def _earliest(all_matches: Iterable[Matches]) -> int | None:
    """Earliest deadline of all matches."""
    deadlines = [matches.deadline for matches in all_matches if matches.deadline is not None]
    return min(deadlines, default=None)


_number = attrgetter("number")
