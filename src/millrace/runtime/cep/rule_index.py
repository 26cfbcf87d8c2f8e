"""Finds the rules whose matches may begin with an event, without asking each of them.

Rules that want a field to have certain values are found under that field and value; the others are
asked, one after the other, about whole batches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from millrace.common.event_field import FieldPath, field_reader
from millrace.common.known_condition import Equality, equalities
from millrace.runtime.cep.active_rule import ActiveRule, any_call

__all__ = ["RuleIndex"]

Candidate = tuple[ActiveRule, Callable[[Any], Any]]


class RuleIndex:
    """The rules in force.

    Example:
        >>> from millrace.common.pattern_conditions import condition_of
        >>> from millrace.common.pattern_model import Event, EventPattern
        >>> from millrace.common.pattern_rule import Rule
        >>> big = condition_of(lambda value: value > 9, "where")
        >>> rule = ActiveRule(Rule("r", 1, EventPattern((Event("a", big),))), 1)
        >>> RuleIndex([rule]).starting(["k", "k"], [5, 50])
        [None, [<rule r version 1>]]
    """

    def __init__(self, rules: Iterable[ActiveRule]) -> None:
        self._of_field: dict[FieldPath, dict[Any, list[Candidate]]] = {}
        self._asked: list[Candidate] = []
        self._always: list[ActiveRule] = []
        rules = sorted(rules, key=_number)
        known = {rule.number: _known(rule) for rule in rules}
        self._common = Counter(e.path for equal in known.values() for e in equal)
        for rule in rules:
            self._add(rule, known[rule.number])
        self._readers = [
            (field_reader(path), table, path) for path, table in self._of_field.items()
        ]

    def _add(self, rule: ActiveRule, equal: list[Equality]) -> None:
        conditions = rule.start_conditions()
        calls = [condition.call for condition in conditions if condition is not None]
        if len(calls) < len(conditions):
            self._always.append(rule)
        elif not equal:
            self._asked.append((rule, any_call(calls)))
        else:
            # a field that many rules ask for has to be read once for all of them
            best = max(equal, key=lambda e: self._common[e.path])
            table = self._of_field.setdefault(best.path, {})
            for value in best.values:
                table.setdefault(value, []).append((rule, calls[0]))

    def starting(self, keys: list[Any], values: list[Any]) -> list[list[ActiveRule] | None]:
        """For each event, the rules whose matches may begin with it, in the order of their numbers;
        None: there are none."""
        found: list[list[ActiveRule] | None] = [None] * len(values)
        for rule in self._always:
            _note(found, rule, range(len(values)))
        for reader, table, _ in self._readers:
            self._look_up(reader, table, values, found)
        for rule, call in self._asked:
            _note(found, rule, _satisfying(rule, call, values))
        for index, rules in enumerate(found):
            if rules is not None:
                found[index] = _in_order(rules, keys[index])
        return found

    def _look_up(
        self,
        reader: Callable[[Any], Any],
        table: dict[Any, list[Candidate]],
        values: list[Any],
        found: list[list[ActiveRule] | None],
    ) -> None:
        for index, value in enumerate(values):
            try:
                candidates = table.get(reader(value))
            except Exception:  # what cannot be hashed is none of the values
                continue
            if candidates is None:
                continue
            rules = [rule for rule, call in candidates if call(value)]
            if rules:
                known = found[index]
                found[index] = rules if known is None else known + rules


def _known(rule: ActiveRule) -> list[Equality]:
    """What the first event must have; nothing is known if there are several ways to begin."""
    conditions = rule.start_conditions()
    if len(conditions) != 1 or conditions[0] is None:
        return []
    way = next(way for way in rule.automaton.start.ways if way.target is not None)
    assert way.target is not None
    assert way.target.condition is not None
    return equalities(way.target.condition)


def _satisfying(rule: ActiveRule, call: Callable[[Any], Any], values: list[Any]) -> list[int]:
    try:
        return [index for index, value in enumerate(values) if call(value)]
    except Exception:
        try:
            rule.matcher.starts(values)  # says in its error which part of the pattern it was
        except Exception as error:
            rule.name(error)
            raise error from None
        raise


def _note(found: list[list[ActiveRule] | None], rule: ActiveRule, indices: Iterable[int]) -> None:
    for index in indices:
        known = found[index]
        if known is None:
            found[index] = [rule]
        else:
            known.append(rule)


def _in_order(rules: list[ActiveRule], key: Any) -> list[ActiveRule] | None:
    """Those of the rules that are for a key."""
    if any(rule.prefix for rule in rules):
        text = str(key)
        rules = [rule for rule in rules if text.startswith(rule.prefix)]
    rules.sort(key=_number)
    return rules or None


def _number(rule: ActiveRule) -> int:
    return rule.number
