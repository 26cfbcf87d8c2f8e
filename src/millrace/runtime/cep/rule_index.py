"""Index of rules by the events with which their matches may begin, so that not every rule's
condition is evaluated.

Rules that require a field to have one of some values are in a hash index by field and value; the
conditions of others are evaluated, one after the other, for whole batches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from millrace.runtime.cep.active_rule import ActiveRule
from millrace.runtime.cep.event_field import FieldPath, field_reader
from millrace.runtime.cep.inspectable_condition import Equality, equalities
from millrace.runtime.cep.matcher import any_call

__all__ = ["RuleIndex"]

Candidate = tuple[ActiveRule, Callable[[Any], Any]]


class RuleIndex:
    """Index of the active rules by the first event of their matches.

    Example:
        >>> from millrace.common.functions.pattern_conditions import condition_of
        >>> from millrace.runtime.cep.pattern_model import Event, EventPattern
        >>> from millrace.runtime.cep.pattern_rule import PatternRule
        >>> big = condition_of(lambda value: value > 9, "where")
        >>> rule = ActiveRule(PatternRule("r", 1, EventPattern((Event("a", big),))), 1)
        >>> RuleIndex([rule]).starting(["k", "k"], [5, 50])
        [None, [<rule r version 1>]]
    """

    def __init__(self, rules: Iterable[ActiveRule]) -> None:
        self._of_field: dict[FieldPath, dict[Any, list[Candidate]]] = {}
        self._not_indexed: list[Candidate] = []
        """Rules without such a field. Their conditions are evaluated for each event."""
        self._always: list[ActiveRule] = []
        """Rules without a condition on the first event."""
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
            self._not_indexed.append((rule, any_call(calls)))
        else:
            # a field that many rules use has to be read once for all of them
            best = max(equal, key=lambda e: self._common[e.path])
            table = self._of_field.setdefault(best.path, {})
            for value in best.values:
                table.setdefault(value, []).append((rule, calls[0]))

    def starting(self, keys: list[Any], values: list[Any]) -> list[list[ActiveRule] | None]:
        """For each event, the rules whose matches may begin with it, ordered by number; None if
        there are none."""
        starting: list[list[ActiveRule] | None] = [None] * len(values)
        batch = _Keys(keys)
        for rule in self._always:
            _note(starting, rule, batch.of(rule))
        for reader, table, _ in self._readers:
            self._look_up(reader, table, values, batch, starting)
        for rule, call in self._not_indexed:
            _note(starting, rule, _satisfying(rule, call, values, batch.of(rule)))
        for rules in starting:
            if rules is not None:
                rules.sort(key=_number)
        return starting

    def _look_up(
        self,
        reader: Callable[[Any], Any],
        table: dict[Any, list[Candidate]],
        values: list[Any],
        keys: _Keys,
        rules_at: list[list[ActiveRule] | None],
    ) -> None:
        for index, value in enumerate(values):
            try:
                candidates = table.get(reader(value))
            except Exception:  # a value that cannot be hashed equals none of the index
                continue
            if candidates is None:
                continue
            try:
                rules = [r for r, call in candidates if keys.is_for(r, index) and call(value)]
            except Exception:
                concerned = [(r, call) for r, call in candidates if keys.is_for(r, index)]
                rules = [r for r, call in concerned if _satisfying(r, call, [value], (0,))]
            if rules:
                known = rules_at[index]
                rules_at[index] = rules if known is None else known + rules


class _Keys:
    """Keys of a batch, by which a rule with a prefix is evaluated only for keys that begin with
    it."""

    def __init__(self, keys: list[Any]) -> None:
        self._keys = keys
        self._texts: list[str] | None = None
        self._indices: dict[str, Sequence[int]] = {"": range(len(keys))}

    def is_for(self, rule: ActiveRule, index: int) -> bool:
        return not rule.prefix or self._known_texts()[index].startswith(rule.prefix)

    def of(self, rule: ActiveRule) -> Sequence[int]:
        """Indices of the events that have a key to which the rule applies."""
        indices = self._indices.get(rule.prefix)
        if indices is None:
            texts = enumerate(self._known_texts())
            indices = [index for index, text in texts if text.startswith(rule.prefix)]
            self._indices[rule.prefix] = indices
        return indices

    def _known_texts(self) -> list[str]:
        if self._texts is None:
            self._texts = [str(key) for key in self._keys]
        return self._texts


def _known(rule: ActiveRule) -> list[Equality]:
    """Field values that the first event must have. Empty if a match can begin in several ways."""
    conditions = rule.start_conditions()
    if len(conditions) != 1 or conditions[0] is None:
        return []
    transition = next(
        transition
        for transition in rule.automaton.start.transitions
        if transition.target is not None
    )
    assert transition.target is not None
    assert transition.target.condition is not None
    return equalities(transition.target.condition)


def _satisfying(
    rule: ActiveRule, call: Callable[[Any], Any], values: list[Any], indices: Sequence[int]
) -> list[int]:
    if len(indices) < len(values):
        values = [values[index] for index in indices]
    try:
        return [index for index, value in zip(indices, values, strict=True) if call(value)]
    except Exception as error:
        raised = error
    try:
        rule.matcher.starts(values)  # says in its error which part of the pattern it was
    except Exception as error:
        raised = error
    rule.name(raised)
    raise raised


def _note(
    rules_at: list[list[ActiveRule] | None], rule: ActiveRule, indices: Iterable[int]
) -> None:
    for index in indices:
        known = rules_at[index]
        if known is None:
            rules_at[index] = [rule]
        else:
            known.append(rule)


def _number(rule: ActiveRule) -> int:
    return rule.number
