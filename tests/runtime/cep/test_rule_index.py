"""Which rules' matches may begin with an event: found by field, asked, or always."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from millrace.cep import Pattern, Rule
from millrace.cep.rules import field_condition
from millrace.runtime.cep.active_rule import ActiveRule
from millrace.runtime.cep.rule_index import RuleIndex

CONDITIONS: list[Any] = [
    None,
    lambda value: value.get("a") == 1,
    lambda value, ctx: value.get("a") == 2,
    field_condition({"field": "a", "op": "==", "value": 1}),
    field_condition({"field": "a", "op": "in", "value": [1, "x", 2.0]}),
    field_condition({"and": [{"field": "b", "op": "==", "value": 1},
                             {"field": "a", "op": "==", "value": 1}]}),
    field_condition({"and": [{"field": "b", "op": "in", "value": [1, 2]},
                             {"field": "b", "op": "in", "value": [2, 3]}]}),
    field_condition({"or": [{"field": "b", "op": "==", "value": 1},
                            {"field": "a", "op": "==", "value": 1}]}),
    field_condition({"and": [{"field": "a", "op": "==", "value": 1},
                             {"of": "a", "event": "count", "op": "==", "value": 0}]}),
]  # fmt: skip
VALUES = st.sampled_from([1, 2, True, "x", None, [1], ([1],), {"c": 1}, 2.0, 3])
EVENTS = st.lists(st.fixed_dictionaries({}, optional={"a": VALUES, "b": VALUES}), max_size=6)


class Nothing:
    def get_events_for_pattern(self, name: str) -> list[Any]:
        return []


@given(
    st.lists(st.tuples(st.sampled_from(CONDITIONS), st.sampled_from(["", "k", "kk"])), max_size=6),
    EVENTS,
    st.sampled_from(["k1", "kk", 5]),
)
def test_no_rule_is_missed(given_rules: list[Any], events: list[Any], key: Any) -> None:
    rules = []
    for number, (condition, prefix) in enumerate(given_rules):
        pattern = Pattern.begin("a") if condition is None else Pattern.begin("a").where(condition)
        rules.append(ActiveRule(Rule(f"r{number}", 1, pattern, prefix), number))
    index = RuleIndex(reversed(rules))
    found = index.starting([key] * len(events), events)
    assert len(found) == len(events)
    for event, starting in zip(events, found, strict=True):
        assert starting is None or starting == sorted(starting, key=lambda rule: rule.number)
        for rule in rules:
            condition = rule.automaton.start.transitions[0].target.condition
            begins = condition is None or condition.with_context()(event, Nothing())
            if begins and str(key).startswith(rule.prefix):
                assert starting is not None
                assert rule in starting
            elif (not begins and not condition.iterative) or not str(key).startswith(rule.prefix):
                assert rule not in (starting or [])


def test_a_rule_is_found_without_being_asked() -> None:
    asked: list[Any] = []

    def counted(value: Any) -> bool:
        asked.append(value)
        return True

    rules = []
    for number in range(50):
        kind = field_condition({"field": "kind", "op": "==", "value": number})
        pattern = Pattern.begin("a").where(kind).where(counted)
        rules.append(ActiveRule(Rule(f"r{number}", 1, pattern), number))
    found = RuleIndex(rules).starting(["k"] * 3, [{"kind": 7}, {"kind": 99}, {}])
    assert [[rule.id for rule in starting or ()] for starting in found] == [["r7"], [], []]
    assert asked == [{"kind": 7}]


def test_a_rule_is_not_asked_about_keys_it_is_not_for() -> None:
    asked: list[Any] = []

    def seen(value: Any) -> bool:
        asked.append(value)
        if not value["of"].startswith("eu"):
            raise KeyError("no event of others has this")
        return True

    kind = field_condition({"field": "kind", "op": "==", "value": 7})
    patterns = [Pattern.begin("a").where(seen), Pattern.begin("a").where(kind).where(seen)]
    patterns.append(Pattern.begin("a"))
    rules = [
        ActiveRule(Rule(f"r{number}", 1, pattern, "eu-"), number)
        for number, pattern in enumerate(patterns)
    ]
    events = [{"of": "us-1", "kind": 7}, {"of": "eu-1", "kind": 7}, {"of": "us-2", "kind": 7}]
    found = RuleIndex(rules).starting([event["of"] for event in events], events)
    assert found == [None, rules, None]
    assert asked == [events[1]] * 2
