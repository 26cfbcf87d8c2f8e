"""Rules are explained, drawn and tried as their patterns are."""

from __future__ import annotations

import pickle

from millrace.cep import Pattern, Rule
from millrace.cep.rules import field_condition, rule_from_json
from millrace.runtime.cep.pattern_rule import PatternRule as PlainRule
from millrace.state.serialization.pickles import dump_pickle
from millrace.testing import match, trace

SMALL = field_condition({"field": "amount", "op": "<", "value": 10})
PATTERN = Pattern.begin("small").where(SMALL).next("any")


def test_a_rule_looks_like_its_pattern() -> None:
    rule = Rule("r", 1, PATTERN)
    assert rule.explain() == PATTERN.explain()
    assert rule.to_dot() == PATTERN.to_dot()
    assert rule.to_mermaid() == PATTERN.to_mermaid()


def test_a_rule_of_json_can_be_explained_too() -> None:
    form = {"format": 1, "rule": "r", "version": 1, "pattern": {"parts": [{"name": "a"}]}}
    rule = rule_from_json(form)
    assert isinstance(rule, Rule)
    assert rule.explain() == Pattern.begin("a").explain()


def test_a_rule_can_be_tried() -> None:
    events = [{"amount": 5}, {"amount": 500}]
    for rule in (Rule("r", 1, PATTERN), PlainRule("r", 1, PATTERN)):
        assert match(rule, events).matches == [{"small": events[:1], "any": events[1:]}]
        assert trace(rule, events).matches == match(rule, events).matches


def test_a_rule_can_be_pickled() -> None:
    copy = pickle.loads(dump_pickle(Rule("r", 3, PATTERN, "eu-", metadata={"by": "ann"})))
    assert (copy.id, copy.version, copy.key_prefix, copy.metadata) == ("r", 3, "eu-", {"by": "ann"})
    assert copy.explain() == PATTERN.explain()
