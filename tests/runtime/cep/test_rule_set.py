"""What becomes of each thing that comes as a rule."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from millrace.cep import Pattern, Rule, RuleChange
from millrace.cep.rules import RejectedRule, RuleError, field_condition, rule_to_json
from millrace.cep.rules.rule_form import read_rule
from millrace.common.errors import CheckpointError, JobDefinitionError
from millrace.runtime.cep.active_rule import ActiveRule
from millrace.runtime.cep.pattern_rule import RuleAction
from millrace.runtime.cep.rule_set import RuleSet
from millrace.runtime.operator import OperatorContext
from millrace.state.serialization.pickles import dump_pickle
from millrace.state.store import SubtaskState

SMALL = field_condition({"field": "amount", "op": "<", "value": 10})
RULE = Rule("r", 1, Pattern.begin("a").where(SMALL))


def table(
    *given: Any,
    keyed: bool = True,
    subtask: int = 0,
    state: SubtaskState | None = None,
    read: Callable[[Any], Any] = read_rule,
) -> RuleSet:
    state = state or SubtaskState()
    context = OperatorContext("uid", "alerts", subtask, 2, 128, state, lambda: 0)
    rules = RuleSet(context, read, lambda rule: None, keyed)
    for value in given:
        assert rules.take(value) is None
    return rules


def refused(rules: RuleSet, given: Any) -> str:
    told = rules.take(given)
    assert isinstance(told, RejectedRule)
    return told.reason


def test_what_comes_is_taken_or_told() -> None:
    rules = table(RULE)
    assert refused(rules, RuleChange.remove("s")) == "there is no rule 's' to remove"
    assert refused(rules, RuleChange.disable("s")) == "there is no rule 's' to disable"
    assert list(rules.active) == ["r"]
    gone = rules.take(RuleChange.remove("r"))
    assert isinstance(gone, ActiveRule)
    assert refused(rules, RuleChange.remove("r")) == "there is no rule 'r' to remove"


@pytest.mark.parametrize("action", ["remove", None, RuleAction])
def test_a_change_names_what_is_done(action: Any) -> None:
    with pytest.raises(JobDefinitionError, match="a change of a rule is RuleChange.enable"):
        RuleChange(action, "r")
    for id in ("", 5, ["r"]):
        with pytest.raises(JobDefinitionError, match="a rule's id is text that is not empty"):
            RuleChange.disable(id)  # type: ignore[arg-type]


def test_a_change_that_nobody_has_checked_is_rejected_too() -> None:
    rules = table(RULE)
    for id, action in (("r", None), ("s", None), (["r"], RuleAction.DISABLE)):
        change = RuleChange.disable("r")
        object.__setattr__(change, "rule", id)
        object.__setattr__(change, "action", action)
        refused(rules, change)
    assert list(rules.active) == ["r"]


def test_what_is_not_newer_is_not_compiled() -> None:
    asked = []

    class Counted(Rule):
        def __getattribute__(self, name: str) -> Any:
            if name == "pattern":
                asked.append(self)
            return super().__getattribute__(name)

    rules = table(Counted("r", 2, Pattern.begin("a")))
    compiled = len(asked)
    assert compiled > 0
    for version in (1, 2):
        assert rules.take(Counted("r", version, Pattern.begin("a"))) is None
    assert len(asked) == compiled
    assert rules.ignored == 2


def test_without_keys_there_are_no_rules_for_some_of_them() -> None:
    rules = table(RULE, keyed=False)
    assert "the events have no keys" in refused(rules, Rule("s", 1, Pattern.begin("a"), "eu-"))


def test_a_rule_changed_in_python_is_kept_as_it_is_now() -> None:
    read = read_rule(rule_to_json(RULE))
    assert isinstance(read, Rule)
    rules = table(replace(read, version=2, pattern=Pattern.begin("b").model()))
    copy = table(state=rules_state(rules))
    copy.restore()
    assert copy.active["r"].rule.version == 2
    assert copy.active["r"].automaton.positions[0].name == "b"


def rules_state(rules: RuleSet) -> SubtaskState:
    """A new state with what is in the table, pickled."""
    state = SubtaskState()
    kept = OperatorContext("uid", "alerts", 0, 2, 128, state, lambda: 0)
    again = RuleSet(kept, read_rule, lambda rule: None)
    for id, row in rules._table.data.items():
        again._table.put(id, pickle.loads(dump_pickle(row)))
    return state


@pytest.mark.parametrize("enabled", [True, False])
def test_a_rule_in_state_that_cannot_be_read_is_named(enabled: bool) -> None:
    form = rule_to_json(RULE) | {"enabled": enabled}

    def read(given: Any) -> Any:
        if isinstance(given, RuleChange):
            return given
        raise RuleError("pattern: no")

    after = table(state=rules_state(table(form)), read=read)
    named = "operator 'alerts' has rule 'r', version 1, in its state.*: pattern: no"
    if enabled:
        with pytest.raises(CheckpointError, match=named):
            after.restore()
    else:
        assert after.restore() == []
        assert "version 1, in its state" in refused(after, RuleChange.enable("r"))


def test_one_subtask_logs_what_is_rejected_on_one_line(caplog: pytest.LogCaptureFixture) -> None:
    def read(given: Any) -> Any:
        raise ValueError("no\nERROR forged " + "x" * 5000)

    with caplog.at_level(logging.WARNING):
        assert len(refused(table(read=read, subtask=1), "{\nERROR forged")) == 1000
        assert caplog.messages == []
        refused(table(read=read), "{\nERROR forged")
    (message,) = caplog.messages
    assert "\n" not in message
    assert "alerts" in message
    assert len(message) < 1200
